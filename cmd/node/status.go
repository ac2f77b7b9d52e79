package main

import (
	"context"
	"fmt"
	"net/http"
	"text/tabwriter"

	"github.com/kith-nearby/kith/gateway"
)

type statusCommand struct {
	adminFlag
	URL string `name:"url" placeholder:"URL" help:"Public port of the node, http://…; by default that of the configuration."`
	source
}

// Help shows examples.
func (statusCommand) Help() string {
	return "It exits 1 if the node does not answer or should get no clients.\n\nExamples:\n\n  kith status --config kith.yaml"
}

// Run asks both ports.
func (cmd *statusCommand) Run(c *console) error {
	cfg, _, err := cmd.load(c, nil)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	var cluster clusterView
	if err := call(ctx, http.MethodGet, cmd.base(&cfg)+"/v1/cluster", &cluster, http.StatusOK); err != nil {
		return err
	}
	public := cmd.URL
	if public == "" {
		public = baseURL(&cfg)
	}
	var ready gateway.ReadyBody
	if err := call(ctx, http.MethodGet, public+"/readyz", &ready, http.StatusOK, http.StatusServiceUnavailable); err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "INSTANCE\tSTATE\tUSERS\tADDRESS\t\n")
	for _, m := range cluster.Members {
		self := ""
		if m.Self {
			self = "this one"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", m.Instance, m.State, m.Users, m.Address, self)
	}
	for _, l := range cluster.Links {
		state := "down"
		if l.Up {
			state = "up"
		}
		fmt.Fprintf(w, "link to %s\t%s\t\t\t\n", l.Peer, state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !ready.Ready {
		return fmt.Errorf("the node is not ready: %s", ready.Reason)
	}
	_, err = fmt.Fprintln(c.out, "ready")
	return err
}
