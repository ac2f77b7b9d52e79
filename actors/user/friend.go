package user

import (
	"slices"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// friend is what a user keeps of one friend who is online. There are forty of
// them per user and ten million users, so it is packed into 36 bytes: 4-byte
// words only, and everything that only near friends need is in a slot.
type friend struct {
	idLow, revLow, versionLow uint32
	versionHigh, exit         uint16 // exit: their exit radius in exitSteps, rounded up
	at                        geo.Point
	told                      geo.Point
	bits                      bits
	idHigh, revHigh           uint8
}

// exitStep is the unit of friend.exit, in metres. Rounding up keeps quiet zones
// exact: a radius taken too large only costs a message.
const exitStep = 2

type bits uint16

const (
	knows       bits = 1 << iota // at is where they told us they are
	follows                      // they tell us every fix
	hides                        // they do not share with us
	coarseGrid                   // what they tell is snapped to the area grid
	hasTold                      // told is where we told them we are
	toldFollows                  // we tell them every fix, and they have the newest
	toldHidden                   // we told them that we do not share
	near                         // they are in our view
	unseen                       // near, but no client has been told yet
	modeArea                     // our share with them is area…
	modeNone                     // …or none; neither = exact
	ranged                       // they have a slot
	spoke                        // version is set
	blurred                      // they are shown elsewhere than at, by an inaccurate fix
)

func (f *friend) has(b bits) bool { return f.bits&b != 0 }

func (f *friend) put(b bits, on bool) {
	if on {
		f.bits |= b
	} else {
		f.bits &^= b
	}
}

func (f *friend) id() presence.UserID {
	return presence.UserID(f.idHigh)<<32 | presence.UserID(f.idLow)
}

// newFriend returns an entry for id, which is at most presence.MaxUserID.
func newFriend(id presence.UserID) friend {
	return friend{idLow: uint32(id), idHigh: uint8(id >> 32)}
}

// supersedes takes v as the last Version heard if it is later than that. The low
// 48 bits are kept and compared as serial numbers: a window of four years.
func (f *friend) supersedes(v presence.Version) bool {
	known := uint64(f.versionHigh)<<32 | uint64(f.versionLow)
	if f.has(spoke) && int64((uint64(v)-known)<<16) <= 0 {
		return false
	}
	f.versionLow, f.versionHigh = uint32(v), uint16(v>>32)
	f.put(spoke, true)
	return true
}

func (f *friend) exitRadius() float64 { return exitStep * float64(f.exit) }

func (f *friend) setExitRadius(metres float32) {
	steps := int(metres/exitStep) + 1
	f.exit = uint16(min(max(steps, 0), 1<<16-1))
}

func (f *friend) mode() presence.Mode {
	switch {
	case f.has(modeNone):
		return presence.None
	case f.has(modeArea):
		return presence.Area
	}
	return presence.Exact
}

func (f *friend) setMode(m presence.Mode) {
	f.put(modeArea, m == presence.Area)
	f.put(modeNone, m == presence.None)
}

// newer reports whether rev comes after the one that f has. Of a Rev the low 40
// bits are kept and compared as serial numbers (RFC 1982): a store would have to
// change half a million million friendships while f is online to confuse them.
func (f *friend) newer(rev uint64) bool {
	known := uint64(f.revHigh)<<32 | uint64(f.revLow)
	return int64((rev-known)<<24) > 0
}

func (f *friend) setRev(rev uint64) { f.revLow, f.revHigh = uint32(rev), uint8(rev>>32) }

// slot is what a user keeps besides of a friend in range: one who follows, is
// followed or is near.
type slot struct {
	id     presence.UserID
	shown  *presence.Position // nil until they told us where they are
	packed uint64             // when they last reported, and below 16 bits of where they are in friends
}

// heard is when the friend last reported.
func (s *slot) heard() presence.Millis { return presence.Millis(s.packed >> 16) }

func (s *slot) setHeard(at presence.Millis) { s.packed = uint64(at)<<16 | s.packed&(1<<16-1) }

// index is where the friend stands in table.friends. Its 16 bits are enough: a
// store allows 5 000 friends.
func (s *slot) index() int { return int(s.packed & (1<<16 - 1)) }

// table holds the friends who are online in order of id, and the slots of those
// in range likewise.
type table struct {
	friends []friend
	slots   []slot
}

func (t *table) place(id presence.UserID) (int, bool) {
	low, high := 0, len(t.friends)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if t.friends[middle].id() < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(t.friends) && t.friends[low].id() == id
}

// find returns the friend, or nil. It is valid until the next add or remove. Those
// in range are looked for first: they are few, and say the most.
func (t *table) find(id presence.UserID) *friend {
	if i, ok := t.slotPlace(id); ok {
		return t.inSlot(i)
	}
	if i, ok := t.place(id); ok {
		return &t.friends[i]
	}
	return nil
}

// inSlot returns the friend whose slot is number i.
func (t *table) inSlot(i int) *friend { return &t.friends[t.slots[i].index()] }

// add returns the friend, new if there was none.
func (t *table) add(id presence.UserID) (f *friend, added bool) {
	i, ok := t.place(id)
	if !ok {
		t.friends = slices.Insert(grown(t.friends), i, newFriend(id))
		t.shift(i, 1)
	}
	return &t.friends[i], !ok
}

// shift moves the indexes of all slots from friend i on.
func (t *table) shift(i int, by int64) {
	for k := range t.slots {
		if t.slots[k].index() >= i {
			t.slots[k].packed += uint64(by)
		}
	}
}

// grown returns s with room for one more. It grows by a sixteenth and not to
// double, since most of a user's memory is this slice, and append makes use of
// all that the allocator gives.
func grown[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	bigger := append([]T(nil), make([]T, len(s)+1+len(s)/16)...)
	return bigger[:copy(bigger, s)]
}

func (t *table) remove(id presence.UserID) {
	if i, ok := t.place(id); ok {
		t.dropSlot(&t.friends[i])
		t.friends = shrunk(slices.Delete(t.friends, i, i+1))
		t.shift(i+1, -1)
	}
}

// shrunk gives memory back after most of a slice was deleted.
func shrunk[T any](s []T) []T {
	if cap(s) >= 16 && len(s) < cap(s)/2 {
		return append(make([]T, 0, len(s)+2), s...)
	}
	return s
}

func (t *table) slotPlace(id presence.UserID) (int, bool) {
	low, high := 0, len(t.slots)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if t.slots[middle].id < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(t.slots) && t.slots[low].id == id
}

// slotOf returns f's slot, or nil.
func (t *table) slotOf(f *friend) *slot {
	if !f.has(ranged) {
		return nil
	}
	i, _ := t.slotPlace(f.id())
	return &t.slots[i]
}

// giveSlot returns f's slot, new if there was none.
func (t *table) giveSlot(f *friend) *slot {
	id := f.id()
	i, ok := t.slotPlace(id)
	if !ok {
		at, _ := t.place(id)
		t.slots = slices.Insert(grown(t.slots), i, slot{id: id, packed: uint64(at)})
		f.put(ranged, true)
	}
	return &t.slots[i]
}

func (t *table) dropSlot(f *friend) {
	if i, ok := t.slotPlace(f.id()); ok {
		t.slots = shrunk(slices.Delete(t.slots, i, i+1))
		f.put(ranged, false)
	}
}

// tidySlot drops f's slot if nothing needs it any more.
func (t *table) tidySlot(f *friend) {
	if f.has(ranged) && !f.has(follows|toldFollows|near) {
		t.dropSlot(f)
	}
}
