package main

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/sdk/go/kith"
)

func TestE2E_TwoFriendsMeetAndPart(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob")
	tw.operator(http.MethodPut, "/v1/users/eve", nil)
	alice, bob, eve := tw.person("alice", "phone"), tw.person("bob", "phone"), tw.person("eve", "phone")
	alice.at(0)
	eve.at(0)
	bob.at(20_000)
	bob.at(1_000)
	alice.sees("near bob")
	bob.sees("near alice")
	require.InDelta(t, 0, alice.seesAt("bob", 1_000).Bearing, 0.5, "due north")
	bob.at(3_000)
	alice.seesAt("bob", 3_000)
	bob.at(8_300) // beyond the radius and within the exit radius
	alice.seesAt("bob", 8_300)
	require.Empty(t, alice.has())
	bob.at(9_000)
	alice.sees("gone bob away")
	bob.sees("gone alice away")
	require.Empty(t, alice.View())
	require.Empty(t, eve.has(), "eve is nobody's friend")
}

func TestE2E_ASilentFriendGoesStale(t *testing.T) {
	tw := newTown(t, func(c *config.Config) {
		c.Presence.FixInterval, c.Presence.StaleAfter = 100*time.Millisecond, 1200*time.Millisecond
	})
	tw.befriend("alice", "bob")
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	alice.sees("near bob")
	began := time.Now()
	for time.Since(began) < 2*time.Second { // longer than stale_after
		bob.Still()
		alice.Still()
		time.Sleep(200 * time.Millisecond)
	}
	require.Empty(t, alice.has(), "a still keeps bob present")
	require.Equal(t, "idle", alice.View()["bob"].State)
	silent := time.Now()
	for !contains(alice.has(), "gone bob stale") {
		require.Less(t, time.Since(silent), patience)
		alice.Still()
		time.Sleep(20 * time.Millisecond)
	}
	require.Greater(t, time.Since(silent), 800*time.Millisecond)
	bob.at(100)
	alice.sees("near bob")
}

func contains(all []string, what string) bool {
	for _, s := range all {
		if s == what {
			return true
		}
	}
	return false
}

func TestE2E_AReconnectWithinTheGraceIsInvisible(t *testing.T) {
	tw := newTown(t, func(c *config.Config) { c.Presence.OfflineGrace = 2 * time.Second })
	tw.befriend("alice", "bob")
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	alice.sees("near bob")
	bob.leave()
	again := tw.person("bob", "phone")
	again.seesAt("alice", 100) // the view comes without a new fix
	time.Sleep(2500 * time.Millisecond)
	require.Empty(t, alice.has())
	again.leave()
	left := time.Now()
	alice.sees("gone bob offline")
	require.Greater(t, time.Since(left), 1500*time.Millisecond)
}

func TestE2E_TwoDevicesAreOneUser(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob")
	alice, phone, watch := tw.person("alice", "phone"), tw.person("bob", "phone"), tw.person("bob", "watch")
	alice.at(0)
	phone.at(100)
	alice.sees("near bob")
	phone.seesAt("alice", 100)
	watch.seesAt("alice", 100)
	phone.leave()
	time.Sleep(2 * tw.cfg.Presence.OfflineGrace)
	require.Empty(t, alice.has(), "bob still has the watch")
	second := tw.person("bob", "watch")
	var closed *kith.ClosedError
	require.ErrorAs(t, <-watch.over, &closed)
	watch.over <- nil
	require.Equal(t, 4003, closed.Code)
	second.leave()
	alice.sees("gone bob offline")
}

func TestE2E_RequestAcceptRemove(t *testing.T) {
	tw := newTown(t, nil)
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	require.NoError(t, alice.Friend(t.Context(), "request", "bob"))
	bob.sees("requested alice")
	require.NoError(t, bob.Friend(t.Context(), "accept", "alice"))
	accepted := time.Now()
	alice.sees("accepted bob")
	alice.seesAt("bob", 100)
	bob.seesAt("alice", 100)
	require.Less(t, time.Since(accepted), time.Second)
	require.NoError(t, alice.Friend(t.Context(), "remove", "bob"))
	alice.sees("gone bob unfriended")
	require.Eventually(t, func() bool {
		return contains(bob.has(), "gone alice unfriended") && contains(bob.has(), "removed alice")
	}, patience, poll)
}

func TestE2E_ABlockLooksLikeAnAccountThatEnded(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob")
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	alice.sees("near bob")
	bob.sees("near alice")
	require.NoError(t, alice.Friend(t.Context(), "block", "bob"))
	bob.sees("gone alice offline")
	alice.sees("gone bob unfriended")
	alice.at(50)
	bob.at(60)
	refused, none := bob.Friend(t.Context(), "request", "alice"), bob.Friend(t.Context(), "request", "nobody-at-all")
	var a, b *kith.ServerError
	require.ErrorAs(t, refused, &a)
	require.ErrorAs(t, none, &b)
	require.Equal(t, "not_found", a.Code)
	require.Equal(t, b.Message, a.Message)
	require.Empty(t, bob.has())
	require.Empty(t, bob.View())
}

