package bench

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// figure is what one run of a benchmark has to say, for the table at the end.
type figure struct {
	Name  string
	Unit  string
	Value float64
	Peer  string  // what did the same job in the same run; "" = nothing
	Than  float64 // the peer's figure in Unit
	Ratio float64 // how many times better than the peer; for floors, how much of them
	Goal  string  // "" = none
	Met   bool
}

// table is the figures of all runs, in the order in which they first came.
type table struct {
	mu    sync.Mutex
	lines [][]figure // one for each name, with all runs of it
}

// results is this process's.
var results table

// add puts f into the table.
func (t *table) add(f figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.lines {
		if t.lines[i][0].Name == f.Name {
			t.lines[i] = append(t.lines[i], f)
			return
		}
	}
	t.lines = append(t.lines, []figure{f})
}

// middle is the median of what several runs said. A goal is met if most met it.
func middle(runs []figure) figure {
	of := func(get func(figure) float64) float64 {
		values := make([]float64, len(runs))
		for i, f := range runs {
			values[i] = get(f)
		}
		return median(values)
	}
	m := runs[0]
	m.Value = of(func(f figure) float64 { return f.Value })
	m.Than = of(func(f figure) float64 { return f.Than })
	m.Ratio = of(func(f figure) float64 { return f.Ratio })
	m.Met = of(func(f figure) float64 {
		if f.Met {
			return 1
		}
		return 0
	}) > 0.5
	return m
}

// markdown is the table with the machine that it was made on above.
func (t *table) markdown(machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| what | goal | measured | peer or floor, same run | ratio | met |\n|---|---|---|---|---|---|\n", machine)
	for _, runs := range t.lines {
		f := middle(runs)
		peer, ratio, met := "–", "–", "–"
		if f.Peer != "" {
			peer, ratio = fmt.Sprintf("%s: %s", f.Peer, quantity(f.Than, f.Unit)), quantity(f.Ratio, "×")
		}
		if f.Goal != "" {
			met = map[bool]string{true: "yes", false: "no"}[f.Met]
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.Name, or(f.Goal, "–"), quantity(f.Value, f.Unit), peer, ratio, met)
	}
	return b.String()
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// quantity writes v with three digits that count, and thousands apart.
func quantity(v float64, unit string) string {
	digits := 0
	if a := math.Abs(v); a > 0 && a < 100 {
		digits = min(3, 2-int(math.Floor(math.Log10(a))))
	}
	s := fmt.Sprintf("%.*f", digits, v)
	if digits == 0 {
		for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
			s = s[:i] + " " + s[i:]
		}
	}
	return s + " " + unit
}

var between = regexp.MustCompile(`(?s)<!-- table -->\n.*<!-- /table -->`)

// text is the table for the terminal; nothing if there are no figures.
func (t *table) text() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "\n" + t.markdown(machine()) + "\n"
}

// document puts the table into the page at path, if there is one and the run is
// complete: a page with holes would hide what failed.
func (t *table) document(path string, complete bool) error {
	switch {
	case path == "" || len(t.lines) == 0:
		return nil
	case !complete:
		return fmt.Errorf("%s is left as it was, since a benchmark failed", path)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !between.Match(page) {
		return fmt.Errorf("%s has no place for the table", path)
	}
	page = between.ReplaceAllFunc(page, func([]byte) []byte {
		return []byte("<!-- table -->\n" + t.markdown(machine()) + "<!-- /table -->")
	})
	return os.WriteFile(path, page, 0o644)
}

// machine is one line about this machine and how busy it is.
func machine() string {
	line, err := exec.Command("sh", "../scripts/machine.sh").Output()
	if err != nil {
		return "machine: unknown (" + err.Error() + ")"
	}
	return strings.TrimSpace(string(line))
}

func nsPerOp(b *testing.B) float64 { return float64(b.Elapsed().Nanoseconds()) / float64(b.N) }

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
