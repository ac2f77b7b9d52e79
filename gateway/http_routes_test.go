package gateway

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// routes are all calls of the public port that need somebody, with a body that
// is good.
var routes = []struct {
	who, method, path, body string
	status                  int
}{
	{"ann", "POST", "/v1/fixes", `{"fixes":[{"lat":1,"lng":2,"seq":1,"ts":1799999990000}]}`, 200},
	{"ann", "GET", "/v1/nearby", "", 200},
	{"ann", "GET", "/v1/history", "", 200},
	{"ann", "DELETE", "/v1/me", "", 204},
	{"operator", "PUT", "/v1/users/carl", "", 201},
	{"operator", "GET", "/v1/users/bob", "", 200},
	{"operator", "DELETE", "/v1/users/bob", "", 204},
	{"operator", "PUT", "/v1/users/ann/friends/bob", "", 204},
	{"operator", "DELETE", "/v1/users/ann/friends/bob", "", 204},
	{"operator", "GET", "/v1/users/ann/friends", "", 200},
	{"operator", "POST", "/v1/presence", `{"users":["ann"]}`, 200},
	{"operator", "GET", "/v1/users/ann/history", "", 200},
	{"tracker", "POST", "/owntracks", `{"_type":"location","lat":1,"lon":2,"tst":1799999990}`, 200},
}

func (b *bench) callAs(who, method, path, body string, headers ...string) *http.Response {
	b.t.Helper()
	if who == "tracker" {
		r, _ := http.NewRequest(method, path, nil)
		r.SetBasicAuth("whoever", b.token("ann"))
		headers = append([]string{"Authorization", r.Header.Get("Authorization")}, headers...)
		who = ""
	}
	return b.call(who, method, path, body, headers...).Result()
}

func TestEveryRouteWorks(t *testing.T) {
	for _, r := range routes {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			got := newBench(t, nil).callAs(r.who, r.method, r.path, r.body)
			require.Equal(t, r.status, got.StatusCode)
			require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
			require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
		})
	}
}

func TestHT4_EveryRouteRefusesWhoItIsNotFor(t *testing.T) {
	b := newBench(t, nil)
	expired, err := b.auth.Issue("ann", time.Second, testNow.Add(-time.Hour))
	require.NoError(t, err)
	for _, r := range routes {
		wrong := map[string]string{
			"none":            "",
			"no scheme":       b.token("ann"),
			"scheme alone":    "Bearer",
			"unknown key":     "Bearer wrong-operator-key-9",
			"expired token":   "Bearer " + expired,
			"other scheme":    "Digest " + b.token("ann"),
			"basic, bad":      "Basic !!!",
			"basic, no token": "Basic dXNlcjpwYXNz",
			"huge":            "Bearer " + strings.Repeat("x", 10_000),
		}
		switch r.who {
		case "operator":
			wrong["user token"] = "Bearer " + b.token("ann")
		case "tracker":
			wrong["bearer"] = "Bearer " + b.token("ann")
		default:
			wrong["API key"] = "Bearer " + testKey
		}
		for name, header := range wrong {
			t.Run(r.method+" "+r.path+" "+name, func(t *testing.T) {
				w := b.call("", r.method, r.path, r.body, "Authorization", header)
				p := problem(t, w, http.StatusUnauthorized, "unauthorized")
				require.Contains(t, w.Header().Get("WWW-Authenticate"), `realm="kith`)
				require.NotContains(t, p.Detail, "eyJ", "an error repeats no token")
			})
		}
	}
	require.Zero(t, b.reports)
	require.Len(t, b.ids, 2, "nothing was changed")
}

func TestHT4_TwoAuthorizationHeadersAreRefused(t *testing.T) {
	b := newBench(t, nil)
	r := newRequest("GET", "/v1/nearby", "")
	r.Header.Add("Authorization", "Bearer "+b.token("ann"))
	r.Header.Add("Authorization", "Bearer "+b.token("bob"))
	problem(t, b.serve(r), http.StatusUnauthorized, "unauthorized")
}