func TestE2E_ShareModes(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob")
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	alice.sees("near bob")
	bob.sees("near alice")
	require.NoError(t, bob.Share(t.Context(), "alice", "area", 0))
	require.Eventually(t, func() bool { return alice.View()["bob"].Precision == "area" }, patience, poll)
	require.NotEqual(t, 52.5+100.0/111_195, alice.View()["bob"].Lat)
	require.NoError(t, bob.Share(t.Context(), "", "none", 0))
	alice.sees("gone bob hidden")
	bob.sees("gone alice hidden")
	require.NoError(t, bob.Share(t.Context(), "", "exact", 0))
	require.NoError(t, bob.Share(t.Context(), "alice", "exact", 0))
	alice.seesAt("bob", 100)
	require.Eventually(t, func() bool { return alice.View()["bob"].Precision == "exact" }, patience, poll)
	require.NoError(t, bob.Share(t.Context(), "alice", "exact", time.Now().Add(700*time.Millisecond).UnixMilli()))
	alice.sees("gone bob hidden")
}

func TestE2E_Erase(t *testing.T) {
	tw := newTown(t, func(c *config.Config) { c.Auth.AutoCreate = false })
	tw.befriend("alice", "bob")
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	bob.sees("near alice")
	status, _ := tw.operator(http.MethodGet, "/v1/users/alice/history", nil)
	require.Equal(t, http.StatusOK, status)
	status, _ = tw.call(http.MethodDelete, "/v1/me", tw.token("alice"), nil)
	require.Equal(t, http.StatusNoContent, status)
	bob.sees("gone alice offline")
	require.Error(t, <-alice.over, "the connection is closed for good")
	alice.over <- nil
	status, _ = tw.operator(http.MethodGet, "/v1/users/alice/history", nil)
	require.Equal(t, http.StatusNotFound, status)
	_, friends := tw.operator(http.MethodGet, "/v1/users/bob/friends", nil)
	require.NotContains(t, friends, "alice")
}

func TestE2E_HTTP(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob")
	report := func(user string, lat float64) {
		status, body := tw.call(http.MethodPost, "/v1/fixes", tw.token(user), map[string]any{
			"device": "tracker", "fixes": []map[string]any{{"seq": 1, "lat": lat, "lng": 13.4, "ts": time.Now().UnixMilli()}, {"seq": 2, "lat": 91, "lng": 13.4}},
		})
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, `"accepted":1`)
		require.Contains(t, body, `"bad_coordinate"`)
	}
	report("alice", 52.5)
	report("bob", 52.501)
	var view struct{ Near []kith.Friend }
	require.Eventually(t, func() bool {
		_, body := tw.call(http.MethodGet, "/v1/nearby", tw.token("alice"), nil)
		return json.Unmarshal([]byte(body), &view) == nil && len(view.Near) == 1
	}, patience, poll)
	require.Equal(t, "bob", view.Near[0].User)
	require.InDelta(t, 111.2, view.Near[0].DistanceM, 1)

	_, body := tw.operator(http.MethodPost, "/v1/presence", map[string]any{"users": []string{"bob", "nobody", "alice"}})
	var all []struct{ User, State, Node string }
	require.NoError(t, json.Unmarshal([]byte(body), &all))
	require.Len(t, all, 3)
	require.Equal(t, "live", all[0].State)
	require.Equal(t, tw.node.instance.String(), all[0].Node)
	require.Equal(t, "offline", all[1].State)
	require.Equal(t, "alice", all[2].User)
	status, _ := tw.call(http.MethodGet, "/readyz", "", nil)
	require.Equal(t, http.StatusOK, status)
}

func TestE2E_ARestartKeepsHistory(t *testing.T) {
	tw := newTown(t, nil)
	alice := tw.person("alice", "phone")
	for i := range 5 {
		alice.at(float64(i))
	}
	tw.close()
	tw.open()
	_, body := tw.call(http.MethodGet, "/v1/history", tw.token("alice"), nil)
	var page struct{ Fixes []struct{ Lat float64 } }
	require.NoError(t, json.Unmarshal([]byte(body), &page), body)
	require.Len(t, page.Fixes, 5, body)
}

func TestE2E_CloseSendsClientsAway(t *testing.T) {
	tw := newTown(t, nil)
	alice := tw.person("alice", "phone")
	_, err := alice.Fix(kith.Fix{Lat: 52.5, Lng: 13.4})
	require.NoError(t, err)
	began := time.Now()
	tw.close()
	require.Less(t, time.Since(began), tw.cfg.Node.DrainWithin)
	require.Equal(t, "draining", tw.node.ready.NotReady())
	require.Eventually(t, func() bool {
		alice.mu.Lock()
		defer alice.mu.Unlock()
		return len(alice.ended) > 0
	}, patience, poll)
	require.EqualValues(t, 4100, websocket.CloseStatus(alice.ended[0]))
	require.NoError(t, tw.node.Close(context.Background()), "again")
}
