package gateway

import "github.com/kith-nearby/kith/presence"

// view keeps what a client does not know yet of its friends: the newest of
// each, in the order in which they began to wait. It holds no more entries than
// there are friends. What was taken from it counts as known to the client.
type view struct {
	full    bool // what waits replaces everything that the client has
	entries []entry
	first   int                       // absolute number of entries[0]
	index   map[presence.PublicID]int // absolute numbers; nil while there are few
	waiting int                       // entries that would be sent
}

// entry is one friend.
type entry struct {
	user  presence.PublicID
	near  presence.Near // Position nil: gone, or nothing to tell
	gone  presence.Gone
	what  uint8 // tellNothing, tellNear, tellGone
	known bool  // the client has this friend in its view
}

const (
	tellNothing uint8 = iota
	tellNear
	tellGone
)

// fewEntries is up to how many are found by looking at each.
const fewEntries = 16

func (v *view) empty() bool { return !v.full && v.waiting == 0 }

// reset forgets everything and keeps little memory.
func (v *view) reset() {
	clear(v.entries)
	if cap(v.entries) > 64 {
		v.entries = nil
	}
	*v = view{entries: v.entries[:0]}
}

// apply merges a change, and returns how many entries it made unnecessary.
func (v *view) apply(c *presence.Change) (conflated int) {
	entered := map[presence.PublicID]bool(nil)
	if c.Full {
		entered, conflated = v.unsaidEntries()
		v.reset()
		v.full = true
	}
	for i := range c.Near {
		n := c.Near[i]
		if entered[n.Position.User] {
			n.Entered = true
		}
		conflated += v.near(&n)
	}
	for _, g := range c.Gone {
		conflated += v.gone(g)
	}
	return conflated
}

// unsaidEntries returns who entered without the client having been told.
func (v *view) unsaidEntries() (entered map[presence.PublicID]bool, waiting int) {
	for i := range v.entries {
		if e := &v.entries[i]; e.what == tellNear && e.near.Entered {
			if entered == nil {
				entered = make(map[presence.PublicID]bool)
			}
			entered[e.user] = true
		}
	}
	return entered, v.waiting
}

func (v *view) near(n *presence.Near) (conflated int) {
	e := v.find(n.Position.User)
	if e == nil {
		known := !v.full && !n.Entered
		v.add(entry{user: n.Position.User, near: *n, what: tellNear, known: known})
		return 0
	}
	entered := n.Entered || e.what == tellNear && e.near.Entered
	conflated = v.retell(e, tellNear)
	e.near = *n
	e.near.Entered = entered
	return conflated
}

func (v *view) gone(g presence.Gone) (conflated int) {
	e := v.find(g.User)
	if e == nil {
		if !v.full { // a full view without the friend says it already
			v.add(entry{user: g.User, gone: g, what: tellGone, known: true})
		}
		return 0
	}
	what := tellGone
	if !e.known {
		what = tellNothing
	}
	conflated = v.retell(e, what)
	e.near, e.gone = presence.Near{}, g
	return conflated
}

func (v *view) retell(e *entry, what uint8) (conflated int) {
	if e.what != tellNothing {
		v.waiting--
		conflated = 1
	}
	if what != tellNothing {
		v.waiting++
	}
	e.what = what
	return conflated
}

func (v *view) find(user presence.PublicID) *entry {
	if v.index != nil {
		if i, ok := v.index[user]; ok {
			return &v.entries[i-v.first]
		}
		return nil
	}
	for i := range v.entries {
		if v.entries[i].user == user {
			return &v.entries[i]
		}
	}
	return nil
}

func (v *view) add(e entry) {
	v.entries = append(v.entries, e)
	v.waiting++
	switch {
	case v.index != nil:
		v.index[e.user] = v.first + len(v.entries) - 1
	case len(v.entries) > fewEntries:
		v.index = make(map[presence.PublicID]int, 4*fewEntries)
		for i := range v.entries {
			v.index[v.entries[i].user] = v.first + i
		}
	}
}

// take moves up to most entries out, those that waited longest first, and says
// whether they replace everything that the client has.
func (v *view) take(most int, near []presence.Near, gone []presence.Gone) (full bool, _ []presence.Near, _ []presence.Gone) {
	full, v.full = v.full, false
	i := 0
	for ; i < len(v.entries) && most > 0; i++ {
		e := &v.entries[i]
		switch e.what {
		case tellNear:
			near = append(near, e.near)
			most--
			v.waiting--
		case tellGone:
			gone = append(gone, e.gone)
			most--
			v.waiting--
		}
		if v.index != nil {
			delete(v.index, e.user)
		}
	}
	if i == len(v.entries) || v.waiting == 0 {
		wasFirst := v.first
		v.reset()
		v.first = wasFirst
		return full, near, gone
	}
	clear(v.entries[:i])
	v.entries = v.entries[i:]
	v.first += i
	return full, near, gone
}
