package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestE7_HealthAndReadiness(t *testing.T) {
	s := serve(t)
	require.Equal(t, http.StatusOK, request(t, http.MethodGet, s.http+"/healthz", nil, nil).status)
	require.Equal(t, http.StatusOK, request(t, http.MethodGet, s.http+"/readyz", nil, nil).status)
	missing := request(t, http.MethodGet, s.http+"/v1/nothing", nil, nil)
	require.Equal(t, http.StatusNotFound, missing.status)
	code, _ := missing.problem(t)
	require.Equal(t, "not_found", code)
	wrong := request(t, http.MethodPatch, s.http+"/v1/fixes", nil, nil)
	require.Equal(t, http.StatusMethodNotAllowed, wrong.status)
	require.Contains(t, wrong.header.Get("Allow"), "POST")
}

// Every call is for one kind of caller: no token, a wrong one, or the other
// kind's gets nothing.
func TestE7_WhoMayCall(t *testing.T) {
	s := serve(t)
	user, operator := token(t, "ann", time.Hour), apiKey
	calls := []struct {
		method, path string
		body         any
		good, bad    string
	}{
		{"POST", "/v1/fixes", obj{"fixes": []obj{{"seq": 1, "lat": 1, "lng": 1}}}, user, operator},
		{"GET", "/v1/nearby", nil, user, operator},
		{"GET", "/v1/history", nil, user, operator},
		{"PUT", "/v1/users/bob", nil, operator, user},
		{"GET", "/v1/users/bob", nil, operator, user},
		{"PUT", "/v1/users/ann/friends/bob", nil, operator, user},
		{"GET", "/v1/users/ann/friends", nil, operator, user},
		{"DELETE", "/v1/users/ann/friends/bob", nil, operator, user},
		{"POST", "/v1/presence", obj{"users": []string{"ann"}}, operator, user},
		{"GET", "/v1/users/ann/history", nil, operator, user},
		{"DELETE", "/v1/users/bob", nil, operator, user},
		{"DELETE", "/v1/me", nil, user, operator},
	}
	s.operator(http.MethodPut, "/v1/users/ann", nil, http.StatusCreated)
	for _, c := range calls {
		what := c.method + " " + c.path
		for _, header := range []http.Header{nil, bearer(c.bad), bearer("x"), {"Authorization": {"Basic eDp5"}}, bearer(token(t, "ann", -time.Hour))} {
			a := request(t, c.method, s.http+c.path, header, c.body)
			require.Equal(t, http.StatusUnauthorized, a.status, "%s with %v", what, header)
			code, _ := a.problem(t)
			require.Equal(t, "unauthorized", code)
		}
		a := request(t, c.method, s.http+c.path, bearer(c.good), c.body)
		require.Less(t, a.status, 300, "%s: %s", what, a.body)
	}
}

