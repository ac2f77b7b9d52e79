package e2e

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// demo replays a recording, in slower real time if the machine is too busy to
// keep the order of events.
func demo(t *testing.T, r rules, w warp, samples []sample, show func(moment)) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		p := newReplay(t, r, w, samples)
		began := time.Now()
		if p.run(show) {
			total, by := count(p.moments)
			t.Logf("%d users, %d fixes over %.1f h in %.0f s: %d transitions predicted and seen %v, none else (ten minutes took %v, margin %v)",
				len(p.peers), len(samples), (samples[len(samples)-1].t-samples[0].t)/3600, time.Since(began).Seconds(), total, by,
				seconds(w.stale), seconds(p.w.margin).Round(time.Millisecond))
			return
		}
		for _, q := range p.peers {
			q.cut()
		}
		require.Less(t, attempt, 3, "the machine is too busy to keep the order of events: %v", p.late)
		t.Logf("once more, slower: %v", p.late)
		w.stale *= 2
		w.speed /= 2
	}
}

func TestDemo_E1_BusesOfOneRoute(t *testing.T) {
	long(t)
	samples := recording(t, "bus_route14.csv", "vehicle")
	require.Len(t, users(samples), 8)
	demo(t, rules{radius: 300, stale: 600}, warp{stale: 3, gap: 0.006, speed: 400}, samples, func(m moment) {
		for _, s := range m.sees {
			t.Logf("%s  %s sees %s: %s", time.Unix(int64(m.t), 0).UTC().Format(time.TimeOnly), s.viewer, s.friend, s.what)
		}
	})
}

// The birds have a tag that sends every five, ten or thirty minutes, so they go
// stale all the time. Three stretches: days on which two of them share an island,
// the last days of a third bird, and the days with a fourth one and the fixes
// that the owner marked as outliers, which are replayed like the others: with
// max_speed_mps 0 every fix is believed.
func TestDemo_E1_Oystercatchers(t *testing.T) {
	long(t)
	day := func(s string) float64 {
		d, err := time.Parse(time.DateOnly, s)
		require.NoError(t, err)
		return float64(d.Unix())
	}
	stretches := [][2]float64{
		{day("2018-05-20"), day("2018-05-23")}, {day("2018-06-29"), day("2018-07-02")}, {day("2019-05-11"), day("2019-05-13")},
	}
	var samples []sample
	outliers := 0
	for _, s := range recording(t, "oystercatchers.csv", "id") {
		if !slices.ContainsFunc(stretches, func(d [2]float64) bool { return d[0] <= s.t && s.t < d[1] }) {
			continue
		}
		samples = append(samples, s)
		if s.outlier {
			outliers++
		}
	}
	require.Len(t, users(samples), 4)
	require.Equal(t, 4, outliers)
	demo(t, rules{radius: 500, stale: 600}, warp{stale: 1, gap: minGap.Seconds()}, samples, func(moment) {})
}

func TestDemo_FriendsOfLastFM(t *testing.T) {
	long(t)
	file, err := filepath.Abs("testdata/friends_lastfm_asia.csv")
	require.NoError(t, err)
	s := prepare(t)
	began := time.Now()
	said := s.run("import", "friends", file)
	t.Logf("%s(%v)", said, time.Since(began).Round(time.Millisecond))
	require.Contains(t, said, "27806 pairs: 27806 new friendships, 0 there already, 7624 users created")

	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	friends := map[string][]string{}
	for _, line := range lines[1:] {
		friends[line[0]] = append(friends[line[0]], line[1])
		friends[line[1]] = append(friends[line[1]], line[0])
	}
	s.start()
	asked, most := 0, ""
	for id := range 7624 {
		user := fmt.Sprint(id)
		if most == "" || len(friends[user]) > len(friends[most]) {
			most = user
		}
		if id%20 == 0 {
			s.hasFriends(user, friends[user])
			asked++
		}
	}
	s.hasFriends(most, friends[most])
	t.Logf("asked over HTTP for the friends of %d users, at most %d", asked+1, len(friends[most]))
	code, _ := s.operator(http.MethodGet, "/v1/users/7624/friends", nil, http.StatusNotFound).problem(t)
	require.Equal(t, "not_found", code)
}

func (s *server) hasFriends(user string, want []string) {
	s.t.Helper()
	var got struct {
		Friends []struct {
			User  string
			Share struct{ Mode string }
		}
	}
	s.operator(http.MethodGet, "/v1/users/"+user+"/friends", nil, http.StatusOK).into(s.t, &got)
	names := make([]string, len(got.Friends))
	for i, f := range got.Friends {
		names[i] = f.User
		require.Equal(s.t, "exact", f.Share.Mode)
	}
	slices.Sort(names)
	slices.Sort(want)
	require.Equal(s.t, want, names, "friends of %s", user)
}
