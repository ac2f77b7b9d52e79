package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Faulty is how many faults there are in all.
func (r *Result) Faulty() (n int) {
	for _, k := range r.Faults {
		n += k
	}
	return n
}

// Line says in one line how it goes; before is the Result at the line before.
func (r *Result) Line(before *Result) string {
	seconds := max((r.Took - before.Took).Seconds(), 0.001)
	what := ""
	if r.Resting {
		what = "coming to rest, "
	}
	return fmt.Sprintf("%.0fs %s%d/%d online, %.0f fixes/s, %.0f shown/s, ack %s, push %s, near %d, faults %d",
		r.Took.Seconds(), what, r.Open, r.Users, float64(r.Fixes-before.Fixes)/seconds, float64(r.Pushes-before.Pushes)/seconds,
		r.Ack.brief(), r.Push.brief(), r.Near, r.Faulty())
}

func (l Latency) brief() string {
	if l.Count() == 0 {
		return "-"
	}
	return fmt.Sprintf("%s p99 %s", short(l.At(50)), short(l.At(99))) // the median first
}

func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}

// percentiles are the rows of the table of latencies.
var percentiles = []float64{50, 75, 90, 99, 99.9, 99.99}

// Print says what the run has come to.
func (r *Result) Print(w io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	seconds := max(r.Took.Seconds(), 0.001)
	line("time", "%v", r.Took.Round(100*time.Millisecond))
	line("fixes", "%d sent (%.1f/s), %d acknowledged, %d refused, %d dropped, %d pending", r.Fixes, float64(r.Fixes)/seconds, r.Acked, r.Refused, r.Dropped, r.Pending)
	line("", "of them %d late and %d coarse; %d times sent twice; %d stills", r.Late, r.Coarse, r.Duplicates, r.Stills)
	line("friends shown", "%d times (%.1f/s), %d times come near, %d times gone%s", r.Pushes, float64(r.Pushes)/seconds, r.Entered, sum(r.Gone), byName(r.Gone))
	line("connections", "%d of %d people, %d losses of the network; closed by the node %d%s; errors %d%s", r.Connections, r.Users, r.Outages,
		sum(r.Closes), byName(r.Closes), sum(r.Errors), byName(r.Errors))
	fmt.Fprintf(w, "\n%-14s %10s %10s\n", "latency", "fix→ack", "fix→push")
	for _, p := range percentiles {
		fmt.Fprintf(w, "%-14s %10s %10s\n", fmt.Sprintf("  %v %%", p), r.Ack.row(p), r.Push.row(p))
	}
	fmt.Fprintf(w, "%-14s %10s %10s\n", "  100 %", r.Ack.row(100), r.Push.row(100))
	fmt.Fprintf(w, "%-14s %10d %10d\n\n", "  count", r.Ack.Count(), r.Push.Count())
	line("judged", "%d times whether one person sees a friend", r.Pairs)
	line("faults", "%d%s", r.Faulty(), byName(r.Faults))
	for _, f := range r.Examples {
		line("", "%s at %.1fs: to %s, %s %s", f.Kind, f.At.Seconds(), f.Viewer, f.Friend, f.Why)
	}
	if more := r.Faulty() - len(r.Examples); more > 0 {
		line("", "and %d more", more)
	}
}

func (l Latency) row(percent float64) string {
	if l.Count() == 0 {
		return "-"
	}
	return short(l.At(percent))
}

// Distributions writes both latencies in the text form of HdrHistogram, in
// milliseconds.
func (r *Result) Distributions(w io.Writer) error {
	for _, d := range []struct {
		name string
		h    *hdrhistogram.Histogram
	}{{"fix→ack", r.Ack.histogram}, {"fix→push", r.Push.histogram}} {
		if _, err := fmt.Fprintf(w, "# %s, ms\n", d.name); err != nil {
			return err
		}
		if _, err := d.h.PercentilesPrint(w, 5, 1000); err != nil {
			return err
		}
	}
	return nil
}

func sum(counts map[string]int) (n int) {
	for _, v := range counts {
		n += v
	}
	return n
}

func byName(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// Err is what was not as it must be, or nil.
func (r *Result) Err() error {
	switch {
	case r.Faulty() > 0:
		return fmt.Errorf("%d faults%s: somebody was shown what is not so", r.Faulty(), byName(r.Faults))
	case r.GaveUp > 0:
		return fmt.Errorf("%d people gave up: %w", r.GaveUp, r.Lost[0])
	case r.Unsettled > 0:
		return fmt.Errorf("%d people were not connected, or had no acknowledgement of their fixes, %v after the end; check the node's log", r.Unsettled, restWithin)
	case r.Refused > 0 || r.Dropped > 0:
		return fmt.Errorf("%d fixes were refused and %d dropped%s", r.Refused, r.Dropped, byName(r.Errors))
	}
	return nil
}
