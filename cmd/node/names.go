package main

import (
	"context"
	"errors"
	"sync"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

const (
	maxNames    = 1 << 16 // names in each of the two generations
	nameReaders = 8       // store reads at a time for one list of names
)

// names remembers which inner id belongs to which public id. It may: a UserID is
// never given twice (S1), and an erase forgets. Who does not exist is not
// remembered, since they may come to exist.
type names struct {
	users store.Users

	mu         sync.Mutex
	young, old map[presence.PublicID]presence.UserID // old is dropped whole when young is full
	forgotten  uint64                                // how often something was
}

func newNames(users store.Users) *names {
	return &names{users: users, young: map[presence.PublicID]presence.UserID{}}
}

func (n *names) known(public presence.PublicID) (presence.UserID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, ok := n.young[public]; ok {
		return id, true
	}
	id, ok := n.old[public]
	if ok {
		n.put(public, id)
	}
	return id, ok
}

// remember takes what was read, unless something was forgotten since the read
// began, as by the mark from before it: what was read may be that.
func (n *names) remember(public presence.PublicID, id presence.UserID, began uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.forgotten == began {
		n.put(public, id)
	}
}

func (n *names) mark() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.forgotten
}

func (n *names) put(public presence.PublicID, id presence.UserID) {
	if len(n.young) >= maxNames {
		n.old, n.young = n.young, make(map[presence.PublicID]presence.UserID)
	}
	n.young[public] = id
}

func (n *names) forget(public presence.PublicID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgotten++
	delete(n.young, public)
	delete(n.old, public)
}

// resolve returns the inner ids of all, in the same order; 0 for who does not
// exist. What is not remembered is read nameReaders at a time.
func (n *names) resolve(ctx context.Context, all []presence.PublicID) ([]presence.UserID, error) {
	ids := make([]presence.UserID, len(all))
	var missing []int
	for i, public := range all {
		id, ok := n.known(public)
		if ok {
			ids[i] = id
			continue
		}
		missing = append(missing, i)
	}
	return ids, spread(len(missing), nameReaders, func(k int) error {
		i := missing[k]
		began := n.mark()
		u, err := n.users.User(ctx, all[i])
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		ids[i] = u.ID
		n.remember(all[i], u.ID, began)
		return nil
	})
}

// spread calls do for 0 to n-1 from at most workers goroutines and returns when
// all are done. It begins nothing new after an error, and returns the first.
func spread(n, workers int, do func(i int) error) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  int
		first error
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= n && first == nil
	}
	for range min(n, workers) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := do(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
