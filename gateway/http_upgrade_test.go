package gateway

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/wire"
)

func TestWebSocketsPassThroughThePublicPort(t *testing.T) {
	b := newBench(t, nil)
	sockets := NewSockets(b.hub, SocketPorts{Live: b, Accounts: b, Readiness: b}, b.auth)
	addr := serveBench(t, NewPublicHandler(HTTPConfig{}, HTTPPorts{Readiness: b}, b.auth, sockets, discard(), newRegistry()))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+addr+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{Subprotocol}})
	require.NoError(t, err)
	defer func() { _ = c.CloseNow() }()
	require.Equal(t, Subprotocol, c.Subprotocol())
	require.NoError(t, c.Write(ctx, websocket.MessageText, []byte(`{"type":"still","id":"q"}`)))
	_, answer, err := c.Read(ctx)
	require.NoError(t, err)
	require.Contains(t, string(answer), wire.NotConnected.String())
}

func BenchmarkReport(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("fixes=%d", n), func(b *testing.B) {
			bench := newBench(b, func(c *HTTPConfig) { c.RequestsPerS, c.Requests, c.FixesPerS, c.Fixes = 1e9, 1<<30, 1e9, 1<<30 })
			report, token := fixes(n), "Bearer "+bench.token("ann")
			b.ReportAllocs()
			for b.Loop() {
				clear(bench.history)
				bench.log.Reset()
				if w := bench.call("", "POST", "/v1/fixes", report, "Authorization", token); w.Code != http.StatusOK {
					b.Fatal(w.Body.String())
				}
			}
		})
	}
}
