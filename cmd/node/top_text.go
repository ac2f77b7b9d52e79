package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/kith-nearby/kith/gateway"
)

// topText is a snapshot as lines of at most width columns (0 = as long as they
// are). All its characters are one column wide.
func topText(s *gateway.StatsBody, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  up %v  kith %s  %s\n\n", s.Node.Instance, s.Node.State,
		(time.Duration(s.Node.UptimeS) * time.Second), s.Node.Version, time.UnixMilli(int64(s.At)).Format(time.TimeOnly))
	topFigures(&b, s)
	topLines(&b, &s.Series, width)
	topQueues(&b, s.Queues)
	topRefused(&b, "ENDED", s.Closes)
	topRefused(&b, "REFUSED", s.Refusals)
	return cut(b.String(), width)
}

// cut cuts lines to a width, 0 = not.
func cut(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			lines[i] = string(runes[:max(0, width-1)]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}

func aligned(b *strings.Builder) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0) }

func topFigures(b *strings.Builder, s *gateway.StatsBody) {
	l, p := &s.Live, &s.Process
	w := aligned(b)
	fmt.Fprintf(w, "people\t%s connections\t%s users\t%s\n", comma(l.Connections), comma(l.Users), statesText(l))
	waits := "none waits"
	if s.History.Rows > 0 {
		waits = fmt.Sprintf("%s wait, the oldest for %s", comma(s.History.Rows), secondsText(&s.History.LagS))
	}
	fmt.Fprintf(w, "fixes\t%s/s\t%s/s stored\t%s\n", rateText(l.Fixes), rateText(s.History.Committed), waits)
	fmt.Fprintf(w, "deliveries\t%s/s owed\t%s/s avoided\t%s\n", rateText(l.Owed), rateText(l.Avoided), partText(l.Avoided, l.Owed+l.Avoided))
	fmt.Fprintf(w, "to a friend\t%s half\t%s 99 %%\n", secondsText(l.Push50), secondsText(l.Push99))
	fmt.Fprintf(w, "to disk\t%s half\t%s 99 %%\n", secondsText(l.Ack50), secondsText(l.Ack99))
	limit := "no limit"
	if p.Limit > 0 {
		limit = "limit " + humanize.IBytes(uint64(p.Limit))
	}
	fmt.Fprintf(w, "memory\t%s\t%s heap\t%s\n", humanize.IBytes(uint64(max(p.Resident, p.Heap))), humanize.IBytes(uint64(p.Heap)), limit)
	fmt.Fprintf(w, "processor\t%s of %d cores\t%s goroutines\t%s of %s files\n",
		partText(p.Cores, float64(p.AllCores)), p.AllCores, comma(p.Goroutines), comma(p.Files), comma(p.MostFiles))
	_ = w.Flush() // into a Builder
	b.WriteByte('\n')
}

// statesText says how users stand: in parts of a sample, if not all were asked.
func statesText(l *gateway.LiveStats) string {
	of := float64(l.States.Of)
	if of == 0 {
		return ""
	}
	text := fmt.Sprintf("%s live, %s idle, %s stale", partText(float64(l.States.Live), of), partText(float64(l.States.Idle), of), partText(float64(l.States.Stale), of))
	if l.States.Of < l.Users {
		text += fmt.Sprintf(" of %d", l.States.Of)
	}
	return text
}

const (
	sparkWide  = 60
	sparkLabel = 12
)

// topLines draws the last minutes.
func topLines(b *strings.Builder, s *gateway.SeriesStats, width int) {
	if len(s.At) == 0 {
		return
	}
	wide := sparkWide
	if width > 0 {
		wide = min(max(width-sparkLabel-20, 8), 180)
	}
	from := max(0, len(s.At)-wide)
	line := func(name string, values []float64, write func(float64) string) {
		values = values[from:]
		top := 0.0
		for _, v := range values {
			top = max(top, v)
		}
		fmt.Fprintf(b, "%-*s%s  at most %s\n", sparkLabel, name, spark(values, top), write(top))
	}
	fmt.Fprintf(b, "the last %v\n", time.Duration(s.EveryS*float64(len(s.At)-from))*time.Second)
	line("fixes/s", s.Fixes, rateText)
	line("owed/s", s.Owed, rateText)
	line("avoided/s", s.Avoided, rateText)
	seconds := func(v float64) string { return secondsText(&v) }
	line("to a friend", known(s.Push99), seconds)
	line("to disk", known(s.Ack99), seconds)
	b.WriteByte('\n')
}

// known is 0 for what was not measured.
func known(all []*float64) []float64 {
	out := make([]float64, len(all))
	for i, v := range all {
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

var bars = []rune(" ▁▂▃▄▅▆▇█")

// spark draws values between 0 and top, each as one character.
func spark(values []float64, top float64) string {
	out := make([]rune, len(values))
	for i, v := range values {
		n := 0
		if top > 0 {
			n = int(math.Ceil(v / top * float64(len(bars)-1)))
		}
		out[i] = bars[min(max(n, 0), len(bars)-1)]
	}
	return string(out)
}

func topQueues(b *strings.Builder, queues []gateway.QueueStats) {
	w := aligned(b)
	fmt.Fprintf(w, "QUEUE\tWAITING\tBOUND\tDROPPED\n")
	for _, q := range queues {
		bound, drops := "-", "-"
		if q.Bound > 0 {
			bound = comma(q.Bound)
		}
		if q.Drops != nil {
			drops = comma(*q.Drops)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", q.Name, comma(q.Depth), bound, drops)
	}
	_ = w.Flush() // into a Builder
	b.WriteByte('\n')
}

func topRefused(b *strings.Builder, title string, all []gateway.Refused) {
	if len(all) == 0 {
		return
	}
	w := aligned(b)
	fmt.Fprintf(w, "%s\tCODE\t/S\tTOTAL\tMEANING\n", title)
	for _, r := range all {
		what := r.Kind
		if r.Name != "" {
			what = r.Name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", what, r.Code, rateText(r.Rate), comma(r.Total), r.Sentence)
	}
	_ = w.Flush() // into a Builder
	b.WriteByte('\n')
}

func comma(n int) string { return humanize.Comma(int64(n)) }

// rateText has fewer digits the larger it is.
func rateText(x float64) string {
	switch {
	case x >= 100:
		return comma(int(math.Round(x)))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x == 0:
		return "0"
	}
	return fmt.Sprintf("%.2f", x)
}

// secondsText is a latency; nil = nothing was measured.
func secondsText(s *float64) string {
	switch {
	case s == nil:
		return "-"
	case *s >= 30:
		return "over 30 s"
	case *s >= 1:
		return fmt.Sprintf("%.2f s", *s)
	}
	return fmt.Sprintf("%.3g ms", *s*1000)
}

func partText(part, all float64) string {
	if all <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*part/all)
}
