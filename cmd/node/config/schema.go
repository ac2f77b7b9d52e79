package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// EnvPrefix begins every environment variable of Kith.
const EnvPrefix = "KITH_"

// entry is one key of the configuration.
type entry struct {
	key    string
	path   []int // of the field within Config
	kind   reflect.Type
	secret bool
}

var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[time.Duration]()
)

// schema lists every key in the order of Config.
var schema = entriesOf(reflect.TypeFor[Config](), "", nil)

// sections are the parts before the dot.
var sections = sectionsOf(schema)

func entriesOf(t reflect.Type, prefix string, path []int) []entry {
	var out []entry
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("koanf")
		at := append(append([]int(nil), path...), i)
		if f.Type.Kind() == reflect.Struct {
			out = append(out, entriesOf(f.Type, key+".", at)...)
			continue
		}
		secret := f.Type == secretType || f.Type == reflect.SliceOf(secretType)
		out = append(out, entry{key: key, path: at, kind: f.Type, secret: secret})
	}
	return out
}

func sectionsOf(entries []entry) map[string]bool {
	out := map[string]bool{}
	for _, e := range entries {
		section, _, _ := strings.Cut(e.key, ".")
		out[section] = true
	}
	return out
}

func lookup(key string) (entry, bool) {
	for _, e := range schema {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}

// EnvName is the environment variable of a key.
func EnvName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// keyOfEnv is the key of an environment variable, or "".
func keyOfEnv(name string) string {
	for _, e := range schema {
		if EnvName(e.key) == name {
			return e.key
		}
	}
	return ""
}

func (e entry) field(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(e.path) }

// set puts raw, as a YAML value or as text, into the field. What it returns says
// what is wrong and what to do, and never holds the value of a secret.
func (e entry) set(c *Config, raw any) *Fault {
	v, wrong, do := convert(raw, e.kind)
	if wrong != "" {
		return &Fault{Key: e.key, Wrong: wrong, Do: do}
	}
	e.field(c).Set(v)
	return nil
}

// convert makes a value of type t from raw, or says what is wrong and what to do.
func convert(raw any, t reflect.Type) (v reflect.Value, wrong, do string) {
	switch {
	case t == durationType:
		return toDuration(raw)
	case t.Kind() == reflect.Slice:
		return toList(raw, t)
	case t.Kind() == reflect.String:
		if s, ok := raw.(string); ok {
			return reflect.ValueOf(s).Convert(t), "", ""
		}
		if _, isList := raw.([]any); isList {
			return v, "is a list, not text", "write one value"
		}
		return v, "is " + describe(raw) + ", not text", "put it in quotes"
	case t.Kind() == reflect.Bool:
		return toBool(raw)
	}
	return toNumber(raw, t)
}

func toDuration(raw any) (v reflect.Value, wrong, do string) {
	const how = "write a number with a unit, such as 300ms, 30s or 10m"
	if n, ok := raw.(int); ok && n == 0 {
		return reflect.ValueOf(time.Duration(0)), "", ""
	}
	s, ok := raw.(string)
	if !ok {
		return v, "is " + describe(raw) + ", not a duration", how
	}
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		return v, fmt.Sprintf("%q is not a duration", brief(s)), how
	}
	return reflect.ValueOf(d), "", ""
}

// toList takes a YAML list, or text with commas, which is all that flags and
// variables have.
func toList(raw any, t reflect.Type) (v reflect.Value, wrong, do string) {
	out := reflect.MakeSlice(t, 0, 0)
	switch raw := raw.(type) {
	case nil:
	case string:
		for part := range strings.SplitSeq(raw, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = reflect.Append(out, reflect.ValueOf(part).Convert(t.Elem()))
			}
		}
	case []any:
		for i, item := range raw {
			one, wrong, do := convert(item, t.Elem())
			if wrong != "" {
				return v, fmt.Sprintf("entry %d %s", i+1, wrong), do
			}
			out = reflect.Append(out, one)
		}
	default:
		return v, "is " + describe(raw) + ", not a list", "write [one, two], or one,two in a variable"
	}
	return out, "", ""
}

func toBool(raw any) (v reflect.Value, wrong, do string) {
	switch raw := raw.(type) {
	case bool:
		return reflect.ValueOf(raw), "", ""
	case string:
		if b, err := strconv.ParseBool(strings.TrimSpace(raw)); err == nil {
			return reflect.ValueOf(b), "", ""
		}
	}
	return v, "is " + describe(raw) + ", not true or false", "write true or false"
}

func toNumber(raw any, t reflect.Type) (v reflect.Value, wrong, do string) {
	var f float64
	switch raw := raw.(type) {
	case int:
		f = float64(raw)
	case float64:
		f = raw
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(raw), 64)
		if err != nil {
			return v, fmt.Sprintf("%q is not a number", brief(raw)), "write a plain number without a unit"
		}
		f = n
	default:
		return v, "is " + describe(raw) + ", not a number", "write a plain number without a unit"
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return v, "is not a finite number", "write a plain number without a unit"
	}
	if t.Kind() == reflect.Float64 {
		return reflect.ValueOf(f), "", ""
	}
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return v, "is not a whole number", "write a whole number"
	}
	return reflect.ValueOf(int(f)), "", ""
}

// describe names the kind of a YAML value, never the value.
func describe(raw any) string {
	switch raw.(type) {
	case nil:
		return "empty"
	case bool:
		return "true or false"
	case int, int64, uint64, float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "a section"
	case time.Time:
		return "a date"
	}
	return "something else"
}

func brief(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
