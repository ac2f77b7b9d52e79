package host

import (
	"errors"
	"sync"

	"github.com/kith-nearby/kith/actors"
)

// Errors of Ask and Admit.
var (
	ErrNoActor = errors.New("no such actor on this node")
	ErrStopped = errors.New("the actor stopped before it answered")
	ErrBusy    = errors.New("too much to do")
	ErrClosed  = errors.New("the host is closed")
)

// asks holds the questions that wait for an answer.
type asks struct {
	limit int

	mu     sync.Mutex
	closed bool
	last   actors.Ask
	open   map[actors.Ask]*question
	at     map[actors.Address][]actors.Ask // those that their actor has in hand
}

type question struct {
	reply chan reply // room for one
	at    actors.Address
	taken bool // at knows of it
}

type reply struct {
	answer any
	err    error
}

func newAsks(limit int) *asks {
	return &asks{limit: limit, open: map[actors.Ask]*question{}, at: map[actors.Address][]actors.Ask{}}
}

func (a *asks) pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}

func (a *asks) ask(to actors.Address) (actors.Ask, <-chan reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return 0, nil, ErrClosed
	case len(a.open) >= a.limit:
		return 0, nil, ErrBusy
	}
	a.last++
	q := &question{reply: make(chan reply, 1), at: to}
	a.open[a.last] = q
	return a.last, q.reply, nil
}

// handed notes that the actor has the question: if it stops, nobody answers.
func (a *asks) handed(ask actors.Ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.open[ask]; q != nil {
		q.taken = true
		a.at[q.at] = append(a.at[q.at], ask)
	}
}

// settle answers a question, or forgets it if nobody waits any more.
func (a *asks) settle(ask actors.Ask, r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settleLocked(ask, r)
}

func (a *asks) settleLocked(ask actors.Ask, r reply) {
	q := a.open[ask]
	if q == nil {
		return
	}
	delete(a.open, ask)
	q.reply <- r
	if !q.taken {
		return
	}
	rest := a.at[q.at]
	for i, other := range rest {
		if other == ask {
			rest[i] = rest[len(rest)-1]
			rest = rest[:len(rest)-1]
			break
		}
	}
	if len(rest) == 0 {
		delete(a.at, q.at)
	} else {
		a.at[q.at] = rest
	}
}

// stopped fails what the actor had in hand.
func (a *asks) stopped(who actors.Address) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.at[who]) > 0 {
		a.settleLocked(a.at[who][0], reply{err: ErrStopped})
	}
}

// close fails all.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for ask := range a.open {
		a.settleLocked(ask, reply{err: ErrClosed})
	}
}
