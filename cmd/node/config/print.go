package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Print writes the configuration as YAML, each line with where its value came
// from. Secrets are masked, so the output is for reading and not for loading.
func Print(w io.Writer, c Config, origin Origin) error {
	var b strings.Builder
	section := ""
	for _, e := range schema {
		head, name, _ := strings.Cut(e.key, ".")
		if head != section {
			section = head
			fmt.Fprintf(&b, "%s:\n", head)
		}
		line := fmt.Sprintf("  %s: %s", name, e.show(&c))
		fmt.Fprintf(&b, "%-46s # %s\n", line, origin[e.key])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// show gives the value of a key as YAML.
func (e entry) show(c *Config) string {
	v := e.field(c)
	switch value := v.Interface().(type) {
	case time.Duration:
		return shortDuration(value)
	case Secret:
		return strconv.Quote(value.masked())
	case string:
		if strings.Contains(value, "://") {
			value = redacted(value)
		}
		return strconv.Quote(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	if v.Kind() != reflect.Slice {
		return fmt.Sprint(v.Interface())
	}
	items := make([]string, v.Len())
	for i := range items {
		items[i] = strconv.Quote(fmt.Sprint(v.Index(i).Interface()))
		if s, ok := v.Index(i).Interface().(string); ok && strings.Contains(s, "://") {
			items[i] = strconv.Quote(redacted(s))
		}
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// shortDuration drops the zero parts that time.Duration prints: 10m, not 10m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if d != 0 && strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
