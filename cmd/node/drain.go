package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// drainLook is how often a drain is looked at.
const drainLook = 250 * time.Millisecond

type drainCommand struct {
	adminFlag
	Force bool `help:"End the node at once, even while it drains: clients are not told when to return."`
	source
}

// Help shows examples.
func (drainCommand) Help() string {
	return `The node gets no new clients, tells those that it has when to return, writes what
it still holds of history, and ends. This command waits for the end.

Examples:

  kith drain --config kith.yaml`
}

// Run drains.
func (cmd *drainCommand) Run(c *console) error {
	cfg, _, err := cmd.load(c, nil)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	base := cmd.base(&cfg)
	var answer struct {
		State string `json:"state"`
	}
	times := 1
	if cmd.Force {
		times = 2 // asked again, a node ends at once
	}
	for range times {
		err := call(ctx, http.MethodPost, base+"/v1/drain", &answer, http.StatusAccepted)
		if err != nil && !(answer.State != "" && errors.Is(err, errNoAnswer)) {
			return err
		}
	}
	fmt.Fprintf(c.out, "%s, for at most %v\n", answer.State, cfg.Node.DrainWithin)
	ctx, cancel := context.WithTimeout(ctx, cfg.Node.DrainWithin+adminTimeout)
	defer cancel()
	return watchDrain(ctx, c, base)
}

// watchDrain shows how many users are left until the node does not answer.
func watchDrain(ctx context.Context, c *console, base string) error {
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	for {
		var cluster clusterView
		err := call(ctx, http.MethodGet, base+"/v1/cluster", &cluster, http.StatusOK)
		switch {
		case ctx.Err() != nil:
			return errors.New("the node still runs; watch its log, or end it with: kith drain --force")
		case errors.Is(err, errNoAnswer):
			if terminal(c.out) {
				fmt.Fprint(c.out, "\r\x1b[K")
			}
			_, err := fmt.Fprintln(c.out, "drained: the node has ended")
			return err
		case err != nil:
			return err
		}
		if terminal(c.out) {
			fmt.Fprintf(c.out, "\r\x1b[K%d users left", cluster.users())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
