package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A place in Berlin; metre is one metre north of it, in degrees.
const (
	lat0, lng0 = 52.5, 13.4
	metre      = 1 / 111_195.0
)

func TestE3_AReconnectWithinTheGraceIsInvisible(t *testing.T) {
	const grace = 1500 * time.Millisecond
	s := serve(t, "presence.offline_grace="+grace.String())
	s.befriend("ann", "bob")
	ann, bob := s.connect("ann", "phone"), s.connect("bob", "phone")
	ann.at(lat0, lng0)
	bob.at(lat0+100*metre, lng0)
	ann.sees("bob")
	bob.sees("ann")
	for _, leave := range []func(){bob.leave, func() { bob.cut() }} {
		ann.taken()
		leave()
		wait(grace / 3)
		bob = s.connect("bob", "phone")
		full := bob.next("friends")
		require.True(t, full.Full)
		require.Len(t, full.Near, 1, "the view comes without a new fix")
		require.False(t, full.Near[0].Entered, "ann was there all the time")
		ann.quiet(grace + grace/2)
	}
	bob.at(lat0+120*metre, lng0)
	n := ann.next("friends")
	require.Len(t, n.Near, 1)
	require.False(t, n.Near[0].Entered, "bob never left")
}

func TestE3_OnlyTheLastDeviceTakesTheUserAway(t *testing.T) {
	const grace = time.Second
	s := serve(t, "presence.offline_grace="+grace.String(), "presence.radius_m=1000")
	for _, friend := range []string{"ann", "cat", "dan", "far"} {
		s.befriend(friend, "bob")
	}
	friends := map[string]*peer{}
	for user, metres := range map[string]float64{"ann": 0, "cat": 300, "dan": -300, "far": 5000} {
		friends[user] = s.connect(user, "phone")
		friends[user].at(lat0+metres*metre, lng0)
	}
	phone, watch := s.connect("bob", "phone"), s.connect("bob", "watch")
	phone.at(lat0, lng0)
	for user, p := range friends {
		if user != "far" {
			p.sees("bob")
			phone.sees(user)
			watch.sees(user)
		}
		p.taken()
	}
	phone.leave()
	wait(grace) // one wait for all four; each must have heard nothing
	for _, p := range friends {
		p.quiet(grace / 8)
	}
	left := time.Now()
	watch.leave()
	for user, p := range friends {
		if user == "far" {
			continue
		}
		p.loses("bob", "offline")
		require.Greater(t, time.Since(left), grace-grace/10)
	}
	wait(grace)
	for _, p := range friends {
		p.quiet(0) // once, and nothing else
		p.mu.Lock()
		require.Empty(t, p.view)
		p.mu.Unlock()
	}
}
