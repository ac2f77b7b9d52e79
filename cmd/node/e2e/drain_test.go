package e2e

import (
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// `kith drain` tells every client when to come back, each at another time, and
// ends the node.
func TestE7_Drain(t *testing.T) {
	const clients, most = 24, 6 * time.Second
	s := serve(t, "node.drain_within="+most.String())
	var all []*peer
	for i := range clients {
		p := s.connect("ann", string(rune('a'+i%8)))
		if i >= clients-8 { // eight devices are the most of one user; the others were replaced
			all = append(all, p)
		}
	}
	for i := range clients {
		all = append(all, s.connect("user"+string(rune('a'+i)), ""))
	}
	all[0].at(lat0, lng0)
	status := s.run("status")
	require.Contains(t, status, "ready")

	cmd := exec.Command(kith, s.args("drain")...)
	cmd.Dir, cmd.Env = s.dir, environment()
	began := time.Now()
	drained := make(chan error, 1)
	var said []byte
	go func() {
		var err error
		said, err = cmd.CombinedOutput()
		drained <- err
	}()
	first := time.Time{}
	delays := map[int64]bool{}
	for _, p := range all {
		d := p.next("drain")
		if first.IsZero() {
			first = time.Now()
			// While it drains, it says so and lets nobody in.
			ready, err := tryRequest(http.MethodGet, s.http+"/readyz", nil, nil)
			if err == nil {
				require.Equal(t, http.StatusServiceUnavailable, ready.status)
				require.Contains(t, string(ready.body), "draining")
			}
		}
		require.NotNil(t, d.RetryAfterMS, d.raw)
		require.GreaterOrEqual(t, *d.RetryAfterMS, int64(0))
		require.LessOrEqual(t, *d.RetryAfterMS, int64(60_000))
		delays[*d.RetryAfterMS] = true
		code, reason := p.closed()
		require.Equal(t, 4100, code)
		require.NotEmpty(t, reason)
	}
	require.Greater(t, len(delays), len(all)*3/4, "they do not come back together")
	require.NoError(t, <-drained, "%s", said)
	require.Less(t, time.Since(began), most+time.Second)
	require.Contains(t, string(said), "drained")
	require.Equal(t, 0, s.exit(most))
	t.Logf("%d clients sent away within %v", len(all), time.Since(began).Round(time.Millisecond))
}
