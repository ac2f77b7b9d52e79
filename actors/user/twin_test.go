package user_test

import (
	"fmt"
	"math"

	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// twin is the dumb model that a world of users is compared with: everything is
// known at once, and who is near is worked out from nothing but that.
type twin struct {
	cfg     user.Config
	people  []*person
	friends map[[2]presence.UserID]*pair
	rev     uint64
}

// pair is a friendship, from the smaller to the larger id.
type pair struct {
	friends bool
	rev     uint64
	share   [2]presence.Share
}

// person is what the twin knows of one user.
type person struct {
	id     presence.UserID
	public presence.PublicID
	all    presence.Share
	allRev uint64

	running bool            // an actor exists
	ghost   presence.Millis // when an actor last reported that vanished without a word
	conns   map[presence.DeviceID]*client
	radius  float32
	located bool
	at      geo.Point
	heard   presence.Millis
	quit    presence.Millis
	last    map[presence.DeviceID]presence.Millis
	seq     uint64

	held      geo.Point
	heldUntil presence.Millis
}

func (t *twin) pair(a, b presence.UserID) (*pair, int) {
	side := 0
	if a > b {
		a, b, side = b, a, 1
	}
	key := [2]presence.UserID{a, b}
	if t.friends[key] == nil {
		t.friends[key] = &pair{}
	}
	return t.friends[key], side
}

// mode is how a shares with b.
func (t *twin) mode(a, b *person, now presence.Millis) presence.Mode {
	pair, side := t.pair(a.id, b.id)
	if !pair.friends {
		return presence.None
	}
	return presence.Tighter(a.all.At(now), pair.share[side].At(now))
}

// started begins a session.
func (p *person) started(cfg *user.Config) {
	if p.running {
		return
	}
	*p = person{
		id: p.id, public: p.public, all: p.all, allRev: p.allRev, seq: p.seq, ghost: p.ghost,
		running: true, radius: cfg.Radius, conns: map[presence.DeviceID]*client{}, last: map[presence.DeviceID]presence.Millis{},
	}
}

// pass lets time pass for the model.
func (t *twin) pass(now presence.Millis) {
	for _, p := range t.people {
		if p.running && p.heldUntil != 0 && now >= p.heldUntil && (len(p.conns) > 0 || p.heldUntil < p.quit) {
			p.at, p.heldUntil = p.held, 0
		}
		if p.running && len(p.conns) == 0 && now >= p.quit {
			p.running, p.located = false, false
		}
	}
}

// reported is what a fix does, given that it is the device's newest.
func (t *twin) reported(p *person, at geo.Point, coarse bool, since, now presence.Millis) {
	p.heard = now
	if coarse {
		return
	}
	if p.located && t.cfg.MaxSpeed > 0 && geo.Distance(p.at, at) > t.cfg.MaxSpeed*math.Max(1, float64(since)/1000) &&
		(p.heldUntil == 0 || geo.Distance(p.held, at) > 500) {
		p.held = at
		if p.heldUntil == 0 {
			p.heldUntil = now + presence.Millis(t.cfg.JumpHold.Milliseconds())
		}
		return
	}
	p.at, p.located, p.heldUntil = at, true, 0
}

// verdict of the twin on one viewer and one friend.
type verdict uint8

const (
	mustNot verdict = iota
	must
	either
)

func (t *twin) verdict(viewer, friend *person, now presence.Millis) verdict {
	stale := presence.Millis(t.cfg.StaleAfter.Milliseconds())
	pair, _ := t.pair(viewer.id, friend.id)
	ghost := (!friend.running || !friend.located) && friend.ghost != 0 && now-friend.ghost < stale
	switch {
	case !pair.friends,
		!ghost && t.mode(friend, viewer, now) == presence.None, // a ghost cannot say that it hides
		t.cfg.Mutual && t.mode(viewer, friend, now) == presence.None,
		!viewer.located:
		return mustNot
	case ghost:
		return either // nobody has told the viewer
	case !friend.running || !friend.located, now-friend.heard >= stale:
		return mustNot
	}
	at := friend.at
	if t.mode(friend, viewer, now) == presence.Area {
		at = presence.AreaGrid.Snap(at)
	}
	switch d := geo.Distance(viewer.at, at); {
	case d <= float64(viewer.radius):
		return must
	case d > float64(presence.ExitRadius(viewer.radius)):
		return mustNot
	}
	return either
}

// client is one connection, with the view that it has built from what was pushed.
type client struct {
	conn    presence.ConnID
	owner   *person
	welcome bool
	view    map[presence.PublicID]presence.Near
	faults  []string
}

func (c *client) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// push takes in a change as a client does, and notes whatever is not right (U2).
func (c *client) push(change *presence.Change) {
	if !c.welcome {
		c.fault("pushed before the welcome")
	}
	if change.Full {
		c.view = map[presence.PublicID]presence.Near{}
	}
	for _, n := range change.Near {
		name := n.Position.User
		_, had := c.view[name]
		switch {
		case name == "":
			c.fault("a friend without a name")
		case !change.Full && had == n.Entered:
			c.fault("%s: entered=%t but had=%t", name, n.Entered, had)
		}
		c.view[name] = n
	}
	for _, g := range change.Gone {
		if _, had := c.view[g.User]; !had {
			c.fault("%s gone(%s) but was not there", g.User, g.Reason)
		}
		delete(c.view, g.User)
	}
}