func TestE7_UsersAndFriends(t *testing.T) {
	s := serve(t)
	s.operator(http.MethodPut, "/v1/users/ann", nil, http.StatusCreated)
	s.operator(http.MethodPut, "/v1/users/ann", nil, http.StatusOK)
	s.operator(http.MethodPut, "/v1/users/bob", nil, http.StatusCreated)
	var u struct {
		User    string
		Created int64
	}
	s.operator(http.MethodGet, "/v1/users/ann", nil, http.StatusOK).into(t, &u)
	require.Equal(t, "ann", u.User)
	require.InDelta(t, time.Now().UnixMilli(), u.Created, 10_000)
	refused := func(method, path string, status int, want string) {
		t.Helper()
		code, _ := s.operator(method, path, nil, status).problem(t)
		require.Equal(t, want, code)
	}
	refused("GET", "/v1/users/nobody", http.StatusNotFound, "not_found")
	refused("PUT", "/v1/users/ann/friends/nobody", http.StatusNotFound, "not_found")
	refused("PUT", "/v1/users/ann/friends/ann", http.StatusBadRequest, "bad_field")
	refused("PUT", "/v1/users/not%20an%20id", http.StatusBadRequest, "bad_field")

	// Friendship takes effect on live views within a second, both ways.
	ann, bob := s.connect("ann", ""), s.connect("bob", "")
	ann.at(lat0, lng0)
	bob.at(lat0+50*metre, lng0)
	began := time.Now()
	s.operator("PUT", "/v1/users/ann/friends/bob", nil, http.StatusNoContent)
	ann.sees("bob")
	bob.sees("ann")
	require.Less(t, time.Since(began), time.Second)
	s.hasFriends("bob", []string{"ann"})
	var states []struct {
		User, State, Node string
		LastSeen          int64 `json:"last_seen"`
	}
	s.operator("POST", "/v1/presence", obj{"users": []string{"bob", "nobody"}}, http.StatusOK).into(t, &states)
	require.Equal(t, []string{"bob", "live", "nobody", "offline", ""}, []string{states[0].User, states[0].State, states[1].User, states[1].State, states[1].Node})
	require.InDelta(t, time.Now().UnixMilli(), states[0].LastSeen, 10_000)
	code, _ := s.operator("POST", "/v1/presence", obj{"users": make([]string, 1001)}, http.StatusBadRequest).problem(t)
	require.Equal(t, "bad_field", code)

	began = time.Now()
	s.operator("DELETE", "/v1/users/ann/friends/bob", nil, http.StatusNoContent)
	ann.loses("bob", "unfriended")
	bob.loses("ann", "unfriended")
	require.Less(t, time.Since(began), time.Second)

	s.operator("DELETE", "/v1/users/bob", nil, http.StatusNoContent)
	closed, _ := bob.closed()
	require.Equal(t, 4001, closed)
	refused("GET", "/v1/users/bob", http.StatusNotFound, "not_found")
}

func TestE7_FixesOverHTTP(t *testing.T) {
	s := serve(t)
	s.befriend("ann", "bob")
	ann := s.connect("ann", "")
	ann.at(lat0, lng0)
	now := time.Now().UnixMilli()
	fixes := []obj{
		{"seq": 2, "lat": lat0 + 30*metre, "lng": lng0, "ts": now},
		{"seq": 1, "lat": lat0, "lng": lng0, "ts": now - 60_000},
		{"seq": 3, "lat": lat0, "lng": 200, "ts": now},
		{"seq": 4, "lat": lat0, "lng": lng0, "ts": 12},
		{"seq": 5, "lat": lat0},
	}
	for range 2 { // the same again changes nothing
		var done struct {
			Accepted int
			Refused  []struct {
				Index       int
				Code, Field string
			}
		}
		s.as("bob", "POST", "/v1/fixes", obj{"device": "tracker", "fixes": fixes}, http.StatusOK).into(t, &done)
		require.Equal(t, 2, done.Accepted)
		require.Equal(t, `[{2 bad_coordinate lng} {3 bad_time ts} {4 bad_field lng}]`, fmt.Sprint(done.Refused))
		require.Len(t, s.history("bob", 10), 2, "durable when answered")
	}
	require.InDelta(t, 30, ann.sees("bob").DistanceM, 0.5, "without a socket bob is present too")
	var view struct{ Near []near }
	s.as("bob", "GET", "/v1/nearby", nil, http.StatusOK).into(t, &view)
	require.Len(t, view.Near, 1)
	require.Equal(t, "ann", view.Near[0].User)

	many := "{\"fixes\":[" + strings.Repeat(`{"seq":1,"lat":1,"lng":1},`, 1000) + `{"seq":1,"lat":1,"lng":1}]}`
	code, _ := s.as("bob", "POST", "/v1/fixes", many, http.StatusRequestEntityTooLarge).problem(t)
	require.Equal(t, "too_large", code)
	code, _ = s.as("bob", "POST", "/v1/fixes", `{"fixes":[`, http.StatusBadRequest).problem(t)
	require.Equal(t, "bad_json", code)
	code, field := s.as("bob", "POST", "/v1/fixes", `{}`, http.StatusBadRequest).problem(t)
	require.Equal(t, []string{"bad_field", "fixes"}, []string{code, field})

	s.as("bob", "DELETE", "/v1/me", nil, http.StatusNoContent)
	ann.loses("bob", "offline")
	s.operator("GET", "/v1/users/bob", nil, http.StatusNotFound)
}