func TestUserOfAGoodTokenMayBeUnknown(t *testing.T) {
	b := newBench(t, nil)
	problem(t, b.call("zoe", "GET", "/v1/nearby", ""), http.StatusNotFound, "not_found")
	b.autoCreate = true
	require.Equal(t, http.StatusOK, b.call("zoe", "GET", "/v1/nearby", "").Code)
}

func TestDatabaseAwayIsUnavailable(t *testing.T) {
	b := newBench(t, nil)
	b.down = true
	w := b.call("ann", "GET", "/v1/nearby", "")
	problem(t, w, http.StatusServiceUnavailable, "unavailable")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
}

func TestHT3_PortErrorsBecomeProblems(t *testing.T) {
	tests := []struct {
		err    error
		status int
		code   string
	}{
		{ErrNotFound, 404, "not_found"},
		{ErrConflict, 409, "conflict"},
		{ErrTooMany, 409, "too_many"},
		{ErrForbidden, 403, "forbidden"},
		{ErrUnavailable, 503, "unavailable"},
		{ErrSelf, 400, "bad_field"},
		{errors.New("disk on fire at 51.5, -0.12"), 500, "internal"},
	}
	for _, tt := range tests {
		b := newBench(t, nil)
		b.failure = tt.err
		w := b.call("operator", "PUT", "/v1/users/ann/friends/bob", "")
		problem(t, w, tt.status, tt.code)
		require.NotContains(t, w.Body.String(), "disk on fire")
	}
}

func TestHT6_RateLimits(t *testing.T) {
	b := newBench(t, func(c *HTTPConfig) { c.Requests, c.RequestsPerS, c.OperatorMost, c.OperatorPerS = 2, 0.5, 1, 1 })
	for range 2 {
		require.Equal(t, 200, b.call("ann", "GET", "/v1/nearby", "").Code)
	}
	w := b.call("ann", "GET", "/v1/nearby", "")
	problem(t, w, http.StatusTooManyRequests, "too_many")
	require.Equal(t, "2", w.Header().Get("Retry-After"))
	require.Equal(t, 200, b.call("bob", "GET", "/v1/nearby", "").Code, "each token has its own")
	b.now = b.now.Add(2 * time.Second)
	require.Equal(t, 200, b.call("ann", "GET", "/v1/nearby", "").Code, "Retry-After was right")

	require.Equal(t, 200, b.call("operator", "GET", "/v1/users/ann", "").Code)
	problem(t, b.call("operator", "GET", "/v1/users/ann", ""), http.StatusTooManyRequests, "too_many")
	require.Equal(t, 200, b.call("", "GET", "/v1/users/ann", "", "Authorization", "Bearer another-operator-key-2").Code)
}

func TestHT6_AllowancesAreBounded(t *testing.T) {
	made := 0
	a := newAllowances(10, func() *allowance { made++; return &allowance{} })
	busy := a.of("busy")
	for i := range 1000 {
		a.of(strings.Repeat("x", i%500+1))
		require.Same(t, busy, a.of("busy"), "who comes often is not forgotten")
		require.LessOrEqual(t, len(a.young)+len(a.old), 20)
	}
	require.Greater(t, made, 100)
}

func TestHealth(t *testing.T) {
	b := newBench(t, nil)
	b.down = true
	require.Equal(t, map[string]string{"status": "ok"}, body[map[string]string](t, b.call("", "GET", "/healthz", ""), 200))
	require.Equal(t, ReadyBody{Ready: true}, body[ReadyBody](t, b.call("", "GET", "/readyz", ""), 200))
	for _, why := range []string{"starting", "draining", "fenced", "store_down"} {
		b.why = why
		require.Equal(t, ReadyBody{Reason: why}, body[ReadyBody](t, b.call("", "GET", "/readyz", ""), 503))
		require.Equal(t, 200, b.call("", "GET", "/healthz", "").Code)
	}
}

