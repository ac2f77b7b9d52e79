package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

func TestLately(t *testing.T) {
	var l lately
	at := time.UnixMilli(0)
	require.True(t, l.first(1, 2, at))
	require.True(t, l.first(2, 1, at), "the other way is another")
	require.True(t, l.first(1, 3, at))
	require.False(t, l.first(1, 2, at.Add(latelyFor-1)))
	require.True(t, l.first(1, 2, at.Add(latelyFor)))
	require.False(t, l.first(1, 2, at.Add(latelyFor+1)), "counted from when it was done last")
	for i := range presence.UserID(5 * maxLately) {
		require.True(t, l.first(i, 9, at))
		require.LessOrEqual(t, len(l.young)+len(l.old), 2*maxLately)
	}
	require.False(t, l.first(5*maxLately-1, 9, at))
}

// TestAccounts_ARequestRepeatedIsHeardOnceAMinute: asking and withdrawing in turn
// must not ring the other's devices each time.
func TestAccounts_ARequestRepeatedIsHeardOnceAMinute(t *testing.T) {
	r := newRig(t, "alice", "bob", "eve")
	now := time.UnixMilli(1_700_000_000_000)
	r.now = func() time.Time { return now }
	for range 20 {
		require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"))
		require.NoError(t, r.friend("alice", gateway.OpRemove, "bob"))
	}
	require.Equal(t, []string{"bob: notice 0 of alice"}, r.tellings())
	require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"))
	waiting, err := r.Requests(t.Context(), r.ids["bob"])
	require.NoError(t, err)
	require.Equal(t, []presence.PublicID{"alice"}, waiting, "it is there, if not heard")
	require.NoError(t, r.friend("alice", gateway.OpRequest, "eve"))
	require.Equal(t, []string{"eve: notice 0 of alice"}, r.tellings(), "others are heard")
	require.NoError(t, r.friend("alice", gateway.OpRemove, "bob"))
	now = now.Add(time.Minute)
	require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"))
	require.Equal(t, []string{"bob: notice 0 of alice"}, r.tellings())
	require.NoError(t, r.friend("bob", gateway.OpDecline, "alice"))
	require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"))
	require.Equal(t, []string{"bob: notice 0 of alice"}, r.tellings(), "it has had its answer, so this is another")
	require.NoError(t, r.friend("bob", gateway.OpAccept, "alice"))
	require.Contains(t, r.tellings(), "alice: notice 1 of bob", "other notices are not held back")
}
