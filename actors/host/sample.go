package host

import (
	"context"
	"math/rand/v2"

	"github.com/kith-nearby/kith/presence"
)

// Sample returns about n users who have an actor here: all of them if there are
// no more than n, else some from every shard at random. Each shard looks at no
// more than a few records for each that it gives. ErrClosed, or the error of ctx.
func (h *Host) Sample(ctx context.Context, n int) ([]presence.UserID, error) {
	if h.closing.Load() {
		return nil, ErrClosed
	}
	each := max(1, n/len(h.shards))
	if h.Users() <= n {
		each = n
	}
	parts := make(chan []presence.UserID, len(h.shards))
	for _, s := range h.shards {
		s.box.post(delivery{msg: &control{do: func() { parts <- s.directory.sample(each, int(s.users.Load())) }}}, true)
	}
	var all []presence.UserID
	for range h.shards {
		select {
		case part := <-parts:
			all = append(all, part...)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.down:
			return nil, ErrClosed
		}
	}
	return all, nil
}

// sampleTries is how many records are looked at most for each that is wanted: of
// a directory that was once fuller, many are free.
const sampleTries = 4

// sample returns about n of the ids, of which there are live: those of records
// at even distances from a random one on, so that none comes twice.
func (d *directory) sample(n, live int) []presence.UserID {
	used := int(d.used)
	if live == 0 || used == 0 {
		return nil
	}
	looks := min(used, n*sampleTries, (n*used+live-1)/live)
	ids := make([]presence.UserID, 0, looks)
	from := rand.IntN(used)
	for i := range looks {
		if r := d.at(uint32((from + i*used/looks) % used)); r.core != nil {
			ids = append(ids, presence.UserID(r.id))
		}
	}
	return ids
}
