package e2e

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample is one line of a recording.
type sample struct {
	user     string
	t        float64 // unix seconds
	lat, lng float64 // degrees
	acc      float64 // metres; 0 = unknown
	outlier  bool
}

// recording reads a file of testdata. Its lines are in order of time.
func recording(t testing.TB, file, user string) []sample {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	column := func(name string) int { return slices.Index(lines[0], name) }
	number := func(line []string, name string) float64 {
		if column(name) < 0 || line[column(name)] == "" {
			return 0
		}
		v, err := strconv.ParseFloat(line[column(name)], 64)
		require.NoError(t, err)
		return v
	}
	var all []sample
	for _, line := range lines[1:] {
		all = append(all, sample{
			user: line[column(user)], t: number(line, "t_unix"), lat: number(line, "lat"), lng: number(line, "lng"),
			acc: number(line, "accuracy_m"), outlier: number(line, "outlier") == 1,
		})
	}
	require.True(t, slices.IsSortedFunc(all, func(a, b sample) int { return int(a.t - b.t) }))
	return all
}

// transition is what one viewer sees of one friend.
type transition struct{ viewer, friend, what string } // near, away or stale

// moment is something that happens in a recording, with what follows from it:
// a fix (index of the sample), or the end of somebody's freshness (-1).
type moment struct {
	fix    int
	t      float64 // seconds
	silent string  // who goes stale
	since  int     // the fix after which the silence began
	sees   []transition
	first  bool // fix of its user
	back   bool // the user had been silent for too long
}

// rules are the rules of the view, in plain words: a friend is in the view from
// radius on, until beyond exit or silent for stale seconds; a fix less accurate
// than coarse moves nobody in or out.
type rules struct{ radius, stale float64 }

const coarse = 1000 // metres

func (r rules) exit() float64 { return max(1.05*r.radius, r.radius+50) }

// predict walks through the recording and compares everybody with everybody.
func (r rules) predict(samples []sample) []moment {
	type place struct {
		lat, lng, heard float64
		located, stale  bool
		fix             int
	}
	var (
		order   []string // of users, by first appearance
		now     = map[string]*place{}
		inView  = map[[2]string]bool{}
		moments []moment
	)
	look := func(m *moment, viewer, friend string) {
		v, f, key := now[viewer], now[friend], [2]string{viewer, friend}
		in := v.located && f.located && !f.stale
		if in {
			limit := r.radius
			if inView[key] {
				limit = r.exit()
			}
			in = haversine(v.lat, v.lng, f.lat, f.lng) <= limit
		}
		switch {
		case in && !inView[key]:
			m.sees = append(m.sees, transition{viewer, friend, "near"})
		case !in && inView[key] && f.stale:
			m.sees = append(m.sees, transition{viewer, friend, "stale"})
		case !in && inView[key]:
			m.sees = append(m.sees, transition{viewer, friend, "away"})
		}
		inView[key] = in
	}
	expire := func(until float64) {
		for {
			next := ""
			for _, u := range order {
				if p := now[u]; !p.stale && p.heard+r.stale <= until && (next == "" || p.heard < now[next].heard) {
					next = u
				}
			}
			if next == "" {
				return
			}
			p := now[next]
			p.stale = true
			m := moment{fix: -1, t: p.heard + r.stale, silent: next, since: p.fix}
			for _, u := range order {
				if u != next {
					look(&m, u, next)
				}
			}
			moments = append(moments, m)
		}
	}
	for i, s := range samples {
		expire(s.t)
		p := now[s.user]
		m := moment{fix: i, t: s.t, first: p == nil}
		if p == nil {
			p = &place{}
			now[s.user] = p
			order = append(order, s.user)
		}
		m.back = p.stale
		p.heard, p.stale, p.fix = s.t, false, i
		if s.acc <= coarse {
			p.lat, p.lng, p.located = s.lat, s.lng, true
		}
		for _, u := range order {
			if u != s.user {
				look(&m, s.user, u)
				look(&m, u, s.user)
			}
		}
		moments = append(moments, m)
	}
	expire(math.Inf(1))
	return moments
}

// haversine is the great-circle distance in metres on a sphere of 6 371 008.8 m,
// from the textbook and not from package geo.
func haversine(lat1, lng1, lat2, lng2 float64) float64 {
	const rad, radius = math.Pi / 180, 6_371_008.8
	s1, s2 := math.Sin((lat2-lat1)*rad/2), math.Sin((lng2-lng1)*rad/2)
	return 2 * radius * math.Asin(math.Min(1, math.Sqrt(s1*s1+math.Cos(lat1*rad)*math.Cos(lat2*rad)*s2*s2)))
}

// users lists who is in a recording, in order of first appearance.
func users(samples []sample) []string {
	var all []string
	for _, s := range samples {
		if !slices.Contains(all, s.user) {
			all = append(all, s.user)
		}
	}
	return all
}

func TestOracle_OneBusPassesAnother(t *testing.T) {
	const m = metre
	got := rules{radius: 300, stale: 600}.predict([]sample{
		{user: "a", t: 0, lat: 50},
		{user: "b", t: 10, lat: 50 + 301*m},
		{user: "b", t: 20, lat: 50 + 299*m},
		{user: "b", t: 30, lat: 50 + 349*m},
		{user: "a", t: 40, lat: 50 - 2*m},
		{user: "a", t: 50, lat: 50 + 50*m, acc: 1001},
		{user: "a", t: 60, lat: 50 + 60*m},
		{user: "b", t: 655, lat: 50 + 300*m},
	})
	want := map[float64][]transition{
		20:   {{"b", "a", "near"}, {"a", "b", "near"}},
		40:   {{"a", "b", "away"}, {"b", "a", "away"}},
		60:   {{"a", "b", "near"}, {"b", "a", "near"}},
		630:  {{"a", "b", "stale"}},
		655:  {{"a", "b", "near"}}, // a, who has been silent as long, sees; b has not lost a yet
		660:  {{"b", "a", "stale"}},
		1255: {{"a", "b", "stale"}},
	}
	seen := 0
	for _, m := range got {
		require.ElementsMatch(t, want[m.t], m.sees, m.t)
		seen += len(m.sees)
	}
	require.Equal(t, 10, seen)
}