func TestE7_History(t *testing.T) {
	s := serve(t)
	began := time.Now().Add(-time.Hour).UnixMilli()
	var fixes []obj
	for i := range 25 {
		fixes = append(fixes, obj{"seq": i + 1, "lat": lat0 + float64(i)*1e-4, "lng": lng0, "ts": began + int64(i)*1000})
	}
	s.as("ann", "POST", "/v1/fixes", obj{"fixes": fixes}, http.StatusOK)
	all := s.history("ann", 10)
	require.Len(t, all, 25, "three pages")
	for i, r := range all {
		require.Equal(t, []any{uint64(i + 1), began + int64(i)*1000, "default"}, []any{r.Seq, r.TS, r.Device})
	}
	window := fmt.Sprintf("from=%d&to=%d", began+5000, began+10_000)
	for _, path := range []string{"/v1/history?" + window, "/v1/users/ann/history?" + window} {
		a := request(t, "GET", s.http+path, bearer(token(t, "ann", time.Hour)), nil)
		if strings.Contains(path, "users") {
			a = s.operator("GET", path, nil, http.StatusOK)
		}
		var page struct{ Fixes []row }
		a.into(t, &page)
		require.Len(t, page.Fixes, 5, "to is exclusive")
		require.EqualValues(t, 6, page.Fixes[0].Seq)
	}
	for format, has := range map[string]string{"geojson": `"FeatureCollection"`, "gpx": "<trkpt ", "csv": "\n"} {
		a := s.as("ann", "GET", "/v1/history?format="+format, nil, http.StatusOK)
		require.GreaterOrEqual(t, strings.Count(string(a.body), "52.5"), 25, format)
		require.Contains(t, string(a.body), has)
	}
	for query, want := range map[string]string{"format=xml": "format", "limit=0": "limit", "limit=10001": "limit", "cursor=zzz": "cursor"} {
		code, field := s.as("ann", "GET", "/v1/history?"+query, nil, http.StatusBadRequest).problem(t)
		require.Equal(t, "bad_field", code, query)
		require.Contains(t, field, want)
	}
	code, _ := s.as("ann", "GET", "/v1/history?from=yesterday", nil, http.StatusBadRequest).problem(t)
	require.Equal(t, "bad_time", code)
}

func TestE7_OwnTracks(t *testing.T) {
	s := serve(t)
	s.befriend("ann", "bob")
	ann := s.connect("ann", "")
	ann.at(lat0, lng0)
	basic := func(password string) http.Header {
		return http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("whoever:"+password))},
			"X-Limit-D":     {"pixel"},
		}
	}
	message := obj{"_type": "location", "lat": lat0 + 40*metre, "lon": lng0, "tst": time.Now().Unix(), "acc": 9, "batt": 80, "tid": "bo"}
	a := request(t, "POST", s.http+"/owntracks", basic(token(t, "bob", time.Hour)), message)
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	var friends []struct {
		Type string `json:"_type"`
		Lat  float64
		Lon  float64
	}
	a.into(t, &friends)
	n := ann.sees("bob")
	require.InDelta(t, 40, n.DistanceM, 0.5)
	require.InDelta(t, 0.8, *n.Battery, 1e-6)
	require.Equal(t, "pixel", s.history("bob", 10)[0].Device)
	found := false
	a = request(t, "POST", s.http+"/owntracks", basic(token(t, "bob", time.Hour)), message)
	a.into(t, &friends)
	for _, f := range friends {
		found = found || f.Type == "location" && f.Lat > lat0-1e-6 && f.Lat < lat0+1e-6
	}
	require.True(t, found, "ann stands in the answer: %s", a.body)
	require.Len(t, s.history("bob", 10), 1, "its time is its seq")
	require.Equal(t, http.StatusUnauthorized, request(t, "POST", s.http+"/owntracks", basic("x"), message).status)
}
