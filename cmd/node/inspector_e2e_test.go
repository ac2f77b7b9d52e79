package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

// adminGet asks the admin port.
func (tw *town) adminGet(path string, out any) (status int, raw string) {
	tw.t.Helper()
	resp, err := http.Get(tw.node.AdminURL() + path)
	require.NoError(tw.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(tw.t, err)
	if out != nil {
		require.NoError(tw.t, json.Unmarshal(text, out))
	}
	return resp.StatusCode, string(text)
}

// TestE2E_TheOperatorSeesOneUser looks at a user from coming to leaving.
func TestE2E_TheOperatorSeesOneUser(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob", "cy", "dan")
	tw.operator(http.MethodPut, "/v1/users/off/", nil)
	var b gateway.TraceBody
	status, _ := tw.adminGet("/v1/users/nobody/trace", nil)
	require.Equal(t, http.StatusNotFound, status)
	tw.adminGet("/v1/users/alice/trace", &b)
	require.Equal(t, "offline", b.State)
	require.Equal(t, 3, b.Friends.Offline)

	alice, bob, cy := tw.person("alice", "phone"), tw.person("bob", "phone"), tw.person("cy", "phone")
	alice.at(0)
	bob.at(1_000)
	cy.at(400_000)
	alice.sees("near bob")
	require.Eventually(t, func() bool {
		b = gateway.TraceBody{}
		tw.adminGet("/v1/users/alice/trace", &b)
		return len(b.Friends.List) == 2 && b.Friends.List[1].Standing == "far"
	}, patience, poll)
	_, raw := tw.adminGet("/v1/users/alice/trace", &b)
	require.Equal(t, "live", b.State)
	require.NotZero(t, b.Session)
	require.Equal(t, 1, b.Friends.Offline)
	require.Equal(t, presence.PublicID("bob"), b.Friends.List[0].User)
	require.Equal(t, "near", b.Friends.List[0].Standing)
	require.NotZero(t, b.Friends.List[0].Heard)
	require.Equal(t, gateway.StandingBody{User: "cy", Standing: "far", Distance: "hundreds of km", Share: "exact"}, b.Friends.List[1])
	require.Len(t, b.Connections, 1)
	require.Equal(t, presence.DeviceID("phone"), b.Connections[0].Device)
	require.GreaterOrEqual(t, b.Connections[0].FramesIn, uint32(2))
	require.Len(t, b.Devices, 1)
	for _, secret := range []string{"52.5", "56.0", "13.4", "lat", "lng"} {
		require.NotContains(t, raw, secret)
	}
	require.NoError(t, bob.Share(t.Context(), "alice", "none", 0))
	alice.sees("gone bob hidden")
	tw.adminGet("/v1/users/alice/trace", &b)
	require.Contains(t, b.Friends.List, gateway.StandingBody{User: "bob", Standing: "hidden", Share: "exact"})
}

// TestE2E_StatsFollowTheNode compares a snapshot with what people did.
func TestE2E_StatsFollowTheNode(t *testing.T) {
	tw := newTown(t, func(c *config.Config) { c.Presence.FixInterval, c.Presence.StaleAfter = time.Second, 3*time.Second })
	tw.befriend("alice", "bob", "cy")
	alice, bob, cy := tw.person("alice", "phone"), tw.person("bob", "phone"), tw.person("cy", "phone")
	stats := func() (s gateway.StatsBody) {
		tw.adminGet("/v1/stats", &s)
		return s
	}
	cy.at(50)
	bob.at(10)
	began := time.Now()
	for m := 0.0; stats().Live.States.Stale == 0; m++ { // cy says nothing any more
		require.Less(t, time.Since(began), 2*patience)
		alice.at(m)
		bob.Still()
		time.Sleep(50 * time.Millisecond)
	}
	s := stats()
	require.Equal(t, gateway.SampledStates{Of: 3, Live: 1, Idle: 1, Stale: 1}, s.Live.States)
	require.Equal(t, 3, s.Live.Connections)
	require.Equal(t, 3, s.Live.Users)
	require.Greater(t, s.Live.Fixes, 2.0)
	require.NotNil(t, s.Live.Ack50)
	require.NotNil(t, s.Live.Push50)
	require.Equal(t, "serving", s.Node.State)
	require.Positive(t, s.Process.Goroutines)
	require.NotEmpty(t, s.Series.At)
	require.NotEmpty(t, s.Queues)
}

// Every queue that the operator sees is one of the node's metrics.
func TestQueuesAreThere(t *testing.T) {
	tw := newTown(t, nil)
	families, err := tw.node.metrics.Gather()
	require.NoError(t, err)
	there := map[string]bool{}
	for _, f := range families {
		there[f.GetName()] = true
	}
	for _, q := range queues() {
		require.True(t, there[q.Depth[0]], q.Depth[0])
		require.True(t, q.Drops == nil || there[q.Drops[0]], q.Drops)
		require.NotEmpty(t, q.Full)
	}
}

// A live trace does not keep a node from ending.
func TestE2E_ATraceEndsWithTheNode(t *testing.T) {
	tw := &town{t: t, cfg: testConfig(t), log: &syncBuffer{}}
	var err error
	tw.auth, err = newAuth(&tw.cfg)
	require.NoError(t, err)
	tw.open()
	tw.befriend("alice", "bob")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tw.node.AdminURL()+"/v1/users/alice/trace", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: trace\n", line)
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(t, tw.node.Close(ctx))
	require.Less(t, time.Since(began), 3*time.Second)
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Contains(t, string(rest), "event: end")
}

func TestFriendLooksAreSortedNamedAndFew(t *testing.T) {
	var online []user.FriendState
	var rows []presence.Friendship
	for id := presence.UserID(1); id <= 300; id++ {
		standing := user.StandsFar
		if id%10 == 0 {
			standing = user.StandsNear
		}
		online = append(online, user.FriendState{User: id, Standing: standing})
		rows = append(rows, presence.Friendship{Friend: id, Public: presence.PublicID(strings.Repeat("z", int(id%7)) + "u")})
	}
	online = append(online, user.FriendState{User: 999, Standing: user.StandsNear}) // no friend any more
	looks := friendLooks(online, rows)
	require.Len(t, looks, gateway.MostFriendLooks)
	for i, l := range looks {
		require.NotEmpty(t, l.User)
		require.Equal(t, i < 30, l.Standing == "near")
		if i > 0 && looks[i-1].Standing == l.Standing {
			require.LessOrEqual(t, looks[i-1].User, l.User)
		}
	}
	require.Equal(t, user.StandsFar, online[0].Standing, "what was given is as it was")
}
