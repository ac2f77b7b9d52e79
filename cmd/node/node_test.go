package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/sdk/go/kith"
	"github.com/kith-nearby/kith/store/sqlite"
)

func quiet() nodeOptions { return nodeOptions{Log: slog.New(slog.DiscardHandler)} }

func TestNode_OpenAndClose(t *testing.T) {
	cfg := testConfig(t)
	for range 3 { // the same database again
		before := goleak.IgnoreCurrent()
		n, err := Open(t.Context(), cfg, quiet())
		require.NoError(t, err)
		require.Empty(t, n.ready.NotReady())
		require.NoError(t, n.Close(t.Context()))
		goleak.VerifyNone(t, before)
	}
	info, err := os.Stat(cfg.Node.Data)
	require.NoError(t, err)
	require.True(t, info.IsDir())
}

// TestNode_AFailedOpenLeavesNothing lets each part fail that can, and looks at
// what is left.
func TestNode_AFailedOpenLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	cases := map[string]func(t *testing.T, cfg *config.Config) error{
		"admin port taken":  func(_ *testing.T, cfg *config.Config) error { cfg.Node.Admin = taken.Addr().String(); return nil },
		"public port taken": func(_ *testing.T, cfg *config.Config) error { cfg.Node.Listen = taken.Addr().String(); return nil },
		"no secret":         func(_ *testing.T, cfg *config.Config) error { cfg.Auth.HS256Secret = ""; return nil },
		"data is a file": func(t *testing.T, cfg *config.Config) error {
			cfg.Node.Data = filepath.Join(t.TempDir(), "file")
			return os.WriteFile(cfg.Node.Data, nil, 0o600)
		},
		"not a database": func(_ *testing.T, cfg *config.Config) error {
			return os.WriteFile(filepath.Join(cfg.Node.Data, "kith.db"), []byte("no database at all"), 0o600)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			good := cfg
			require.NoError(t, change(t, &cfg))
			before := goleak.IgnoreCurrent()
			_, err := Open(t.Context(), cfg, quiet())
			require.Error(t, err)
			goleak.VerifyNone(t, before)
			if name == "not a database" {
				require.ErrorIs(t, err, sqlite.ErrNotDB)
				return
			}
			n, err := Open(t.Context(), good, quiet())
			require.NoError(t, err, "neither the database nor a port is held")
			require.NoError(t, n.Close(t.Context()))
		})
	}
}

// TestNode_EveryPartTakesTheExtremes opens nodes with the least and the most that
// config lets through.
func TestNode_EveryPartTakesTheExtremes(t *testing.T) {
	for _, change := range []func(*config.Config){
		func(c *config.Config) {
			c.Presence.RadiusM, c.Presence.MaxRadiusM, c.Presence.OfflineGrace = 100, 100, 0
			c.Presence.FixInterval, c.Presence.StaleAfter = 10*time.Millisecond, 20*time.Millisecond
			c.Gateway.MaxFrameBytes, c.Gateway.FixesPerS = 1024, 0.01
		},
		func(c *config.Config) {
			c.Presence.RadiusM, c.Presence.MaxRadiusM, c.Presence.OfflineGrace = 120_000, 120_000, time.Hour
			c.Presence.FixInterval, c.Presence.StaleAfter, c.Presence.MaxSpeedMPS = time.Hour, 24*time.Hour, 1e6
			c.Gateway.MaxFrameBytes, c.Gateway.FixesPerS, c.Store.Retention = 1<<20, 1000, time.Minute
		},
	} {
		cfg := testConfig(t)
		change(&cfg)
		n, err := Open(t.Context(), cfg, quiet())
		require.NoError(t, err)
		require.NoError(t, n.Close(t.Context()))
	}
}

func TestNode_OneDatabaseHasOneOwner(t *testing.T) {
	cfg := testConfig(t)
	n, err := Open(t.Context(), cfg, quiet())
	require.NoError(t, err)
	_, err = Open(t.Context(), cfg, quiet())
	require.ErrorIs(t, err, sqlite.ErrLocked)
	require.NoError(t, n.Close(t.Context()))
}

func TestNode_CloseWithoutTimeIsQuick(t *testing.T) {
	tw := newTown(t, func(c *config.Config) { c.Node.DrainWithin = time.Hour })
	for _, name := range []string{"a", "b", "c"} {
		p := tw.person(name, "phone")
		_, err := p.Fix(kith.Fix{Lat: 52.5, Lng: 13.4})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	err := tw.node.Close(ctx)
	require.Less(t, time.Since(began), forcedExit)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	tw.open() // for the town's own Close
}

func TestNode_ABrokenListenerIsToldOf(t *testing.T) {
	n, err := Open(t.Context(), testConfig(t), quiet())
	require.NoError(t, err)
	require.NoError(t, n.public.Listener.Close())
	select {
	case err := <-n.failed:
		require.ErrorIs(t, err, net.ErrClosed)
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	err = n.Close(t.Context())
	require.True(t, err == nil || errors.Is(err, net.ErrClosed), err)
}
