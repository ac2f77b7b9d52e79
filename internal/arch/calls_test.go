package arch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// function is a file of package user with one function of the given body.
func function(imports, body string) string {
	src := "// Package user is made up.\npackage user\n\n"
	if imports != "" {
		src += "import " + imports + "\n\n"
	}
	return src + "func f() {\n" + body + "\n}\n"
}

func TestR4_a_Core_has_no_clock_goroutine_or_channel(t *testing.T) {
	const file = "actors/user/x.go"
	runCases(t, CheckCores, []breachCase{
		{"time as a value", file, function(`"time"`, "var t time.Time; _ = t.Add(time.Second)"), nil},
		{"now", file, function(`"time"`, "_ = time.Now()"), []string{"actors/user/x.go:7: time.Now"}},
		{"now under another name", file, function(`clock "time"`, "_ = clock.Now()"), []string{"time.Now"}},
		{"now as a value", file, function(`"time"`, "g := time.Now; _ = g"), []string{"time.Now"}},
		{"sleep", file, function(`"time"`, "time.Sleep(1)"), []string{"append a Timer"}},
		{"after", file, function(`"time"`, "_ = time.AfterFunc"), []string{"time.AfterFunc"}},
		{"since", file, function(`"time"`, "_ = time.Since(time.Time{})"), []string{"time.Since"}},
		{"a variable called time", file, function("", "var time struct{ Now func() }; time.Now()"), nil},
		{"global randomness", file, function(`"math/rand/v2"`, "_ = rand.IntN(3)"), []string{"randomness is a field"}},
		{"old global randomness", file, function(`"math/rand"`, "rand.Seed(3)"), []string{"randomness is a field"}},
		{"own randomness", file, function(`"math/rand/v2"`, "r := rand.New(rand.NewPCG(1, 2)); _ = r.IntN(3)"), nil},
		{"a goroutine", file, function("", "go f()"), []string{"no goroutine"}},
		{"a channel", file, function("", "var c chan int; _ = c"), []string{"a channel"}},
		{"sending", file, function("", "x.c <- 1"), []string{"a channel"}},
		{"receiving", file, function("", "<-x.c"), []string{"a channel"}},
		{"select", file, function("", "select {}"), []string{"a channel"}},
		{"printing", file, function(`"fmt"`, `fmt.Println("x")`), []string{"fmt.Println"}},
		{"formatting", file, function(`"fmt"`, `_ = fmt.Sprintf("x")`), nil},
		{"its test is free", "actors/user/x_test.go", function(`"time"`, "_ = time.Now(); go f()"), nil},
		{"the host is free", "actors/host/x.go", function(`"time"`, "_ = time.Now(); go f()"), nil},
	})
}

func TestR4_a_Core_imports_nothing_that_acts(t *testing.T) {
	for _, p := range []string{
		"log", "log/slog", "os", "os/exec", "net", "net/http", "sync", "context", "io", "io/fs", "bufio", "syscall",
		"crypto/rand", "database/sql", "runtime", "runtime/debug", "expvar",
	} {
		for _, dir := range pure {
			requireBreaches(t, CheckCores(tree(t, map[string]string{dir + "/x.go": importing(p)})), dir+" imports "+p)
		}
	}
	for _, p := range []string{"sync/atomic", "math", "time", "fmt", "slices", "errors", "strings"} {
		require.Empty(t, CheckCores(tree(t, map[string]string{"actors/x.go": importing(p)})))
	}
}

func TestR5_no_hidden_global_state(t *testing.T) {
	const (
		file = "gateway/x.go"
		prom = `"github.com/prometheus/client_golang/prometheus"`
		auto = `"github.com/prometheus/client_golang/prometheus/promauto"`
		vars = "// Package gateway is made up.\npackage gateway\n\nvar table = map[string]int{}\nvar n int\nvar s struct{ list []int }\n\n"
	)
	runCases(t, CheckGlobals, []breachCase{
		{"init", file, "package gateway\n\nfunc init() {}\n", []string{"gateway/x.go:3: an init function"}},
		{"a method called init", file, "package gateway\n\ntype t struct{}\n\nfunc (t) init() {}\n", nil},
		{"a dot import", file, "package gateway\n\nimport . \"strings\"\n", []string{"a dot import"}},
		{"the default mux", file, function(`"net/http"`, `http.HandleFunc("/", nil)`), []string{"ServeMux"}},
		{"an own mux", file, function(`"net/http"`, `m := http.NewServeMux(); m.HandleFunc("/", nil)`), nil},
		{"a request without end", file, function(`"net/http"`, `http.Get("x")`), []string{"wait for ever"}},
		{"the default registry", file, function(prom, "_ = prometheus.DefaultRegisterer"), []string{"registry that was passed"}},
		{"in a variable", file, "package gateway\n\nimport " + prom + "\n\nvar r = prometheus.DefaultRegisterer\n", []string{"registry that was passed"}},
		{"registering", file, function(prom, "prometheus.MustRegister(nil)"), []string{"registry that was passed"}},
		{"promauto", file, function(auto, "_ = promauto.NewCounter"), []string{"promauto.With"}},
		{"promauto with", file, function(auto, "_ = promauto.With(nil)"), nil},
		{"the default logger, set", file, function(`"log/slog"`, "slog.SetDefault(nil)"), []string{"main alone"}},
		{"the default logger, used", file, function(`"log/slog"`, `slog.Info("x")`), []string{"*slog.Logger that was passed"}},
		{"the old logger", file, function(`"log"`, `log.Fatal("x")`), []string{"*slog.Logger that was passed"}},
		{"main sets the logger", "cmd/node/main.go", function(`"log/slog"`, "slog.SetDefault(nil)"), nil},
		{"a passed logger", file, function(`"log/slog"`, `var l *slog.Logger; l.Info("x")`), nil},
		{"a map is filled", file, vars + "func f() { table[\"a\"] = 1 }\n", []string{"package variable table"}},
		{"a map is emptied", file, vars + "func f() { delete(table, \"a\"); clear(table) }\n", []string{"table", "table"}},
		{"a variable is set", file, vars + "func f() { n = 1; n++ }\n", []string{"variable n", "variable n"}},
		{"a field is set", file, vars + "func f() { s.list[0] = 1 }\n", []string{"variable s"}},
		{"by range", file, vars + "func f() { for n = range 3 {} }\n", []string{"variable n"}},
		{"in a closure", file, vars + "func f() { _ = func() { n += 1 } }\n", []string{"variable n"}},
		{"a local of the same name", file, vars + "func f() { n := 0; n++; table := map[string]int{}; table[\"a\"] = n }\n", nil},
		{"a parameter of the same name", file, vars + "func f(n int) { n = 1 }\n", nil},
		{"reading", file, vars + "func f() int { return table[\"a\"] + n }\n", nil},
		{"a test is free", "gateway/x_test.go", vars + "func f() { n = 1 }\n", nil},
	})
}

