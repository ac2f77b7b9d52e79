package host

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// listeners are users and toys that keep what is not a script.
type listeners struct {
	mu  sync.Mutex
	all map[actors.Kind][]actors.Message
}

func (l *listeners) factories() map[actors.Kind]Factory {
	l.all = map[actors.Kind][]actors.Message{}
	of := func(kind actors.Kind) Factory {
		return scripted(func(_ *toyCore, _ time.Time, m actors.Message, _ *actors.Outbox) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.all[kind] = append(l.all[kind], m)
		})
	}
	return map[actors.Kind]Factory{actors.UserKind: of(actors.UserKind), toyKind: of(toyKind)}
}

// heard returns, once all is quiet in the bubble, what came to actors of a kind.
func (l *listeners) heard(kind actors.Kind) []actors.Message {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all[kind])
}

// listening runs f in a bubble for one kind of actor at a time.
func listening(t *testing.T, cfg Config, load func(context.Context, presence.UserID) *actors.FriendsLoaded,
	f func(t *testing.T, h *Host, to actors.Address, heard func() []actors.Message),
) {
	for name, to := range map[string]actors.Address{"user": user(7), "toy": toyAddress(7)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l listeners
				h := newHost(t, cfg, &fakePorts{load: load}, l.factories())
				f(t, h, to, func() []actors.Message { return l.heard(to.Kind) })
			})
		})
	}
}

func loadFriends() actors.Message {
	return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.LoadFriends() })
}

func TestH9_LoadsAreAnswered(t *testing.T) {
	listening(t, testConfig(), nil, func(t *testing.T, h *Host, to actors.Address, heard func() []actors.Message) {
		h.Start(to, loadFriends())
		require.Equal(t, []actors.Message{&actors.FriendsLoaded{Self: "self"}}, heard())
		h.Send(to, do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.LoadFriend(12) }))
		require.Equal(t, &actors.FriendLoaded{Friendship: presence.Friendship{Friend: 12}, Friends: true}, heard()[1])
	})
}

// TestH9_OnlyTheLifeThatAsked: an answer that comes late, to an actor that has
// ended or begun anew, is dropped.
func TestH9_OnlyTheLifeThatAsked(t *testing.T) {
	slow := func(context.Context, presence.UserID) *actors.FriendsLoaded {
		time.Sleep(time.Second)
		return &actors.FriendsLoaded{}
	}
	listening(t, testConfig(), slow, func(t *testing.T, h *Host, to actors.Address, heard func() []actors.Message) {
		h.Start(to, loadFriends())
		h.Send(to, stop())
		h.Start(to, nothing())
		time.Sleep(2 * time.Second)
		require.Empty(t, heard())
		require.Equal(t, 1, h.droppedFor(staleFor))

		h.Send(to, loadFriends())
		h.Send(to, stop())
		time.Sleep(2 * time.Second)
		require.Empty(t, heard())
		require.Equal(t, 2, h.droppedFor(staleFor))

		h.Start(to, loadFriends())
		time.Sleep(2 * time.Second)
		require.Len(t, heard(), 1)
	})
}

func TestH9_FullQueueIsAnswered(t *testing.T) {
	cfg := testConfig()
	cfg.LoadWorkers, cfg.LoadQueue = 1, 2
	running, most := 0, 0
	slow := func(context.Context, presence.UserID) *actors.FriendsLoaded {
		running++
		most = max(most, running)
		time.Sleep(time.Second)
		running--
		return &actors.FriendsLoaded{}
	}
	listening(t, cfg, slow, func(t *testing.T, h *Host, to actors.Address, heard func() []actors.Message) {
		h.Start(to, loadFriends())
		synctest.Wait() // the worker has it
		for range 3 {
			h.Send(to, loadFriends())
		}
		refused := heard()
		require.Len(t, refused, 1)
		require.ErrorIs(t, refused[0].(*actors.FriendsLoaded).Err, ErrBusy)
		require.InDelta(t, 1, testutil.ToFloat64(h.metrics.refused), 0)
		time.Sleep(10 * time.Second)
		require.Len(t, heard(), 4)
		require.Equal(t, 1, most)
	})
}

// TestH9_LoaderThatFails: a panic, a nil and a read without end are answered.
func TestH9_LoaderThatFails(t *testing.T) {
	loader := func(ctx context.Context, _ presence.UserID) *actors.FriendsLoaded {
		switch deadline, _ := ctx.Deadline(); {
		case time.Now().Unix()%3 == 0:
			panic("secret")
		case time.Now().Unix()%3 == 1:
			return nil
		default:
			require.Positive(t, time.Until(deadline))
			<-ctx.Done()
			return &actors.FriendsLoaded{Err: ctx.Err()}
		}
	}
	listening(t, testConfig(), loader, func(t *testing.T, h *Host, to actors.Address, heard func() []actors.Message) {
		h.Start(to, loadFriends())
		for n := 1; n <= 3; n++ {
			time.Sleep(h.cfg.LoadTimeout + time.Second)
			require.Len(t, heard(), n)
			require.Error(t, heard()[n-1].(*actors.FriendsLoaded).Err)
			h.Send(to, loadFriends())
		}
	})
}

func locateAll(ids ...presence.UserID) actors.Message {
	return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.Locate(ids) })
}

func TestH10_Locate(t *testing.T) {
	listening(t, testConfig(), nil, func(t *testing.T, h *Host, to actors.Address, heard func() []actors.Message) {
		for id := range uint64(50) {
			if id%3 == 0 {
				h.Start(user(100+id), nothing())
			}
		}
		synctest.Wait()
		var asked, online []presence.UserID
		for id := range presence.UserID(50) {
			asked = append(asked, 149-id)
			if (49-id)%3 == 0 {
				online = append(online, 149-id)
			}
		}
		h.Start(to, locateAll(asked...))
		require.Equal(t, []actors.Message{&actors.Located{Asked: asked, Online: online}}, heard())
	})
}

// TestH10_OneFindsTheOther starts pairs at once, many times over.
func TestH10_OneFindsTheOther(t *testing.T) {
	finds := make(chan bool, 2)
	factory := scripted(func(_ *toyCore, _ time.Time, m actors.Message, _ *actors.Outbox) {
		if found, ok := m.(*actors.Located); ok {
			finds <- len(found.Online) == 1
		}
	})
	h := newHostFor(t, testConfig(), map[actors.Kind]Factory{actors.UserKind: factory})
	defer closeHost(t, h)
	for round := range uint64(2000) {
		a, b := 2*round, 2*round+1
		go h.Start(user(a), locateAll(presence.UserID(b)))
		h.Start(user(b), locateAll(presence.UserID(a)))
		first, second := <-finds, <-finds
		require.True(t, first || second)
		h.Send(user(a), stop())
		h.Send(user(b), stop())
	}
}

type cannedLocator struct{}

func (cannedLocator) Locate(_ context.Context, ids []presence.UserID) *actors.Located {
	return &actors.Located{Asked: ids, Online: ids[:1]}
}

func TestH10_LocatorPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l listeners
		ports := &fakePorts{}
		h, err := New(testConfig(), Ports{Clients: ports, Recorder: ports, Loader: ports, Locator: cannedLocator{}}, l.factories(), nil, nil)
		require.NoError(t, err)
		defer closeHost(t, h)
		h.Start(user(1), locateAll(8, 9))
		require.Equal(t, []actors.Message{&actors.Located{Asked: []presence.UserID{8, 9}, Online: []presence.UserID{8}}}, l.heard(actors.UserKind))
	})
}
