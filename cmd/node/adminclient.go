package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kith-nearby/kith/cmd/node/config"
)

// adminTimeout bounds one call of the admin port.
const adminTimeout = 5 * time.Second

// adminFlag names the admin port of the node to be asked.
type adminFlag struct {
	Admin string `placeholder:"URL" help:"Admin port of the node, http://…; by default that of the configuration."`
}

func (f adminFlag) base(cfg *config.Config) string {
	if f.Admin != "" {
		return strings.TrimRight(f.Admin, "/")
	}
	return "http://" + reachable(cfg.Node.Admin)
}

// errNoAnswer says that nothing listens there, or not any more.
var errNoAnswer = errors.New("no node answers")

// call makes a request and decodes the JSON of its answer into out. An answer
// with another status than those of ok is an error.
func call(ctx context.Context, method, url string, out any, ok ...int) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return usageError{fmt.Errorf("%s is not a URL; write http://HOST:PORT", url)}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%w at %s; check that it runs and that --config, --admin or --url name it (%w)", errNoAnswer, url, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("%w at %s: %w", errNoAnswer, url, err)
	}
	for _, status := range ok {
		if resp.StatusCode == status {
			if err := json.Unmarshal(body, out); err != nil {
				return fmt.Errorf("what answers at %s is not a Kith node (%w)", url, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s %s answered %s; check that this is the port of a Kith node", method, url, resp.Status)
}

// clusterView is the part of GET /v1/cluster that the commands show.
type clusterView struct {
	Members []struct {
		Instance string `json:"instance"`
		Address  string `json:"address"`
		State    string `json:"state"`
		Self     bool   `json:"self"`
		Users    int    `json:"users"`
	} `json:"members"`
	Rooms int `json:"rooms"`
	Links []struct {
		Peer string `json:"peer"`
		Up   bool   `json:"up"`
	} `json:"links"`
}

// users is how many are present on the node that was asked.
func (c *clusterView) users() int {
	for _, m := range c.Members {
		if m.Self {
			return m.Users
		}
	}
	return 0
}
