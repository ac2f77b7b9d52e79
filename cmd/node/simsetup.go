package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/kith-nearby/kith/cmd/node/sim"
)

// setupCallers is how many calls a setup makes at a time.
const setupCallers = 16

// simSetup makes the users and friendships of a population that a node does not
// have yet.
type simSetup struct {
	base    string // http://HOST:PORT
	key     string
	people  *sim.Population
	console *console

	http *http.Client
	bar  *progressbar.ProgressBar
	made atomic.Int64
}

// httpOf is where the HTTP API of a WebSocket's node is.
func httpOf(socket string) string {
	u, err := url.Parse(socket)
	if err != nil {
		return socket
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	u.Path = strings.TrimSuffix(u.Path, "/v1/ws")
	return strings.TrimRight(u.String(), "/")
}

// run makes what is missing. It returns the friends of the people who are none
// of them.
func (s *simSetup) run(ctx context.Context) (outsiders []string, err error) {
	transport := &http.Transport{MaxConnsPerHost: setupCallers, MaxIdleConnsPerHost: setupCallers}
	defer transport.CloseIdleConnections()
	s.http = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	s.bar = progressbar.DefaultSilent(-1)
	if terminal(s.console.err) {
		s.bar = progressbar.NewOptions(len(s.people.People)+s.people.Pairs, progressbar.OptionSetWriter(s.console.err),
			progressbar.OptionSetDescription("friendships"), progressbar.OptionClearOnFinish())
	}
	defer func() { _ = s.bar.Finish() }()
	index := make(map[string]int32, len(s.people.People))
	for i := range s.people.People {
		index[s.people.People[i].Name] = int32(i)
	}
	missing := make([][]int32, len(s.people.People))
	others := make([][]string, len(s.people.People))
	err = spread(len(s.people.People), setupCallers, func(i int) (err error) {
		missing[i], others[i], err = s.user(ctx, int32(i), index)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = spread(len(missing), setupCallers, func(i int) error {
		for _, f := range missing[i] {
			if err := s.call(ctx, http.MethodPut, s.path(int32(i))+"/friends/"+url.PathEscape(s.people.People[f].Name), nil); err != nil {
				return err
			}
			s.made.Add(1)
			_ = s.bar.Add(1)
		}
		return nil
	})
	seen := map[string]bool{}
	for _, names := range others {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				outsiders = append(outsiders, name)
			}
		}
	}
	if made := s.made.Load(); made > 0 && err == nil {
		fmt.Fprintf(s.console.out, "%-14s %d made, %d there already\n", "friendships", made, int64(s.people.Pairs)-made)
	}
	return outsiders, err
}

func (s *simSetup) path(i int32) string {
	return "/v1/users/" + url.PathEscape(s.people.People[i].Name)
}

// user makes a user if there is none, and returns the friends that it lacks, each
// pair once, and those who are not simulated.
func (s *simSetup) user(ctx context.Context, i int32, index map[string]int32) (missing []int32, others []string, err error) {
	if err := s.call(ctx, http.MethodPut, s.path(i), nil); err != nil {
		return nil, nil, err
	}
	var have struct {
		Friends []struct {
			User string `json:"user"`
		} `json:"friends"`
	}
	if err := s.call(ctx, http.MethodGet, s.path(i)+"/friends", &have); err != nil {
		return nil, nil, err
	}
	_ = s.bar.Add(1)
	there := map[int32]bool{}
	for _, f := range have.Friends {
		k, known := index[f.User]
		if !known {
			others = append(others, f.User)
			continue
		}
		there[k] = true
	}
	for _, f := range s.people.People[i].Friends {
		if !there[f] && f > i {
			missing = append(missing, f)
		}
		delete(there, f)
	}
	for f := range there {
		return nil, nil, fmt.Errorf("%s and %s are friends on the node, and not in this population; use another --prefix, or a new database",
			s.people.People[i].Name, s.people.People[f].Name)
	}
	return missing, others, nil
}

// Pauses of a setup whose calls are refused for the moment.
const (
	setupPause   = 250 * time.Millisecond
	setupPatient = time.Minute
)

// call makes one call with the API key, again while the node asks for patience.
func (s *simSetup) call(ctx context.Context, method, path string, out any) error {
	for began := s.console.now(); ; {
		status, body, err := s.once(ctx, method, path)
		switch {
		case err != nil:
			return fmt.Errorf("%w at %s; check that it runs there (kith status): %w", errNoAnswer, s.base, err)
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return fmt.Errorf("the node at %s does not take the API key; use one of its auth.api_keys", s.base)
		case (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && s.console.now().Sub(began) < setupPatient:
			select {
			case <-time.After(setupPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		case status >= 300:
			return fmt.Errorf("%s %s answered %d: %.200s", method, path, status, body)
		case out != nil:
			return json.Unmarshal(body, out)
		default:
			return nil
		}
	}
}

func (s *simSetup) once(ctx context.Context, method, path string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	return resp.StatusCode, body, err
}
