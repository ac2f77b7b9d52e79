package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// counted counts the reads of single users.
type counted struct {
	store.Users
	n atomic.Int64
}

func (c *counted) User(ctx context.Context, public presence.PublicID) (store.User, error) {
	c.n.Add(1)
	return c.Users.User(ctx, public)
}

// TestViews_AThousandUsers asks for as many users as one call may name: a third
// is present, a third is not, a third does not exist.
func TestViews_AThousandUsers(t *testing.T) {
	const n = 999
	node, err := Open(t.Context(), testConfig(t), quiet())
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close(t.Context())) }()
	name := func(i int) presence.PublicID { return presence.PublicID(fmt.Sprintf("user%d", i)) }
	var pairs iter.Seq2[store.Pair, error] = func(yield func(store.Pair, error) bool) {
		for i := range n {
			if i%3 != 2 && !yield(store.Pair{A: name(i), B: "hub"}, nil) {
				return
			}
		}
	}
	_, err = node.store.ImportFriends(t.Context(), pairs, 1, nil)
	require.NoError(t, err)
	at, err := geo.FromDegrees(1, 1)
	require.NoError(t, err)
	for i := 0; i < n; i += 3 {
		u, err := node.store.User(t.Context(), name(i))
		require.NoError(t, err)
		now := time.Now()
		fix := presence.Fix{At: at, Seq: 1, TS: presence.Millis(now.UnixMilli())}
		live{node.host}.Report(&presence.Batch{User: u.ID, Device: "d", Fixes: []presence.Fix{fix}, Received: presence.Micros(now.UnixMicro())})
	}
	require.NoError(t, node.host.Quiesce(t.Context()))

	all := make([]presence.PublicID, n)
	for i := range all {
		all[i] = name(i)
	}
	users := &counted{Users: node.store}
	v := views{node.host, newNames(users), node.instance}
	for round, reads := range []int64{n, n / 3} { // with nothing remembered; only with those who do not exist asked for again
		users.n.Store(0)
		began := time.Now()
		got, err := v.Presence(t.Context(), all)
		took := time.Since(began)
		require.NoError(t, err)
		t.Logf("round %d: %d users in %v", round, n, took)
		require.Equal(t, reads, users.n.Load())
		for i, s := range got {
			require.Equal(t, name(i), s.User)
			want := gateway.Status{User: name(i), State: presence.Offline}
			if i%3 == 0 {
				want = gateway.Status{User: name(i), State: presence.Live, LastSeen: s.LastSeen, Node: node.instance.String()}
				require.Positive(t, s.LastSeen)
			}
			require.Equal(t, want, s)
		}
	}
}

func TestOpenUntil_ASignalWhileStartingIsHeard(t *testing.T) {
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGTERM
	n, err := openUntil(signals, testConfig(t), quiet())
	if err != nil { // the usual case
		require.ErrorContains(t, err, "stopped by a signal (terminated) while starting")
		return
	}
	require.Len(t, signals, 1, "it came too late for Open, and is there for whoever serves")
	require.NoError(t, n.Close(t.Context()))
}
