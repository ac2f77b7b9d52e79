package sim

import (
	"math"
	"time"
)

// slop is how much distances may differ for reasons of rounding, in metres: the
// server shows tenths.
const slop = 0.1

// kind is what is wrong about what somebody was shown.
type kind uint8

const (
	missing kind = iota // a friend who is near is not shown
	ghost               // somebody is shown who must not be
	wrong               // what is shown of a friend is not so
	kinds
)

var kindNames = [kinds]string{"missing", "ghost", "wrong"}

// Fault is one thing that a person was shown and that cannot be, or the other
// way round.
type Fault struct {
	Kind   string // missing, ghost, wrong
	Why    string
	Viewer string
	Friend string
	At     time.Duration // since the start
}

// verdict is what may be wrong about a friend.
type verdict struct {
	friend int32
	kind   kind
}

// suspicion is a fault that goes on. It is counted once it has gone on for as
// long as a message may be under way.
type suspicion struct {
	since   time.Duration
	counted bool
}

// oracle knows where everybody is, and judges what they are shown.
type oracle struct {
	people    *Population
	index     map[string]int32
	outsiders map[string]bool // friends of people who are not simulated
	tracks    []*track
	began     int64 // unix milliseconds
	lag       lag
	grace     time.Duration // the node's presence.offline_grace
	tell      func(kind, Fault)
	judged    func(pairs int)

	// Of the judge alone.
	going []map[verdict]suspicion // by viewer
	mine  []vector
	other []vector
	view  map[int32]seen
}

// seen is what a view says of one friend.
type seen struct {
	ts int64
	at spot
}

func newOracle(p *Population, outsiders []string, tolerance, grace time.Duration) *oracle {
	o := &oracle{
		people: p, index: make(map[string]int32, len(p.People)), outsiders: map[string]bool{},
		lag: lag{least: tolerance}, grace: grace, view: map[int32]seen{},
		going: make([]map[verdict]suspicion, len(p.People)),
	}
	for i := range p.People {
		o.index[p.People[i].Name] = int32(i)
		o.tracks = append(o.tracks, &track{})
		o.going[i] = map[verdict]suspicion{}
	}
	for _, name := range outsiders {
		o.outsiders[name] = true
	}
	return o
}

func (o *oracle) fault(k kind, why string, viewer int32, friend string, now time.Duration) {
	o.tell(k, Fault{Kind: kindNames[k], Why: why, Viewer: o.people.People[viewer].Name, Friend: friend, At: now})
}

// judge compares one person's view, taken at a time, with who must be in it and
// who must not (M2). The view was taken before this call: whatever was reported
// since then makes it more lenient. What is wrong counts once it has lasted; at
// rest it counts at once.
func (o *oracle) judge(a int32, view map[int32]seen, now time.Duration, rest bool) {
	t := o.tracks[a]
	t.mu.Lock()
	o.lag.note(now, t.waiting(now))
	wait := o.lag.allow(now)
	before := now - wait
	sure := t.surely(before)
	radius, exit := t.radius, t.exit
	o.mine = t.possible(before, o.mine[:0])
	t.mu.Unlock()
	if !sure {
		clear(o.going[a])
		return
	}
	inner, outer := chordOf(radius-slop), chordOf(exit+slop)
	for _, b := range o.people.People[a].Friends {
		item, in := view[b]
		found, why, pairs := o.judgeFriend(b, item, in, inner, outer, before)
		o.judged(pairs)
		for k := range kinds {
			v := verdict{b, k}
			if found != k {
				delete(o.going[a], v)
				continue
			}
			s, goes := o.going[a][v]
			if !goes {
				s.since = now
			}
			if !s.counted && (rest || now-s.since >= wait) {
				s.counted = true
				o.fault(k, why, a, o.people.People[b].Name, now)
			}
			o.going[a][v] = s
		}
	}
}

// judgeFriend judges what the person at o.mine sees of friend b; kinds = nothing
// is wrong. pairs is 0 if it cannot be said.
func (o *oracle) judgeFriend(b int32, item seen, in bool, inner, outer float64, before time.Duration) (k kind, why string, pairs int) {
	t := o.tracks[b]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.absent(before - o.grace) {
		if in {
			return ghost, "is offline", 1
		}
		return kinds, "", 1
	}
	if !t.surely(before) {
		return kinds, "", 0
	}
	o.other = t.possible(before, o.other[:0])
	nearest, farthest := reach(o.mine, o.other)
	switch {
	case !in && farthest <= inner:
		return missing, "is near and not shown", 1
	case !in || nearest > outer:
		if in {
			return ghost, "is too far away", 1
		}
		return kinds, "", 1
	case farthest <= inner:
		if i, known := t.find(item.ts, item.at, o.began); known && i < t.settled(before, shown) {
			return wrong, "is shown where they were before", 1
		}
	}
	return kinds, "", 1
}

// reach is the least and the most chord2 between points of two lists.
func reach(a, b []vector) (nearest, farthest float64) {
	nearest = math.Inf(1)
	for i := range a {
		for j := range b {
			c := chord2(&a[i], &b[j])
			nearest, farthest = min(nearest, c), max(farthest, c)
		}
	}
	return nearest, farthest
}