func TestUsers(t *testing.T) {
	b := newBench(t, nil)
	require.Equal(t, PutBody{User: "carl@example.org", Created: true}, body[PutBody](t, b.call("operator", "PUT", "/v1/users/carl@example.org", ""), 201))
	require.Equal(t, PutBody{User: "carl@example.org"}, body[PutBody](t, b.call("operator", "PUT", "/v1/users/carl%40example.org", ""), 200))
	got := body[UserBody](t, b.call("operator", "GET", "/v1/users/carl@example.org", ""), 200)
	require.Equal(t, UserBody{User: "carl@example.org", Created: 1_799_000_000_000, Share: ShareBody{Mode: "area", Until: 1_900_000_000_000, Then: "none"}}, got)
	require.Empty(t, b.call("operator", "DELETE", "/v1/users/carl@example.org", "").Body.String())
	problem(t, b.call("operator", "DELETE", "/v1/users/carl@example.org", ""), 404, "not_found")
	problem(t, b.call("operator", "GET", "/v1/users/carl@example.org", ""), 404, "not_found")
	problem(t, b.call("operator", "GET", "/v1/users/carl@example.org/history", ""), 404, "not_found")
	problem(t, b.call("operator", "GET", "/v1/users/carl@example.org/friends", ""), 404, "not_found")
}

func TestIdsInPaths(t *testing.T) {
	b := newBench(t, nil)
	for _, id := range []string{"a%2Fb", "a%20b", "a%00b", "%C3%A4", "a%0d%0aX-Evil:%201", strings.Repeat("a", 65), "a;b", "a%25b", "<script>"} {
		for _, path := range []string{"/v1/users/" + id, "/v1/users/" + id + "/history", "/v1/users/" + id + "/friends", "/v1/users/ann/friends/" + id, "/v1/users/" + id + "/friends/ann"} {
			method := "GET"
			if strings.Contains(path, "/friends/") {
				method = "PUT"
			}
			w := b.call("operator", method, path, "")
			p := problem(t, w, http.StatusBadRequest, "bad_field")
			require.Contains(t, []string{"user", "a", "b"}, p.Field)
			require.Empty(t, w.Header().Get("X-Evil"))
		}
	}
	require.Equal(t, 201, b.call("operator", "PUT", "/v1/users/%2e%2e", "").Code, "an id of dots is an id")
	require.NotZero(t, b.ids[".."])
}

func TestFriends(t *testing.T) {
	b := newBench(t, nil)
	list := func(user string) []FriendBody {
		return body[FriendsBody](t, b.call("operator", "GET", "/v1/users/"+user+"/friends", ""), 200).Friends
	}
	require.Equal(t, []FriendBody{}, list("ann"), "a list, not null")
	for range 2 {
		require.Equal(t, 204, b.call("operator", "PUT", "/v1/users/ann/friends/bob", "").Code)
	}
	require.Equal(t, []FriendBody{{User: "bob", Share: ShareBody{Mode: "exact"}}}, list("ann"))
	require.Equal(t, []FriendBody{{User: "ann", Share: ShareBody{Mode: "exact"}}}, list("bob"))
	require.Equal(t, 204, b.call("operator", "DELETE", "/v1/users/bob/friends/ann", "").Code)
	require.Empty(t, list("ann"))

	p := problem(t, b.call("operator", "PUT", "/v1/users/ann/friends/ann", ""), 400, "bad_field")
	require.Equal(t, "b", p.Field)
	problem(t, b.call("operator", "PUT", "/v1/users/ann/friends/zoe", ""), 404, "not_found")
	problem(t, b.call("operator", "PUT", "/v1/users/zoe/friends/ann", ""), 404, "not_found")
}

