package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/wire"
)

// operations is docs/operations.md.
func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	return string(text)
}

// rows are the rows of the tables of a page, by what their first column has
// between backquotes.
func rows(t *testing.T, page string, first *regexp.Regexp) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if name := strings.Trim(cells[0], "`"); first.MatchString(name) {
			require.NotContains(t, out, name, "two rows")
			out[name] = cells[1:]
		}
	}
	return out
}

var (
	described  = regexp.MustCompile(`fqName: "(kith_[a-z0-9_]+)"`)
	metricName = regexp.MustCompile(`^kith_[a-z0-9_]+$`)
	inText     = regexp.MustCompile(`\bkith_[a-z0-9_]+\b`)
	keyName    = regexp.MustCompile(`^[a-z]+\.[a-z0-9_]+$`)
)

// TestOperations_HasEveryMetric asks a running node which metrics there are, also
// those that have had no value yet.
func TestOperations_HasEveryMetric(t *testing.T) {
	n, err := Open(t.Context(), testConfig(t), quiet())
	require.NoError(t, err)
	descs := make(chan *prometheus.Desc)
	go func() {
		n.metrics.Describe(descs)
		close(descs)
	}()
	there := map[string]bool{}
	for d := range descs {
		if m := described.FindStringSubmatch(d.String()); m != nil {
			there[m[1]] = true
		}
	}
	require.NoError(t, n.Close(t.Context()))
	require.Greater(t, len(there), 40)

	page := operations(t)
	table := rows(t, page, metricName)
	for name := range there {
		require.Contains(t, table, name, "docs/operations.md has no row for it")
	}
	for _, name := range inText.FindAllString(page, -1) {
		require.True(t, there[name], "docs/operations.md names %s, which no node has", name)
	}
}

// TestOperations_HasEveryKeyWithItsDefault compares the table with what config
// print shows.
func TestOperations_HasEveryKeyWithItsDefault(t *testing.T) {
	c, origin, err := config.Load(config.Sources{})
	require.NoError(t, err)
	var printed bytes.Buffer
	require.NoError(t, config.Print(&printed, c, origin))
	table := rows(t, operations(t), keyName)
	section, there := "", map[string]bool{} // keys and their sections
	for line := range strings.Lines(printed.String()) {
		line, _, _ = strings.Cut(line, " # ")
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.HasPrefix(line, " ") {
			section = name
			continue
		}
		key := section + "." + name
		require.Contains(t, table, key, "docs/operations.md has no row for it")
		require.Equal(t, "`"+strings.TrimSpace(value)+"`", table[key][0], key)
		there[section], there[key] = true, true
	}
	for key := range table {
		section, _, _ := strings.Cut(key, ".")
		require.True(t, there[key] || !there[section], "docs/operations.md has %s, which no node knows", key)
	}
}

// TestOperations_HasEveryCode looks for each close code and error code.
func TestOperations_HasEveryCode(t *testing.T) {
	page := operations(t)
	for _, code := range wire.CloseCodes() {
		info, _ := wire.CloseInfo(code)
		require.Contains(t, page, fmt.Sprintf("\n| %d | %s | ", code, info.Name))
	}
	for _, code := range wire.Codes() {
		require.Contains(t, page, "`"+code.String()+"`")
	}
}
