package e2e

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A recording is replayed in warped time. The node's stale_after is short, so
// the ten minutes of the file take that long; everything else keeps its order
// and not its distance. In the file a fix may come one second before or after
// its friend goes stale, which compressed evenly would be less than what a
// scheduler is late. So the time of each fix is chosen such that between every
// end of freshness that matters, and the fixes before and after it in the file,
// there is a margin.

// warp says how.
type warp struct {
	stale  float64 // s of real time that a silent friend is shown
	margin float64 // s between an end of freshness and the fixes around it
	gap    float64 // s at least between two fixes
	speed  float64 // at least so many times slower than the file's time over speed; 0 = as fast as possible
}

// edge says that to comes at least d seconds after from (of fixes, by index).
type edge struct {
	from, to int
	d        float64
}

// times gives each fix its time in seconds from the start, the earliest that
// meets all demands, or false if they contradict each other: the longest paths
// in the graph of demands (Bellman and Ford).
func (w warp) times(samples []sample, moments []moment, matters func(fix int) bool) ([]float64, bool) {
	at := make([]float64, len(samples))
	edges := w.demands(samples, moments, matters)
	for range len(samples) + 1 {
		moved := false
		for _, e := range edges {
			if t := at[e.from] + e.d; t > at[e.to]+1e-9 {
				at[e.to], moved = t, true
			}
		}
		if !moved {
			return at, true
		}
	}
	return nil, false
}

func (w warp) demands(samples []sample, moments []moment, matters func(fix int) bool) []edge {
	var edges []edge
	for i := 1; i < len(samples); i++ {
		d := w.gap
		if w.speed > 0 {
			d = max(d, (samples[i].t-samples[i-1].t)/w.speed)
		}
		edges = append(edges, edge{i - 1, i, d})
	}
	before, last := -1, map[string]int{}
	for k, m := range moments {
		if m.fix >= 0 {
			before = m.fix
			user := samples[m.fix].user
			if i, ok := last[user]; ok && !m.back && matters(i) {
				edges = append(edges, edge{m.fix, i, w.margin - w.stale}) // while still fresh
			}
			last[user] = m.fix
			continue
		}
		if !matters(m.since) {
			continue
		}
		if before > m.since {
			edges = append(edges, edge{before, m.since, w.margin - w.stale})
		}
		for _, later := range moments[k+1:] {
			if later.fix >= 0 {
				edges = append(edges, edge{m.since, later.fix, w.stale + w.margin})
				break
			}
		}
	}
	return edges
}

// matter reports for a fix whether it could be seen that its user is silent
// afterwards: whether, until the user's next fix, anybody is within the exit
// radius.
func (r rules) matter(samples []sample) func(fix int) bool {
	everybody, known := len(users(samples)), map[int]bool{}
	find := func(fix int) bool {
		me, seen := samples[fix], map[string]bool{}
		for i := fix + 1; i < len(samples) && samples[i].user != me.user; i++ {
			if r.close(me, samples[i]) {
				return true
			}
		}
		for i := fix - 1; i >= 0 && len(seen) < everybody-1; i-- {
			if s := samples[i]; s.user != me.user && !seen[s.user] {
				seen[s.user] = true
				if r.close(me, s) {
					return true
				}
			}
		}
		return false
	}
	return func(fix int) bool {
		v, ok := known[fix]
		if !ok {
			v = find(fix)
			known[fix] = v
		}
		return v
	}
}

func (r rules) close(a, b sample) bool { return haversine(a.lat, a.lng, b.lat, b.lng) <= r.exit()+1 }

func TestSchedule_KeepsTheOrderOfFixesAndSilences(t *testing.T) {
	r := rules{radius: 300, stale: 600}
	samples := []sample{
		{user: "a", t: 0, lat: 50},
		{user: "b", t: 300, lat: 50},
		{user: "a", t: 599, lat: 50},
		{user: "b", t: 901, lat: 50},
		{user: "a", t: 1200, lat: 50},
		{user: "b", t: 1500, lat: 50},
	}
	moments := r.predict(samples)
	w := warp{stale: 1, margin: 0.1, gap: 0.01}
	at, ok := w.times(samples, moments, r.matter(samples))
	require.True(t, ok)
	require.LessOrEqual(t, at[2]-at[0], 0.9+1e-6, "a was not silent for ten minutes")
	require.GreaterOrEqual(t, at[3]-at[1], 1.1, "b was")
	require.GreaterOrEqual(t, at[4]-at[2], 1.1, "and then a")
	_, ok = warp{stale: 1, margin: 0.6, gap: 0.01}.times(samples, moments, r.matter(samples))
	require.False(t, ok, "no time is both 0.6 s before and after")
}

// fit finds the largest margin, down to a millisecond, for which there are times.
func (w warp) fit(t testing.TB, samples []sample, moments []moment, matters func(fix int) bool) (warp, []float64) {
	t.Helper()
	low, high := 0.0, w.stale/2
	for high-low > 0.001 {
		w.margin = (low + high) / 2
		if _, ok := w.times(samples, moments, matters); ok {
			low = w.margin
		} else {
			high = w.margin
		}
	}
	w.margin = low
	at, ok := w.times(samples, moments, matters)
	require.True(t, ok)
	return w, at
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }
