package sim

import (
	"math"
	"slices"
	"time"

	"github.com/kith-nearby/kith/sdk/go/kith"
)

// viewer checks what one person is sent, frame by frame. It is of the goroutine
// that reads for that person.
type viewer struct {
	oracle *oracle
	person int32
	last   map[int32]int // by friend, the mark that was shown last
	quiet  time.Duration // since when this person has neither connected nor reported
	before time.Duration // since when what was sent may be under way
	wait   time.Duration
	mine   []vector
	other  []vector
}

func newViewer(o *oracle, person int32) *viewer {
	return &viewer{oracle: o, person: person, last: map[int32]int{}}
}

// receive checks one change of the view. push is called with the time that a
// position took, from being reported to being shown.
func (v *viewer) receive(m kith.Friends, now time.Duration, push func(time.Duration)) {
	o := v.oracle
	t := o.tracks[v.person]
	// What is received cannot be looked at again later, so it gets more time.
	v.wait = o.lag.allow(now)
	v.before = now - 3*v.wait
	t.mu.Lock()
	v.mine = v.mine[:0]
	if t.settled(now-v.wait, moving) >= 0 { // else it may be where it was before the run
		v.mine = t.possible(v.before, v.mine)
	}
	radius, exit, unsure := t.radius, t.exit, t.unsure
	v.quiet = t.since
	if t.n > 0 {
		v.quiet = max(v.quiet, t.at(t.n-1).sent)
	}
	t.mu.Unlock()
	if m.Full {
		clear(v.last)
	}
	for i := range m.Gone {
		if b, ok := v.friend(m.Gone[i].User, now); ok && !unsure {
			v.gone(b, m.Gone[i].Reason, radius, now)
		}
	}
	for i := range m.Near {
		if b, ok := v.friend(m.Near[i].User, now); ok {
			v.near(b, &m.Near[i], exit, now, push)
		}
	}
}

// friend is who is meant, if the oracle can tell.
func (v *viewer) friend(name string, now time.Duration) (int32, bool) {
	o := v.oracle
	b, known := o.index[name]
	if !known && o.outsiders[name] {
		return 0, false
	}
	if known {
		if _, is := slices.BinarySearch(o.people.People[v.person].Friends, b); is {
			return b, true
		}
	}
	o.fault(ghost, "is no friend", v.person, name, now)
	return 0, false
}

// near checks what is shown of a friend: a position that the friend reported
// and nothing older than before, at the right distance, not beyond the radius.
func (v *viewer) near(b int32, f *kith.Friend, exit float64, now time.Duration, push func(time.Duration)) {
	o := v.oracle
	at := spotAt(f.Lat, f.Lng)
	t := o.tracks[b]
	t.mu.Lock()
	i, known := t.find(f.TS, at, o.began)
	var m mark
	if i >= 0 {
		m = *t.at(i)
	}
	atOnce := m.socket != 0 && m.socket == t.socket // else it may have waited for a connection
	t.mu.Unlock()
	last, before := v.last[b]
	switch {
	case i < 0 && known:
		o.fault(wrong, "is shown where they never were", v.person, f.User, now)
		return
	case i < 0: // so old that it is forgotten
		return
	case m.is == late:
		o.fault(wrong, "is shown by a report that came late", v.person, f.User, now)
		return
	case before && i < last:
		o.fault(wrong, "is moved back to where they were", v.person, f.User, now)
	case !v.distance(&m.vector, f):
		o.fault(wrong, "is shown at a distance that is not so", v.person, f.User, now)
	case m.is == live && f.DistanceM > exit+slop:
		o.fault(ghost, "is shown beyond the radius", v.person, f.User, now)
	}
	// Whoever enters may have been let in by a step of the viewer.
	caused := before && i > last && !f.Entered || f.Entered && m.sent > v.quiet
	if caused && atOnce && m.is == live {
		push(now - m.sent)
	}
	v.last[b] = max(i, last)
}

// distance reports whether the distance and the direction are those from
// somewhere that the viewer may be.
func (v *viewer) distance(at *vector, f *kith.Friend) bool {
	for i := range v.mine {
		d := metres(&v.mine[i], at)
		if math.Abs(d-f.DistanceM) > slop+1e-6*d {
			continue
		}
		// Rounding moves a direction the more, the nearer a friend is.
		turn := math.Abs(math.Mod(bearing(&v.mine[i], at)-f.Bearing+540, 360) - 180)
		if turn <= 0.1+degreesOf(slop, d) {
			return true
		}
	}
	return len(v.mine) == 0
}

// degreesOf is how much a step sideways turns the direction of somebody at a
// distance.
func degreesOf(step, distance float64) float64 {
	if distance <= step {
		return 180
	}
	return math.Asin(step/distance) * 180 / math.Pi
}

// gone checks the reason for which a friend leaves the view.
func (v *viewer) gone(b int32, reason string, radius float64, now time.Duration) {
	o := v.oracle
	before := v.before
	t := o.tracks[b]
	t.mu.Lock()
	sure, open, since := t.surely(before), t.open, t.since
	early := !open && t.steady && !t.unsure && now-since < o.grace-v.wait
	v.other = t.possible(before, v.other[:0])
	t.mu.Unlock()
	delete(v.last, b)
	name := o.people.People[b].Name
	switch reason {
	case "away":
		if _, farthest := reach(v.mine, v.other); sure && len(v.mine) > 0 && farthest < chordOf(radius-slop) {
			o.fault(wrong, "is said to be away and is near", v.person, name, now)
		}
	case "offline":
		if sure || early {
			o.fault(wrong, "is said to be offline and is there", v.person, name, now)
		}
	case "stale":
		if sure {
			o.fault(wrong, "is said to be stale and reports", v.person, name, now)
		}
	default:
		o.fault(wrong, "is said to be "+reason, v.person, name, now)
	}
}