func TestR5_a_variable_of_another_file(t *testing.T) {
	requireBreaches(t, CheckGlobals(tree(t, map[string]string{
		"gateway/a.go": "package gateway\n\nvar limit = 3\n",
		"gateway/b.go": "package gateway\n\nfunc f() { limit = 4 }\n",
	})), "gateway/b.go:3: the package variable limit")
}

func TestR8_no_sleep_in_tests(t *testing.T) {
	runCases(t, CheckSleep, []breachCase{
		{"a sleep", "geo/x_test.go", function(`"time"`, "time.Sleep(1)"), []string{"geo/x_test.go:7: time.Sleep in a test"}},
		{"under another name", "geo/x_test.go", function(`zzz "time"`, "zzz.Sleep(1)"), []string{"time.Sleep"}},
		{"as a value", "geo/x_test.go", function(`"time"`, "wait := time.Sleep; _ = wait"), []string{"time.Sleep"}},
		{"outside of tests", "gateway/x.go", function(`"time"`, "time.Sleep(1)"), nil},
		{"something else's", "geo/x_test.go", function("", "var clock struct{ Sleep func(int) }; clock.Sleep(1)"), nil},
		{
			"in a bubble", "geo/x_test.go",
			function("(\"time\"; \"testing/synctest\")", "synctest.Test(nil, func() { time.Sleep(1) })"), nil,
		},
		{
			"in a bubble that a helper opens", "geo/x_test.go",
			function("(\"time\"; \"testing/synctest\")", "hosted(func() { time.Sleep(1) })\n}\nfunc hosted(g func()) { synctest.Test(nil, g)"), nil,
		},
		{
			"passed to another helper", "geo/x_test.go",
			function(`"time"`, "hosted(func() { time.Sleep(1) })\n}\nfunc hosted(g func()) { g()"),
			[]string{"time.Sleep"},
		},
		{
			"a helper that only bubbles can call", "geo/x_test.go",
			function("(\"time\"; \"testing/synctest\")", "time.Sleep(1); synctest.Wait()"), nil,
		},
		{
			"before a bubble that a helper's helper opens", "geo/x_test.go",
			function("(\"time\"; \"testing/synctest\")", "slow := func() { time.Sleep(1) }; outer(slow)\n}\n"+
				"func outer(g func()) { inner(g) }\nfunc inner(g func()) { synctest.Test(nil, g)"), nil,
		},
		{
			"another test of a file with bubbles", "geo/x_test.go",
			function("(\"time\"; \"testing/synctest\")", "time.Sleep(1)\n}\nfunc g() { synctest.Test(nil, g)"),
			[]string{"time.Sleep"},
		},
	})
}

// An exception that nothing needs any more is a breach: lists only grow else.
func TestR5_R6_R8_exceptions_do_not_outlive_their_cause(t *testing.T) {
	empty := tree(t, map[string]string{"geo/doc.go": "// Package geo is made up.\npackage geo\n"})
	for _, c := range []struct {
		list  map[string]string
		check func(*Tree) []Breach
	}{{changedVars, CheckGlobals}, {inits, CheckGlobals}, {longFunctions, CheckSizes}, {sleepers, CheckSleep}} {
		c.list["made up"] = "for this test"
		requireSaid(t, c.check(empty), "made up: no exception is needed here any more")
		delete(c.list, "made up")
	}
	for _, list := range []map[string]string{changedVars, inits, longFunctions, sleepers} {
		for name, why := range list {
			require.NotEmpty(t, why, "%s has no reason", name)
		}
	}
}
