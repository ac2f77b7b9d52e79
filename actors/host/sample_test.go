package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

func TestSampleIsOfThoseWhoRun(t *testing.T) {
	hosted(t, func(t *testing.T, h *Host, _ *fakePorts) {
		sample := func(n int) []presence.UserID {
			ids, err := h.Sample(t.Context(), n)
			require.NoError(t, err)
			return ids
		}
		require.Empty(t, sample(10))

		const users = 1000
		for id := range uint64(users) {
			h.Start(user(id+1), nothing())
		}
		synctest.Wait()
		all := sample(users)
		require.Len(t, all, users, "all, if there are no more")
		require.Len(t, distinct(all), users)

		some := sample(90)
		require.InDelta(t, 90, len(some), 6)
		require.Len(t, distinct(some), len(some), "nobody comes twice")
		seen := map[presence.UserID]bool{}
		for range 200 {
			for _, id := range sample(90) {
				seen[id] = true
			}
		}
		require.Greater(t, len(seen), users*99/100, "everybody's turn comes")

		for id := range uint64(users) {
			if id%10 != 0 {
				h.Send(user(id+1), stop())
			}
		}
		synctest.Wait()
		require.Equal(t, users/10, h.Users())
		left := sample(30)
		require.NotEmpty(t, left)
		for _, id := range left {
			require.EqualValues(t, 1, id%10, "only who runs")
		}
	})
}

func TestSampleEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostFor(t, testConfig(), map[actors.Kind]Factory{actors.UserKind: scripted(nil)})
		release := make(chan struct{})
		h.Start(user(1), do(func(*toyCore, time.Time, *actors.Outbox) { <-release }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.Sample(ctx, 5)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		closeHost(t, h)
		_, err = h.Sample(t.Context(), 5)
		require.ErrorIs(t, err, ErrClosed)
	})
}

func distinct(ids []presence.UserID) map[presence.UserID]bool {
	m := map[presence.UserID]bool{}
	for _, id := range ids {
		m[id] = true
	}
	return m
}
