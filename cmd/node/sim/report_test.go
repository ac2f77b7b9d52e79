package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTally_IsBounded(t *testing.T) {
	y := newTally()
	for i := range 1000 {
		y.count(y.errors, nameOf(i))
		y.fault(wrong, Fault{Kind: "wrong", Viewer: "a", Friend: "b", Why: "is not so"})
		y.gaveUp(errors.New("x"))
	}
	r := y.result()
	require.Len(t, r.Errors, 101)
	require.Equal(t, 900, r.Errors["other"])
	require.Len(t, r.Examples, faultsKept)
	require.Len(t, r.Lost, faultsKept)
	require.Equal(t, 1000, r.GaveUp)
	require.Equal(t, map[string]int{"missing": 0, "ghost": 0, "wrong": 1000}, r.Faults)
	require.Equal(t, 1000, r.Faulty())
	var out strings.Builder
	r.Print(&out)
	require.Contains(t, out.String(), "faults         1000 (wrong 1000)")
	require.Contains(t, out.String(), "and 980 more")
}

func TestResult_LatenciesAndErr(t *testing.T) {
	y := newTally()
	for i := 1; i <= 1000; i++ {
		y.record(y.ack, time.Duration(i)*time.Millisecond)
	}
	y.record(y.push, 0)
	y.record(y.push, time.Hour)
	r := y.result()
	require.InDelta(t, 500, r.Ack.At(50).Milliseconds(), 1)
	require.InDelta(t, 990, r.Ack.At(99).Milliseconds(), 1)
	require.EqualValues(t, 1000, r.Ack.Count())
	require.InDelta(t, 1, r.Ack.Max().Seconds(), 0.001)
	require.InDelta(t, 120, r.Push.Max().Seconds(), 0.1, "longer ones count as the longest")
	var out strings.Builder
	r.Took = 10 * time.Second
	r.Print(&out)
	require.Regexp(t, `  50 % +50\d.\dms +0.00ms`, out.String())
	require.Regexp(t, `  count +1000 +2`, out.String())
	out.Reset()
	require.NoError(t, r.Distributions(&out))
	require.Contains(t, out.String(), "# fix→ack, ms")
	require.Contains(t, r.Line(&Result{}), "10s 0/0 online")

	require.NoError(t, r.Err())
	r.Refused = 1
	require.ErrorContains(t, r.Err(), "1 fixes were refused")
	r.Unsettled = 2
	require.ErrorContains(t, r.Err(), "2 people were not connected")
	r.GaveUp, r.Lost = 1, []error{errors.New("why")}
	require.ErrorContains(t, r.Err(), "1 people gave up: why")
	r.Faults = map[string]int{"ghost": 3}
	require.ErrorContains(t, r.Err(), "3 faults (ghost 3)")
}

func TestConfig_Validate(t *testing.T) {
	people := population(t, makeOf(10))
	good := func() Config {
		c := Default()
		c.URL, c.People, c.Token = "ws://127.0.0.1:1/v1/ws", people, func(string) (string, error) { return "", nil }
		return c
	}
	c := good()
	require.NoError(t, c.Validate())
	for want, change := range map[string]func(*Config){
		"write ws://":            func(c *Config) { c.URL = "http://x" },
		"there are no people":    func(c *Config) { c.People = nil },
		"no tokens":              func(c *Config) { c.Token = nil },
		"it is to run for -1ns":  func(c *Config) { c.For = -1 },
		"the time scale is 0":    func(c *Config) { c.TimeScale = 0 },
		"every 100ms":            func(c *Config) { c.Interval, c.TimeScale = time.Second, 10 },
		"the interval is 0s":     func(c *Config) { c.Interval = 0 },
		"0 people join a second": func(c *Config) { c.Joins = 0 },
		"-1 dropouts an hour":    func(c *Config) { c.Dropouts = -1 },
		"the tolerance is 1s":    func(c *Config) { c.Tolerance = time.Second },
		"silent for 10m0s":       func(c *Config) { c.Interval = 5 * time.Minute },
		"hold a leap for 3s":     func(c *Config) { c.Hold = 3 * time.Second },
		"the grace is negative":  func(c *Config) { c.Grace = -1 },
		"late fixes is 2":        func(c *Config) { c.Flaws.Late = 2 },
	} {
		c := good()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, want)
	}
}

func TestSchedule(t *testing.T) {
	var s schedule
	for _, at := range []time.Duration{5, 1, 3, 2, 4} {
		s.add(at, int32(at), speak)
	}
	for want := range int32(4) {
		d, ok := s.next(4)
		require.True(t, ok)
		require.Equal(t, want+1, d.person)
	}
	_, ok := s.next(4)
	require.False(t, ok, "the last one is not due")
}
