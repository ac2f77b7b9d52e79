package host

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// job is one question of an actor to the world outside.
type job struct {
	from   origin
	kind   actors.EffectKind // LoadFriends, LoadFriend or Locate
	friend presence.UserID
	users  []presence.UserID
}

// loads are the workers that ask the store, and the Locator, for actors. The
// answer goes to the same life of the actor that asked.
type loads struct {
	h       *Host
	jobs    chan job
	tally   tally
	context context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

var (
	errLoadQueue = fmt.Errorf("load friends: %w", ErrBusy)
	errNoAnswer  = errors.New("load friends: the loader failed")
)

func newLoads(h *Host, queue int) *loads {
	l := &loads{h: h, jobs: make(chan job, queue)}
	l.context, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *loads) start(workers int) {
	for range workers {
		l.workers.Go(l.work)
	}
}

// submit queues j, or answers at once that too many wait.
func (l *loads) submit(j job) {
	l.tally.posted.Add(1)
	select {
	case l.jobs <- j:
	default:
		l.h.metrics.refused.Inc()
		l.finish(j, j.failed(errLoadQueue))
	}
}

func (l *loads) work() {
	for {
		select {
		case <-l.context.Done():
			return
		case j := <-l.jobs:
			l.finish(j, l.ask(j))
		}
	}
}

// finish posts the answer before the job counts as done, see tally.
func (l *loads) finish(j job, answer actors.Message) {
	l.h.answer(j.from, answer)
	l.tally.done.Add(1)
	l.h.idle.signal()
}

func (l *loads) ask(j job) (answer actors.Message) {
	answer = j.failed(errNoAnswer)
	defer func() {
		if v := recover(); v != nil {
			l.h.faults.report(v, "load", j.from.Address)
		}
	}()
	ctx, cancel := context.WithTimeout(l.context, l.h.cfg.LoadTimeout)
	defer cancel()
	user := presence.UserID(j.from.ID)
	switch j.kind {
	case actors.LoadFriends:
		if a := l.h.ports.Loader.LoadFriends(ctx, user); a != nil {
			return a
		}
	case actors.LoadFriend:
		if a := l.h.ports.Loader.LoadFriend(ctx, user, j.friend); a != nil {
			return a
		}
	case actors.Locate:
		if a := l.h.ports.Locator.Locate(ctx, j.users); a != nil {
			return a
		}
	}
	return answer
}

// failed is the answer that says err.
func (j *job) failed(err error) actors.Message {
	switch j.kind {
	case actors.LoadFriend:
		return &actors.FriendLoaded{Friendship: presence.Friendship{Friend: j.friend}, Err: err}
	case actors.Locate:
		return &actors.Located{Asked: j.users, Err: err}
	}
	return &actors.FriendsLoaded{Err: err}
}

// close ends the workers. Reads under way are cancelled, what waits is dropped.
func (l *loads) close(ctx context.Context) error {
	l.cancel()
	return waitFor(ctx, &l.workers)
}

// waitFor waits for wg, but no longer than ctx.
func waitFor(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	return waitClosed(ctx, done)
}

func waitClosed(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
