package sqlite

import (
	"slices"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// recent holds rows in memory until they are written as a run: found by key
// and by user. The store does the locking.
type recent struct {
	chunks [][]held
	n      int                       // rows added, removed ones included
	newest map[presence.UserID]int32 // the user's row added last
	index  []int32                   // open addressing by hash of key; row number + 1, 0 = free
	lastID int64                     // the log entry of the row added last
}

type held struct {
	row    row
	before int32 // the user's row added before this one, -1 = none
	gone   bool  // removed by an erase or by age
}

// drop marks a row as gone and wipes what it said. Its place and key stay, Sent
// with them, since a flush may be sorting by it meanwhile.
func (h *held) drop() {
	h.gone = true
	f := &h.row.fix
	f.At, f.Mock = geo.Point{}, false
	f.Accuracy, f.Altitude, f.Speed, f.Heading, f.Battery = 0, 0, 0, 0, 0
}

const (
	chunkRows  = 4096
	firstIndex = 1024
)

func newRecent() *recent {
	return &recent{newest: make(map[presence.UserID]int32), index: make([]int32, firstIndex)}
}

func (t *recent) at(i int32) *held { return &t.chunks[i/chunkRows][i%chunkRows] }

// add takes a row that is not there.
func (t *recent) add(r *row) {
	if 2*(t.n+1) > len(t.index) {
		t.grow()
	}
	if t.n%chunkRows == 0 {
		t.chunks = append(t.chunks, make([]held, 0, min(chunkRows, max(64, t.n))))
	}
	i := int32(t.n)
	last := len(t.chunks) - 1
	before, ok := t.newest[r.user]
	if !ok {
		before = -1
	}
	t.chunks[last] = append(t.chunks[last], held{row: *r, before: before})
	t.newest[r.user] = i
	t.n++
	t.enter(i)
}

func (t *recent) grow() {
	t.index = make([]int32, 2*len(t.index))
	for i := range int32(t.n) {
		t.enter(i)
	}
}

func (t *recent) enter(i int32) {
	r := &t.at(i).row
	slot := t.slot(r.key().hash(deviceHash(r.user, r.device)))
	for t.index[slot] != 0 {
		slot = (slot + 1) & (len(t.index) - 1)
	}
	t.index[slot] = i + 1
}

func (t *recent) slot(hash uint64) int { return int(hash & uint64(len(t.index)-1)) }

// find returns the row that k names, or nil. hash is that of k.
func (t *recent) find(k key, hash uint64) *held {
	for slot := t.slot(hash); t.index[slot] != 0; slot = (slot + 1) & (len(t.index) - 1) {
		h := t.at(t.index[slot] - 1)
		if !h.gone && h.row.key() == k {
			return h
		}
	}
	return nil
}

// remove forgets the row that k names, if it is there.
func (t *recent) remove(k key) {
	if h := t.find(k, k.hash(deviceHash(k.user, k.device))); h != nil {
		h.drop()
	}
}

// forget removes all rows of a user.
func (t *recent) forget(user presence.UserID) {
	i, ok := t.newest[user]
	for ok && i >= 0 {
		h := t.at(i)
		h.drop()
		i = h.before
	}
	delete(t.newest, user)
}

// of appends to rows those of from's user from from to end (exclusive), in no
// order.
func (t *recent) of(rows []row, from, end place) []row {
	i, ok := t.newest[from.user]
	for ok && i >= 0 {
		h := t.at(i)
		if p := h.row.place(); !h.gone && p.compare(from) >= 0 && p.compare(end) < 0 {
			rows = append(rows, h.row)
		}
		i = h.before
	}
	return rows
}

// sorted returns all rows in order. Whether one is gone must be asked again
// when it is used.
func (t *recent) sorted() []*held {
	all := make([]*held, 0, t.n)
	for i := range int32(t.n) {
		all = append(all, t.at(i))
	}
	slices.SortFunc(all, func(a, b *held) int { return a.row.place().compare(b.row.place()) })
	return all
}
