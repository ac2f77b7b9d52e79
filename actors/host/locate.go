package host

import (
	"sync/atomic"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// lookup asks all shards which of some users have an actor here. Each shard
// marks those that are its own; the last one sends the answer. The asker is in
// its shard's directory before it asks: so of two that ask for each other, at
// least one finds the other.
type lookup struct {
	h      *Host
	from   origin
	asked  []presence.UserID
	online []bool // by place in asked; each is written by one shard only
	left   atomic.Int32
}

func (h *Host) locate(from origin, users []presence.UserID) {
	if h.ports.Locator != nil {
		h.loads.submit(job{from: from, kind: actors.Locate, users: users})
		return
	}
	l := &lookup{h: h, from: from, asked: users, online: make([]bool, len(users))}
	l.left.Store(int32(len(h.shards)))
	for _, s := range h.shards {
		s.box.post(delivery{msg: &control{do: func() { l.look(s) }}}, true)
	}
}

func (l *lookup) look(s *shard) {
	for i, id := range l.asked {
		if l.h.shardOf(uint64(id)) == s.number {
			_, r := s.directory.find(uint64(id))
			l.online[i] = r != nil
		}
	}
	if l.left.Add(-1) > 0 {
		return
	}
	found := &actors.Located{Asked: l.asked}
	for i, id := range l.asked {
		if l.online[i] {
			found.Online = append(found.Online, id)
		}
	}
	l.h.answer(l.from, found)
}
