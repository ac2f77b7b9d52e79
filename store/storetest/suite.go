package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

type group struct {
	name  string
	tests []test
}

var (
	peopleGroups  = []group{{"users", userTests}, {"friendships", friendshipTests}, {"counters", counterTests}}
	historyGroups = []group{{"erase", eraseTests}, {"history", historyTests}, {"pages", pageTests}, {"prune", pruneTests}, {"ends", endTests}}
)

// Run tests the stores that open gives: each call a new, empty one, which open
// closes at the end of t.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	runGroups(t, open, peopleGroups)
	runGroups(t, open, historyGroups)
}

// RunHistory is the part of Run that concerns history, for other settings of a
// store that Run has tested.
func RunHistory(t *testing.T, open func(t *testing.T) store.Store) {
	runGroups(t, open, historyGroups)
}

func runGroups(t *testing.T, open func(t *testing.T) store.Store, groups []group) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, &fixture{Store: open(t)}) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, s *fixture)
}

// fixture is a store with short forms of what tests do all the time.
type fixture struct {
	store.Store
	names atomic.Int64
}

// now is the time of the tests.
const now presence.Millis = 1_760_000_000_000

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
}

// name returns a public id that was not used before.
func (s *fixture) name() presence.PublicID {
	return presence.PublicID(fmt.Sprintf("user-%d", s.names.Add(1)))
}

// user creates a user.
func (s *fixture) user(t tb) store.User {
	t.Helper()
	u, created, err := s.Ensure(context.Background(), s.name(), now)
	require.NoError(t, err)
	require.True(t, created)
	return u
}

// do carries out an operation that must work.
func (s *fixture) do(t tb, op store.Op, a, b presence.UserID) store.Outcome {
	t.Helper()
	out, err := s.Do(context.Background(), op, a, b)
	require.NoError(t, err)
	return out
}

// friend returns a friendship that must exist.
func (s *fixture) friend(t tb, id, friend presence.UserID) presence.Friendship {
	t.Helper()
	f, err := s.Friend(context.Background(), id, friend)
	require.NoError(t, err)
	return f
}

// requests returns who asked id.
func (s *fixture) requests(t tb, id presence.UserID) []presence.PublicID {
	t.Helper()
	all, err := s.Requests(context.Background(), id, 1000)
	require.NoError(t, err)
	return all
}

// friends returns the user and the friendships.
func (s *fixture) friends(t tb, id presence.UserID) (store.User, []presence.Friendship) {
	t.Helper()
	u, all, err := s.Friends(context.Background(), id)
	require.NoError(t, err)
	return u, all
}
