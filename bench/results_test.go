package bench

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// figure is one line of the table that a run ends with.
type figure struct {
	Name  string
	Unit  string
	Value float64
	Peer  string  // what did the same job in the same run; "" = nothing
	Than  float64 // the peer's figure in Unit
	Ratio float64 // Kith to peer, or peer to Kith where that is said in Goal
	Goal  string  // "" = none
	Met   bool
}

// table is the figures of a run.
type table struct {
	mu      sync.Mutex
	figures []figure
}

// results is this run's.
var results table

// add puts f into the table; a later one of the same name takes its place, since
// a benchmark may be run several times.
func (t *table) add(f figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.figures {
		if t.figures[i].Name == f.Name {
			t.figures[i] = f
			return
		}
	}
	t.figures = append(t.figures, f)
}

// markdown is the table with the machine that it was made on above.
func (t *table) markdown(machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| what | goal | measured | peer or floor, same run | ratio | met |\n|---|---|---|---|---|---|\n", machine)
	for _, f := range t.figures {
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

var between = regexp.MustCompile(`(?s)(<!-- table -->\n).*(<!-- /table -->)`)

// publish prints the table, and puts it into the document that KITH_BENCH_DOC
// names.
func (t *table) publish(w io.Writer) error {
	if len(t.figures) == 0 {
		return nil
	}
	text := t.markdown(machine())
	fmt.Fprintf(w, "\n%s\n", text)
	path := os.Getenv("KITH_BENCH_DOC")
	if path == "" {
		return nil
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !between.Match(doc) {
		return fmt.Errorf("%s has no place for the table", path)
	}
	doc = between.ReplaceAll(doc, []byte("${1}"+strings.ReplaceAll(text, "$", "$$")+"${2}"))
	return os.WriteFile(path, doc, 0o644)
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