func TestPresence(t *testing.T) {
	b := newBench(t, nil)
	b.history[b.id("bob")] = []HistoryRow{{Fix: presence.Fix{TS: 1_799_999_000_000}}}
	got := body[[]StatusBody](t, b.call("operator", "POST", "/v1/presence", `{"users":["zoe","bob","ann","bob"]}`), 200)
	live := StatusBody{User: "bob", State: "live", LastSeen: 1_799_999_000_000, Node: "n1"}
	require.Equal(t, []StatusBody{{User: "zoe", State: "offline"}, live, {User: "ann", State: "offline"}, live}, got)
	require.Empty(t, body[[]StatusBody](t, b.call("operator", "POST", "/v1/presence", `{"users":[]}`), 200))

	require.Empty(t, body[[]StatusBody](t, b.call("operator", "POST", "/v1/presence", `{"users":[],"of_tomorrow":1}`), 200), "what is not known is ignored")

	many := func(n int) string {
		return `{"users":["` + strings.Repeat(strings.Repeat("u", 64)+`","`, n-1) + strings.Repeat("u", 64) + `"]}`
	}
	require.Len(t, body[[]StatusBody](t, b.call("operator", "POST", "/v1/presence", many(1000)), 200), 1000)
	p := problem(t, b.call("operator", "POST", "/v1/presence", many(1001)), 400, "bad_field")
	require.Equal(t, "users", p.Field)
	p = problem(t, b.call("operator", "POST", "/v1/presence", `{"users":["ann","a b"]}`), 400, "bad_field")
	require.Equal(t, "users[1]", p.Field)
}

func TestHT3_BrokenBodies(t *testing.T) {
	b := newBench(t, nil)
	tests := []struct {
		name, body string
		status     int
		code       string
	}{
		{"nothing", ``, 400, "bad_json"},
		{"no JSON", `users=ann`, 400, "bad_json"},
		{"cut", `{"users":["ann"`, 400, "bad_json"},
		{"NaN", `{"users":NaN}`, 400, "bad_json"},
		{"Infinity", `{"users":[-Infinity]}`, 400, "bad_json"},
		{"same name twice", `{"users":["ann"],"users":["bob"]}`, 400, "bad_json"},
		{"two values", `{"users":[]}{"users":[]}`, 400, "bad_json"},
		{"not UTF-8", "{\"users\":[\"\xff\"]}", 400, "bad_json"},
		{"deep", `{"users":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, 400, "bad_json"},
		{"null", `null`, 400, "bad_field"},
		{"array", `[]`, 400, "bad_field"},
		{"no users", `{}`, 400, "bad_field"},
		{"users null", `{"users":null}`, 400, "bad_field"},
		{"users text", `{"users":"ann"}`, 400, "bad_field"},
		{"users numbers", `{"users":[1]}`, 400, "bad_field"},
		{"too large", `{"users":["` + strings.Repeat("a", 200_000) + `"]}`, 413, "too_large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := problem(t, b.call("operator", "POST", "/v1/presence", tt.body), tt.status, tt.code)
			require.NotContains(t, p.Detail, "ann", "an error repeats nothing that was sent")
		})
	}
	for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "application/xml", "multipart/form-data; boundary=x", "application/json-seq", "nonsense"} {
		p := problem(t, b.call("operator", "POST", "/v1/presence", `{"users":[]}`, "Content-Type", kind), 415, "bad_field")
		require.Equal(t, "Content-Type", p.Field)
	}
	p := problem(t, b.call("operator", "POST", "/v1/presence", `{"users":[]}`, "Content-Encoding", "gzip"), 415, "bad_field")
	require.Equal(t, "Content-Encoding", p.Field)
	require.Equal(t, 200, b.call("operator", "POST", "/v1/presence", `{"users":[]}`, "Content-Encoding", "identity").Code)
	for _, kind := range []string{"application/json; charset=utf-8", "Application/JSON", ""} {
		require.Equal(t, 200, b.call("operator", "POST", "/v1/presence", `{"users":[]}`, "Content-Type", kind).Code, kind)
	}
}

func TestEraseMe(t *testing.T) {
	b := newBench(t, nil)
	require.Equal(t, 204, b.call("ann", "DELETE", "/v1/me", "").Code)
	require.Zero(t, b.ids["ann"])
	require.NotZero(t, b.ids["bob"])
	problem(t, b.call("ann", "DELETE", "/v1/me", ""), 404, "not_found")
}
