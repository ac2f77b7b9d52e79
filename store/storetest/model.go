package storetest

import (
	"slices"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// model is a store of users and friendships that is too simple to be wrong.
type model struct {
	users   map[presence.UserID]store.User
	shares  map[way]presence.Share // of friendships, each way
	asked   []way                  // oldest first
	blocked map[way]bool
}

// way is from one user to another.
type way struct{ from, to presence.UserID }

func (w way) back() way { return way{w.to, w.from} }

func newModel() *model {
	return &model{users: map[presence.UserID]store.User{}, shares: map[way]presence.Share{}, blocked: map[way]bool{}}
}

// do says which of Became, Ended and Requested must happen.
func (m *model) do(op store.Op, w way) (what store.Outcome, err error) {
	_, a := m.users[w.from]
	_, b := m.users[w.to]
	switch {
	case w.from == w.to:
		return what, store.ErrSelf
	case !a || !b || m.blocked[w.back()] && op != store.Befriend:
		return what, store.ErrNotFound
	}
	_, friends := m.shares[w]
	asked, wasAsked := slices.Contains(m.asked, w), slices.Contains(m.asked, w.back())
	switch op {
	case store.Request:
		switch {
		case wasAsked:
			return m.befriend(w), nil
		case friends || asked:
			return what, nil
		}
		delete(m.blocked, w)
		m.asked = append(m.asked, w)
		what.Requested = true
	case store.Accept:
		switch {
		case friends:
			return what, nil
		case !wasAsked:
			return what, store.ErrNotFound
		}
		return m.befriend(w), nil
	case store.Decline:
		if !wasAsked {
			return what, store.ErrNotFound
		}
		m.unask(w.back())
	case store.Remove:
		what.Ended = friends
		m.end(w)
		m.unask(w)
	case store.Block:
		what.Ended = friends
		m.end(w)
		m.unask(w)
		m.unask(w.back())
		m.blocked[w] = true
	case store.Unblock:
		delete(m.blocked, w)
	case store.Befriend:
		if !friends {
			return m.befriend(w), nil
		}
	}
	return what, nil
}

func (m *model) befriend(w way) store.Outcome {
	for _, w := range []way{w, w.back()} {
		m.unask(w)
		delete(m.blocked, w)
		m.shares[w] = presence.Share{}
	}
	return store.Outcome{Became: true}
}

func (m *model) end(w way) {
	delete(m.shares, w)
	delete(m.shares, w.back())
}

func (m *model) unask(w way) {
	m.asked = slices.DeleteFunc(m.asked, func(o way) bool { return o == w })
}

func (m *model) erase(id presence.UserID) (friends []presence.UserID) {
	friends = m.friends(id)
	delete(m.users, id)
	touches := func(w way) bool { return w.from == id || w.to == id }
	for w := range m.shares {
		if touches(w) {
			delete(m.shares, w)
		}
	}
	for w := range m.blocked {
		if touches(w) {
			delete(m.blocked, w)
		}
	}
	m.asked = slices.DeleteFunc(m.asked, touches)
	return friends
}

func (m *model) friends(id presence.UserID) (friends []presence.UserID) {
	for w := range m.shares {
		if w.from == id {
			friends = append(friends, w.to)
		}
	}
	slices.Sort(friends)
	return friends
}

func (m *model) requests(id presence.UserID) (askers []presence.PublicID) {
	for _, w := range m.asked {
		if w.to == id {
			askers = append(askers, m.users[w.from].Public)
		}
	}
	return askers
}
