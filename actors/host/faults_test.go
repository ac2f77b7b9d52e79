package host

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// connectedCore has connections, and breaks on everything but a Resync.
type connectedCore struct {
	connections func() []presence.ConnID
}

func (c *connectedCore) Connections() []presence.ConnID { return c.connections() }

func (c *connectedCore) Step(_ time.Time, m actors.Message, _ *actors.Outbox) {
	if _, ok := m.(*actors.Resync); !ok {
		panic("secret-52.5163")
	}
}

// noisy runs f in a bubble with a host whose log is returned by text.
func noisy(t *testing.T, factory Factory, f func(h *Host, ports *fakePorts, text func() string)) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ports := &fakePorts{}
		h, err := New(testConfig(), Ports{Clients: ports, Recorder: ports, Loader: ports},
			map[actors.Kind]Factory{actors.UserKind: factory, toyKind: factory}, nil,
			slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		defer closeHost(t, h)
		f(h, ports, func() string {
			synctest.Wait()
			return log.String()
		})
	})
}

func TestH7_ConnectionsAreClosed(t *testing.T) {
	for _, to := range []actors.Address{user(3), toyAddress(3)} {
		factory := func(uint64, time.Time) actors.Core {
			return &connectedCore{func() []presence.ConnID { return []presence.ConnID{5, 6} }}
		}
		noisy(t, factory, func(h *Host, ports *fakePorts, text func() string) {
			h.Start(to, resync)
			h.Send(to, &numbered{})
			require.Contains(t, text(), "connectedCore).Step:")
			require.NotContains(t, text(), "secret")
			require.Contains(t, text(), "type=string")
			require.Equal(t, []any{ended{5, presence.Internal}, ended{6, presence.Internal}}, ports.seen())
		})
	}
}

// TestH7_AttachThatBreaks: the connection of an Attach is closed even if the
// Core never came to know it.
func TestH7_AttachThatBreaks(t *testing.T) {
	broken := map[string]Factory{
		"factory": func(uint64, time.Time) actors.Core { panic("secret") },
		"step":    func(uint64, time.Time) actors.Core { return &connectedCore{func() []presence.ConnID { return nil }} },
		"both": func(uint64, time.Time) actors.Core {
			return &connectedCore{func() []presence.ConnID { panic("secret") }}
		},
	}
	for name, factory := range broken {
		t.Run(name, func(t *testing.T) {
			noisy(t, factory, func(h *Host, ports *fakePorts, text func() string) {
				h.Start(user(1), &actors.Attach{Conn: 77})
				h.Start(toyAddress(1), &actors.Attach{Conn: 78})
				require.NotContains(t, text(), "secret")
				require.ElementsMatch(t, []any{ended{77, presence.Internal}, ended{78, presence.Internal}}, ports.seen())
				require.Zero(t, h.Users()+h.Count(toyKind))
			})
		})
	}
}

func TestH7_LogIsBounded(t *testing.T) {
	factory := func(uint64, time.Time) actors.Core {
		return &connectedCore{func() []presence.ConnID { return nil }}
	}
	noisy(t, factory, func(h *Host, _ *fakePorts, text func() string) {
		for id := range uint64(1000) {
			h.Start(user(id), &numbered{})
		}
		require.Equal(t, 1, strings.Count(text(), "panic"))
		time.Sleep(2 * faultEvery)
		h.Start(user(1), &numbered{})
		require.Contains(t, text(), "more=999")
		require.InDelta(t, 1001, testutil.ToFloat64(h.metrics.panics.WithLabelValues("user")), 0)
	})
}

// TestH7_PortThatBreaks: a panic in a port ends the actor whose effect it was.
func TestH7_PortThatBreaks(t *testing.T) {
	noisy(t, scripted(nil), func(h *Host, ports *fakePorts, text func() string) {
		h.Start(user(1), do(func(_ *toyCore, _ time.Time, out *actors.Outbox) {
			out.Effects = append(out.Effects, actors.Effect{Kind: actors.Reply, Ask: 0})
			out.Welcome(1, nil)
		}))
		h.Start(user(2), nothing())
		h.ports.Clients = breaking{ports}
		h.Send(user(1), do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.Push(1, nil) }))
		require.Contains(t, text(), "breaking.Push")
		require.Equal(t, 1, h.Users())
		h.ports.Clients = ports
	})
}

type breaking struct{ Clients }

func (breaking) Push(presence.ConnID, *presence.Change) { panic("port") }

// TestH7_MailboxSurvivesTheHost: even a fault of the host itself in a turn does
// not stop a shard.
func TestH7_MailboxSurvivesTheHost(t *testing.T) {
	noisy(t, scripted(nil), func(h *Host, _ *fakePorts, text func() string) {
		h.shards[0].box.post(delivery{msg: &control{do: func() { panic("secret") }}}, true)
		require.NotContains(t, text(), "secret")
		done := false
		h.shards[0].box.post(delivery{msg: &control{do: func() { done = true }}}, true)
		synctest.Wait()
		require.True(t, done)
		h.shards[0].box.settle(1, 0) // what the broken turn left uncounted
	})
}

// TestH7_ProtoactorLogsNoMessages: what protoactor logs of dead letters and
// failures comes without its attributes, and below warnings not at all.
func TestH7_ProtoactorLogsNoMessages(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		system := newSystem(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		for range 5 {
			system.Root.Send(actor.NewPID("nonhost", "nobody"), "secret")
		}
		system.Logger().With("position", "secret").Warn("odd", "message", "secret")
		system.Logger().WithGroup("g").InfoContext(context.Background(), "info", "message", "secret")
		time.Sleep(2 * time.Second) // protoactor's dead letter throttle ends
	})
	require.Contains(t, log.String(), "odd")
	require.NotContains(t, log.String(), "secret")
	require.NotContains(t, log.String(), "info")
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
}
