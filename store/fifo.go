package store

import (
	"time"

	"github.com/kith-nearby/kith/presence"
)

// fifo holds batches in the order in which they came, counted in rows. It gives
// memory back as it empties.
type fifo struct {
	items []queued
	gone  int // items before this one are taken
	rows  int
}

type queued struct {
	batch *presence.Batch
	since time.Time
}

// weight is what a batch counts in the queue: a batch without fixes takes
// memory as well.
func weight(b *presence.Batch) int { return max(1, len(b.Fixes)) }

func (f *fifo) push(q queued, rows int) {
	f.items = append(f.items, q)
	f.rows += rows
}

func (f *fifo) first() (queued, bool) {
	if f.gone == len(f.items) {
		return queued{}, false
	}
	return f.items[f.gone], true
}

// head returns the batches at the front that have at most most rows together,
// and the first in any case.
func (f *fifo) head(most int) []*presence.Batch {
	var group []*presence.Batch
	rows := 0
	for _, q := range f.items[f.gone:] {
		if rows += weight(q.batch); rows > most && len(group) > 0 {
			break
		}
		group = append(group, q.batch)
	}
	return group
}

// pop takes n batches off the front.
func (f *fifo) pop(n int) {
	for i := range f.items[f.gone : f.gone+n] {
		q := &f.items[f.gone+i]
		f.rows -= weight(q.batch)
		*q = queued{}
	}
	f.gone += n
	switch {
	case f.gone == len(f.items):
		f.items, f.gone = nil, 0
	case f.gone > len(f.items)/2:
		f.items = append([]queued(nil), f.items[f.gone:]...)
		f.gone = 0
	}
}

// drain takes everything.
func (f *fifo) drain() []queued {
	left := f.items[f.gone:]
	f.items, f.gone = nil, 0
	return left
}
