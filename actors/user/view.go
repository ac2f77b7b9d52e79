package user

import (
	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// look decides whether f is in the view. refresh says that what a client knows
// of f is outdated though f stays.
func (t *turn) look(f *friend, refresh bool) {
	in, reason := t.inView(f)
	switch {
	case in && !f.has(near):
		f.put(near, true)
		f.put(unseen, true)
		t.out.Count(actors.Entered, 1)
		t.wakeBy(t.slotOf(f).heard() + millis(t.cfg.StaleAfter))
		t.show(f)
	case in && refresh:
		t.show(f)
	case !in && f.has(near):
		t.leave(f, reason)
	}
}

// inView is the rule of the view (U1), and why not.
func (t *turn) inView(f *friend) (bool, presence.Reason) {
	slot := t.slotOf(f)
	if slot == nil || slot.shown == nil || !f.has(knows) || !t.located {
		return false, presence.Away
	}
	if t.cfg.Mutual && t.modeTo(f) == presence.None {
		return false, presence.Hidden
	}
	if presence.StateAt(t.now, slot.heard(), false, millis(t.cfg.StaleAfter)) == presence.Stale {
		return false, presence.Silent
	}
	limit := t.radius
	if f.has(near) {
		limit = presence.ExitRadius(t.radius)
	} else if !f.has(follows) {
		return false, presence.Away // what we know of f may be outdated
	}
	return t.to(f) <= float64(limit), presence.Away
}

// leave takes f out of the view.
func (t *turn) leave(f *friend, reason presence.Reason) {
	seen := !f.has(unseen)
	f.put(near|unseen, false)
	t.out.Count(actors.GoneFor(reason), 1)
	if seen && t.watched() {
		c := t.changes()
		c.Gone = append(c.Gone, presence.Gone{User: t.slotOf(f).shown.User, Reason: reason})
	}
	t.tidySlot(f)
}

// show puts f into the change that is pushed at the end of the turn.
func (t *turn) show(f *friend) {
	if !t.watched() {
		return // the full view of the next connection will show f
	}
	c := t.changes()
	c.Near = append(c.Near, t.item(f))
	f.put(unseen, false)
}

// item is f as clients see it.
func (t *turn) item(f *friend) presence.Near {
	shown := t.slotOf(f).shown
	distance := t.to(f)
	at := f.at
	if f.has(blurred) {
		at = shown.At
		distance = geo.Distance(t.at, at)
	}
	return presence.Near{
		Position: shown,
		Distance: float32(distance),
		Bearing:  float32(geo.Bearing(t.at, at)),
		Entered:  f.has(unseen),
	}
}

// watched reports whether some client is to be pushed what changes.
func (t *turn) watched() bool {
	return t.conns > 0 && !t.settling && !t.muted
}

// changes is the change that this turn pushes.
func (t *turn) changes() *presence.Change {
	if t.change == nil {
		t.change = t.out.Change()
	}
	return t.change
}

// flush pushes the turn's change to every connection.
func (t *turn) flush() {
	if t.change == nil || len(t.change.Near)+len(t.change.Gone) == 0 {
		return
	}
	for i := range t.devices {
		if conn := t.devices[i].conn; conn != 0 {
			t.out.Push(conn, t.change)
		}
	}
	t.change = nil
}

// pushFull pushes the whole view to conn, or to every connection (0).
func (t *turn) pushFull(conn presence.ConnID) {
	full := &presence.Change{Full: true, Near: t.nearby()}
	for i := range t.devices {
		if c := t.devices[i].conn; c != 0 && (conn == 0 || c == conn) {
			t.out.Push(c, full)
		}
	}
	for i := range t.slots {
		t.inSlot(i).put(unseen, false)
	}
}

// nearby lists the view.
func (t *turn) nearby() []presence.Near {
	var list []presence.Near
	for i := range t.slots {
		if f := t.inSlot(i); f.has(near) {
			list = append(list, t.item(f))
		}
	}
	return list
}

// lookAgain looks at everybody in range, after we moved.
func (t *turn) lookAgain(refresh bool) {
	for i := len(t.slots) - 1; i >= 0; i-- {
		t.look(t.inSlot(i), refresh)
	}
}

// settle ends the wait of the first view, if all have answered or time is up.
func (t *turn) settle() {
	x := t.extra
	if !t.settling || (t.now < x.settleBy && !(t.ready && x.syncing == nil && len(x.awaited) == 0)) {
		return
	}
	t.settling = false
	x.settleBy, x.awaited = 0, nil
	t.slim()
	t.pushFull(0)
}
