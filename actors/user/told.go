package user

import (
	"slices"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// onTold takes in what another user says of itself.
func (t *turn) onTold(m *actors.Told) {
	f := t.find(m.From)
	if f == nil {
		t.meet(m)
		return
	}
	t.hear(f, m)
	t.settle()
}

// hear takes in what f says of itself, and tells f what is owed to it then.
func (t *turn) hear(f *friend, m *actors.Told) {
	t.answered(m.From)
	why := met
	if m.Answer {
		why = asked
	}
	if !f.supersedes(m.Version) {
		t.out.Count(actors.ToldLate, 1) // U10; but an answer may still be waited for
		if m.Answer {
			t.owe(f, why)
		}
		return
	}
	f.setExitRadius(m.Radius)
	switch m.Kind {
	case actors.AtPosition:
		t.hearPosition(f, m)
	case actors.NotShared:
		t.forget(f, presence.Hidden)
		f.put(hides, true)
	case actors.NoPosition:
		t.forget(f, presence.Left)
		f.put(hides, false)
	case actors.SignedOff:
		t.drop(f, presence.Left)
		t.part(m)
		return
	}
	t.owe(f, why)
	t.narrow(f)
}

func (t *turn) hearPosition(f *friend, m *actors.Told) {
	f.at, t.from = m.At, nil
	f.put(knows, true)
	f.put(hides, false)
	f.put(follows, m.Follows)
	f.put(coarseGrid, m.Position.Precision == presence.Area)
	f.put(blurred, m.Position.At != m.At)
	if m.Follows || f.has(near|toldFollows) {
		slot := t.giveSlot(f)
		slot.shown = m.Position
		slot.setHeard(m.Heard)
	}
	t.look(f, true)
	t.tidySlot(f)
}

// forget drops what f told.
func (t *turn) forget(f *friend, reason presence.Reason) {
	if f.has(near) {
		t.leave(f, reason)
	}
	f.put(knows|follows, false)
	if slot := t.slotOf(f); slot != nil {
		slot.shown = nil
	}
	t.tidySlot(f)
}

// drop removes f.
func (t *turn) drop(f *friend, reason presence.Reason) {
	t.forget(f, reason)
	id := f.id()
	t.endShare(id)
	t.remove(id)
	t.from = nil
}

// Bounds of the memory for partings: how long a message can be under way, and
// how many are remembered.
const (
	partingMemory = presence.Millis(60_000)
	maxPartings   = 64
)

// part remembers that the sender of m has signed off.
func (t *turn) part(m *actors.Told) {
	x := t.more()
	if len(x.partings) >= maxPartings {
		x.partings = x.partings[1:]
	}
	x.partings = append(x.partings, parting{id: m.From, version: m.Version, until: t.now + partingMemory})
	t.wakeBy(t.now + partingMemory)
}

// parted reports whether the sender of m has signed off since it sent m.
func (t *turn) parted(m *actors.Told) bool {
	if t.extra == nil {
		return false
	}
	for _, p := range t.extra.partings {
		if p.id == m.From && p.version >= m.Version {
			return true
		}
	}
	return false
}

// forgetPartings drops those from so long ago that nothing is under way any more.
func (t *turn) forgetPartings() {
	if x := t.extra; x != nil {
		x.partings = slices.DeleteFunc(x.partings, func(p parting) bool { return t.now >= p.until })
		t.slim()
	}
}

// answered notes that the first view need not wait for id any more.
func (t *turn) answered(id presence.UserID) {
	x := t.extra
	if x == nil {
		return
	}
	for i, awaited := range x.awaited {
		if awaited == id {
			x.awaited[i] = x.awaited[len(x.awaited)-1]
			x.awaited = x.awaited[:len(x.awaited)-1]
			return
		}
	}
}

// expireFriends takes those out of the view who have not reported for too long.
func (t *turn) expireFriends() {
	for i := len(t.slots) - 1; i >= 0; i-- {
		t.look(t.inSlot(i), false)
	}
}
