package host

import "math/bits"

// Wheel is a set of timers, at most one for each small number i, ordered by the
// tick at which they are due. It is a hierarchical timing wheel: 11 levels of 64
// slots, so that every 64-bit tick has a place. Arm and Cancel take constant
// time; a timer is moved down at most once a level before it fires. Entries
// stand in pages, so that a set of n costs 16 bytes each and growing it copies
// nothing.
//
// It has no lock, clock or goroutine: its owner says what tick it is.
// The zero value is empty and stands at tick 0.
type Wheel struct {
	now   uint64
	used  [levels]uint64         // bit s: slot s of the level has timers
	heads [levels][slots]uint32  // first timer of the slot
	pages []*[pageSize]wheelNode // by i
	armed int
}

const (
	slotBits = 6
	slots    = 1 << slotBits
	levels   = (64 + slotBits - 1) / slotBits

	pageBits = 9
	pageSize = 1 << pageBits
)

// wheelNode is the timer of one i: a member of its slot's ring. Neighbours are
// stored plus one, so that the zero value says "not armed".
type wheelNode struct {
	next, prev uint32
	at         uint64
}

// Len is the number of armed timers.
func (w *Wheel) Len() int { return w.armed }

// Arm sets the timer of i to tick at, in place of the one it had. A tick that
// has passed is due at once.
func (w *Wheel) Arm(i uint32, at uint64) {
	w.grow(i)
	n := w.node(i)
	if n.next != 0 {
		w.unlink(i, n)
	} else {
		w.armed++
	}
	n.at = max(at, w.now)
	w.link(i, n)
}

// Cancel takes the timer of i away, if there is one.
func (w *Wheel) Cancel(i uint32) {
	if int(i>>pageBits) >= len(w.pages) {
		return
	}
	if n := w.node(i); n.next != 0 {
		w.unlink(i, n)
		w.armed--
	}
}

// Expire takes one timer that is due at tick now and returns its i; false means
// that there is none left. now never goes back: an earlier one counts as the
// latest that was given. Arm and Cancel may be called between two calls.
func (w *Wheel) Expire(now uint64) (i uint32, ok bool) {
	for {
		level, slot, start, any := w.first()
		if !any || start > now {
			w.now = max(w.now, now)
			return 0, false
		}
		if level == 0 {
			w.now = max(w.now, start)
			i := w.heads[level][slot]
			w.unlink(i, w.node(i))
			w.armed--
			return i, true
		}
		w.moveDown(level, slot, start)
	}
}

// moveDown spreads the timers of a slot whose first tick has come over the
// levels below. All at once: where a timer stands follows from its tick and now.
func (w *Wheel) moveDown(level int, slot uint, start uint64) {
	head := w.heads[level][slot]
	w.used[level] &^= 1 << slot
	w.now = max(w.now, start)
	for i := head; ; {
		n := w.node(i)
		next := n.next - 1
		w.link(i, n)
		if i = next; i == head {
			return
		}
	}
}

// Next is the earliest tick at which Expire has something to do: never later
// than the earliest timer, and earlier only where timers must be moved down.
func (w *Wheel) Next() (tick uint64, ok bool) {
	_, _, start, ok := w.first()
	return start, ok
}

// first is the slot whose turn comes first. Timers of a level share all higher
// digits with now, so the lowest level in use comes first, and within it the
// lowest slot.
func (w *Wheel) first() (level int, slot uint, start uint64, ok bool) {
	for level := range levels {
		if w.used[level] == 0 {
			continue
		}
		slot := uint(bits.TrailingZeros64(w.used[level]))
		shift := uint(level * slotBits)
		above := w.now >> shift >> slotBits << slotBits << shift
		return level, slot, above | uint64(slot)<<shift, true
	}
	return 0, 0, 0, false
}

// place is where a timer due at tick at belongs while the wheel stands at now:
// the level of the highest digit (base 64) in which they differ.
func (w *Wheel) place(at uint64) (level int, slot uint) {
	level = (bits.Len64((at^w.now)|1) - 1) / slotBits
	return level, uint(at>>(level*slotBits)) & (slots - 1)
}

func (w *Wheel) link(i uint32, n *wheelNode) {
	level, slot := w.place(n.at)
	bit := uint64(1) << slot
	if w.used[level]&bit == 0 {
		w.used[level] |= bit
		w.heads[level][slot] = i
		n.next, n.prev = i+1, i+1
		return
	}
	head := w.heads[level][slot]
	h := w.node(head)
	last := h.prev - 1
	n.next, n.prev = head+1, last+1
	w.node(last).next = i + 1
	h.prev = i + 1
}

func (w *Wheel) unlink(i uint32, n *wheelNode) {
	level, slot := w.place(n.at)
	next := n.next - 1
	if next == i {
		w.used[level] &^= 1 << slot
	} else {
		w.node(next).prev = n.prev
		w.node(n.prev - 1).next = n.next
		if w.heads[level][slot] == i {
			w.heads[level][slot] = next
		}
	}
	n.next, n.prev = 0, 0
}

func (w *Wheel) node(i uint32) *wheelNode { return &w.pages[i>>pageBits][i&(pageSize-1)] }

func (w *Wheel) grow(i uint32) {
	for int(i>>pageBits) >= len(w.pages) {
		w.pages = append(w.pages, new([pageSize]wheelNode))
	}
}
