package main

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"github.com/kith-nearby/kith/actors/host"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// inspector implements gateway.Inspector by asking the users' actors, and the
// store for names.
type inspector struct {
	views
	friends store.Friendships
}

// Sample asks some users for their state.
func (i inspector) Sample(ctx context.Context, n int) (out gateway.Sample, err error) {
	ids, err := i.host.Sample(ctx, n)
	if err != nil {
		return out, err
	}
	states := make([]presence.State, len(ids))
	err = spread(len(ids), viewAskers, func(k int) error {
		s, here, err := i.inspect(ctx, ids[k], false)
		if states[k] = s.State; !here {
			states[k] = presence.Offline // stopped meanwhile
		}
		return err
	})
	for _, s := range states {
		switch s {
		case presence.Live:
			out.Live++
		case presence.Idle:
			out.Idle++
		case presence.Stale:
			out.Stale++
		}
	}
	out.Of = out.Live + out.Idle + out.Stale
	return out, err
}

// Look tells about one user. The store being away takes only the names.
func (i inspector) Look(ctx context.Context, public presence.PublicID) (gateway.UserLook, error) {
	ids, err := i.names.resolve(ctx, []presence.PublicID{public})
	if err != nil {
		return gateway.UserLook{}, edge(err)
	}
	if ids[0] == 0 {
		return gateway.UserLook{}, gateway.ErrNotFound
	}
	s, here, err := i.inspect(ctx, ids[0], true)
	if err != nil {
		return gateway.UserLook{}, err
	}
	look := gateway.UserLook{Online: len(s.Friends)}
	if here {
		look.Session, look.State, look.Heard, look.Radius = s.Session, s.State, s.Heard, s.Radius
	}
	for _, d := range s.Devices {
		look.Devices = append(look.Devices, gateway.DeviceLook(d))
	}
	_, rows, err := i.friends.Friends(ctx, ids[0])
	if err != nil {
		look.Unnamed = true
		return look, nil
	}
	look.Friends = friendLooks(s.Friends, rows)
	look.Offline = max(0, len(rows)-len(s.Friends))
	return look, nil
}

// friendLooks names the friends who are online, the nearest standings first.
func friendLooks(online []user.FriendState, rows []presence.Friendship) []gateway.FriendLook {
	named := make(map[presence.UserID]presence.PublicID, len(rows))
	for _, row := range rows {
		named[row.Friend] = row.Public
	}
	online = slices.DeleteFunc(slices.Clone(online), func(f user.FriendState) bool { return named[f.User] == "" })
	slices.SortFunc(online, func(a, b user.FriendState) int {
		return cmp.Or(cmp.Compare(a.Standing, b.Standing), cmp.Compare(named[a.User], named[b.User]))
	})
	online = online[:min(len(online), gateway.MostFriendLooks)]
	looks := make([]gateway.FriendLook, len(online))
	for k, f := range online {
		looks[k] = gateway.FriendLook{
			User: named[f.User], Standing: f.Standing.String(), Distance: f.Distance, Share: f.Mine, Heard: f.Heard,
		}
	}
	return looks
}

// queues is what the operator sees as queues, with the bounds of this node.
func queues() []gateway.Queue {
	h, w, api := host.Default(), store.DefaultWriterConfig(), gateway.DefaultHTTPConfig()
	return []gateway.Queue{
		{
			Name: "messages between users", Depth: []string{"kith_shard_queue"}, Bound: h.HighWater * runtime.GOMAXPROCS(0),
			Drops: []string{"kith_admit_timeouts_total"}, Full: "sockets are read more slowly; counted is who waited too long and went on",
		},
		{
			Name: "fixes not on disk", Depth: []string{"kith_history_queued_rows"}, Bound: w.QueueRows,
			Drops: []string{"kith_history_dropped_rows_total"}, Full: "they get no ack; clients keep them and send them again",
		},
		{
			Name: "reads of friendships", Depth: []string{"kith_loads_queued"}, Bound: h.LoadQueue,
			Drops: []string{"kith_loads_refused_total"}, Full: "they are tried again later",
		},
		{Name: "questions to users", Depth: []string{"kith_asks_pending"}, Bound: h.Asks, Full: "calls get 503"},
		{
			Name: "HTTP calls, public port", Depth: []string{"kith_http_busy", "port", "public"}, Bound: api.InFlight,
			Drops: []string{"kith_http_refused_full_total", "port", "public"}, Full: "more get 503",
		},
		{Name: "HTTP calls that wait for the disk", Depth: []string{"kith_waiters"}, Bound: api.InFlight, Full: "as above"},
		{Name: "batches without an ack", Depth: []string{"kith_waiting_acks"}, Full: "bounded by the fixes not on disk"},
		{
			Name: "sockets being written to", Depth: []string{"kith_flushing_connections"}, Drops: []string{"kith_slow_closes_total"},
			Full: "who reads nothing for 10 s is closed with 4101",
		},
	}
}

func (n *Node) inspector() inspector {
	return inspector{views{n.host, n.accounts.names, n.instance}, n.store}
}

func (n *Node) openStats(context.Context) (func(context.Context) error, error) {
	n.stats = gateway.StartStats(gateway.StatsConfig{
		Instance: n.instance.String(), Version: versionName(), Ready: n.ready, Users: n.inspector(), Queues: queues(), Now: n.now,
	}, n.metrics, n.log)
	return func(context.Context) error {
		n.stats.Close()
		return nil
	}, nil
}
