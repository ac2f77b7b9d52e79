package gateway

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func newTestHub(t testing.TB) *Hub {
	t.Helper()
	h, err := NewHub(DefaultSocketConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(h.Stop)
	return h
}
