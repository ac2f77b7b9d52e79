package bench

import (
	"context"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/presence"
)

// router runs a few Cores in one goroutine by exchanging what they send.
type router struct {
	town  *town
	cfg   user.Config
	now   time.Time
	cores map[presence.UserID]*routed
	queue []addressed
	out   actors.Outbox
}

type routed struct {
	*user.State
	wake time.Time // zero = no timer
}

type addressed struct {
	to presence.UserID
	m  actors.Message
}

func newRouter(t *town) *router {
	r := &router{town: t, cfg: user.Default(), now: time.Unix(1_800_000_000, 0), cores: map[presence.UserID]*routed{}}
	for i := range t.homes {
		id := presence.UserID(i + 1)
		r.cores[id] = &routed{State: user.New(&r.cfg, id, presence.Session(r.now.UnixMicro()))}
	}
	return r
}

// send delivers m, and all that follows from it.
func (r *router) send(to presence.UserID, m actors.Message) {
	r.queue = append(r.queue, addressed{to, m})
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		if core := r.cores[next.to]; core != nil {
			core.Step(r.now, next.m, &r.out)
			r.take(next.to, &r.out)
			r.out.Reset()
		}
	}
	r.queue = nil
}

// take does what a Core wants done.
func (r *router) take(from presence.UserID, out *actors.Outbox) {
	for i := range out.Effects {
		e := &out.Effects[i]
		var answer actors.Message
		switch e.Kind {
		case actors.Send:
			r.queue = append(r.queue, addressed{presence.UserID(e.To.ID), e.Message})
		case actors.Timer:
			r.cores[from].wake = e.At
		case actors.LoadFriends:
			answer = r.town.LoadFriends(context.Background(), from)
		case actors.LoadFriend:
			answer = r.town.LoadFriend(context.Background(), from, e.User)
		case actors.Locate:
			answer = &actors.Located{Asked: e.Users, Online: e.Users} // everybody is
		}
		if answer != nil {
			r.queue = append(r.queue, addressed{from, answer})
		}
	}
}

// advance lets time pass and wakes who wants to be woken.
func (r *router) advance(d time.Duration) {
	r.now = r.now.Add(d)
	for id, core := range r.cores {
		if !core.wake.IsZero() && !core.wake.After(r.now) {
			core.wake = time.Time{}
			r.send(id, &actors.Tick{})
		}
	}
}
