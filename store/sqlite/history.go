package sqlite

import (
	"sync"

	"github.com/kith-nearby/kith/presence"
)

// history is what the store knows in memory of history. Everything is changed
// under the writer lock; what queries read is changed under mu as well.
type history struct {
	mu       sync.RWMutex
	users    bitset  // who exists
	active   *recent // takes new rows
	freezing *recent // is being written as a run; nil = none

	// Only under the writer lock:
	marks     *marks
	displaced bitset // who may have displaced rows; see displaced.go
	runs      []run
	nextLog   int64 // id of the next log entry
	unsure    bool  // a commit failed, so an entry nextLog may be there or not
}

// runState is what a run is good for.
type runState int

const (
	building runState = iota // being written; queries do not see it
	live
	dropped // merged or empty; its packs are being deleted
)

// run is a sequence of packs in order of place.
type run struct {
	id    int64
	level int
	span  span
}

// bitset is a set of UserIDs, which are dense since the store counts them up.
type bitset []uint64

func (b bitset) has(id presence.UserID) bool {
	return id/64 < presence.UserID(len(b)) && b[id/64]&(1<<(id%64)) != 0
}

func (b *bitset) add(id presence.UserID) {
	for presence.UserID(len(*b)) <= id/64 {
		*b = append(*b, 0)
	}
	(*b)[id/64] |= 1 << (id % 64)
}

func (b bitset) remove(id presence.UserID) {
	if b.has(id) {
		b[id/64] &^= 1 << (id % 64)
	}
}

// exists notes that a user was created.
func (h *history) exists(id presence.UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users.add(id)
}

// forget notes that a user was erased.
func (h *history) forget(id presence.UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users.remove(id)
	for _, t := range h.tables() {
		t.forget(id)
	}
}

// tables returns the parts of recent that there are.
func (h *history) tables() []*recent {
	if h.freezing == nil {
		return []*recent{h.active}
	}
	return []*recent{h.active, h.freezing}
}

// take makes committed rows visible.
func (h *history) take(rows []row, entry int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range rows {
		h.active.add(&rows[i])
	}
	h.active.lastID = entry
}

// freeze hands a full active over to the keeper.
func (h *history) freeze() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freezing, h.active = h.active, newRecent()
}
