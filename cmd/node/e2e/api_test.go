package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// token signs a user token as any service would that has the secret.
func token(t testing.TB, user string, ttl time.Duration) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": user, "exp": time.Now().Add(ttl).Unix()}
	s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
	require.NoError(t, err)
	return s
}

// answer is what a call got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// into decodes the body.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, v), "%s", a.body)
}

// problem is the code and field of a refused call, after checking its form.
func (a answer) problem(t testing.TB) (code, field string) {
	t.Helper()
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), "%s", a.body)
	var p struct {
		Status              int
		Code, Field, Detail string
	}
	a.into(t, &p)
	require.Equal(t, a.status, p.Status)
	require.NotEmpty(t, p.Detail)
	return p.Code, p.Field
}

// caller keeps connections until the server that they lead to has ended.
var caller = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: 5 * time.Second}}

// request makes one HTTP call. body is sent as it is if it is a string, else as
// JSON; nil = none.
func request(t testing.TB, method, url string, header http.Header, body any) answer {
	t.Helper()
	a, err := tryRequest(method, url, header, body)
	require.NoError(t, err)
	return a
}

func tryRequest(method, url string, header http.Header, body any) (answer, error) {
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		in = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return answer{}, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if in != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := caller.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, out}, err
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// operator makes a call with the API key and checks the status.
func (s *server) operator(method, path string, body any, want int) answer {
	s.t.Helper()
	a := request(s.t, method, s.http+path, bearer(apiKey), body)
	require.Equal(s.t, want, a.status, "%s %s: %s", method, path, a.body)
	return a
}

// as makes a call with the token of a user and checks the status.
func (s *server) as(user, method, path string, body any, want int) answer {
	s.t.Helper()
	a := request(s.t, method, s.http+path, bearer(token(s.t, user, time.Hour)), body)
	require.Equal(s.t, want, a.status, "%s %s: %s", method, path, a.body)
	return a
}

// befriend makes users, and friends of every two of them.
func (s *server) befriend(users ...string) {
	s.t.Helper()
	for _, a := range users {
		request(s.t, http.MethodPut, s.http+"/v1/users/"+a, bearer(apiKey), nil)
	}
	for i, a := range users {
		for _, b := range users[:i] {
			s.operator(http.MethodPut, "/v1/users/"+a+"/friends/"+b, nil, http.StatusNoContent)
		}
	}
}

// importFriends makes friendships of pairs before the node is started.
func (s *server) importFriends(pairs [][2]string) {
	s.t.Helper()
	var csv strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&csv, "%s,%s\n", p[0], p[1])
	}
	file := filepath.Join(s.dir, "friends.csv")
	require.NoError(s.t, os.WriteFile(file, []byte(csv.String()), 0o600))
	s.run("import", "friends", file)
}

// row is one fix of history.
type row struct {
	Device   string
	Seq      uint64
	TS       int64
	Sent     int64
	Lat, Lng float64
	Acc      *float64
	Mock     bool
}

// history reads all of a user's history, a page of most rows at a time.
func (s *server) history(user string, most int) []row {
	s.t.Helper()
	var all []row
	for cursor := ""; ; {
		q := url.Values{"limit": {fmt.Sprint(most)}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var page struct {
			Fixes []row
			Next  string
		}
		s.as(user, http.MethodGet, "/v1/history?"+q.Encode(), nil, http.StatusOK).into(s.t, &page)
		require.LessOrEqual(s.t, len(page.Fixes), most)
		all = append(all, page.Fixes...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}
