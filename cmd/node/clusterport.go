package main

import (
	"context"

	"github.com/kith-nearby/kith/gateway"
)

// cluster implements gateway.Cluster for a single node.
type cluster struct{ node *Node }

// Cluster shows this node, which is all of it.
func (c cluster) Cluster(context.Context) (gateway.ClusterInfo, error) {
	state := "live"
	if phase(c.node.ready.phase.Load()) == draining {
		state = "draining"
	}
	return gateway.ClusterInfo{Members: []gateway.Member{{
		Instance: c.node.instance, Address: c.node.PublicURL(), State: state, Self: true, Users: c.node.host.Users(),
	}}}, nil
}

// Drain asks whoever runs the node to close it.
func (c cluster) Drain(force bool) {
	if force {
		c.node.askForce()
		return
	}
	c.node.askDrain()
}
