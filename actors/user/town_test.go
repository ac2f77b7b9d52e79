package user_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/actorstest"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// town is a world without faults in which everybody is friends, for scenarios
// told step by step.
type town struct {
	t      *testing.T
	world  *actorstest.World
	cfg    user.Config
	names  []presence.PublicID
	shares map[[2]presence.UserID]presence.Share
	seqs   map[presence.UserID]uint64
	revs   uint64
	conns  presence.ConnID
	events map[presence.PublicID][]string // what each user's clients were told
	owners map[presence.ConnID]presence.PublicID
	phones map[presence.PublicID]presence.ConnID // where reports come from
	record []*presence.Batch
}

func newTown(t *testing.T, radius float32, names ...presence.PublicID) *town {
	w := actorstest.NewWorld(1, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	tw := &town{
		t: t, world: w, cfg: user.Default(), names: names, shares: map[[2]presence.UserID]presence.Share{},
		seqs: map[presence.UserID]uint64{}, revs: 1, events: map[presence.PublicID][]string{}, owners: map[presence.ConnID]presence.PublicID{},
		phones: map[presence.PublicID]presence.ConnID{},
	}
	tw.cfg.Radius, tw.cfg.MaxSpeed = radius, 0
	w.Loader = tw
	w.Factory = func(to actors.Address, now time.Time) actors.Core {
		return user.New(&tw.cfg, presence.UserID(to.ID), presence.Session(now.UnixMicro()))
	}
	w.Watch = tw.watch
	return tw
}

func (tw *town) id(name presence.PublicID) presence.UserID {
	for i, n := range tw.names {
		if n == name {
			return presence.UserID(i + 1)
		}
	}
	tw.t.Fatalf("nobody is called %s", name)
	return 0
}

func (tw *town) at(name presence.PublicID) actors.Address { return actors.User(tw.id(name)) }

func (tw *town) row(id, friend presence.UserID) presence.Friendship {
	return presence.Friendship{Friend: friend, Public: tw.names[friend-1], Mine: tw.shares[[2]presence.UserID{id, friend}], Rev: tw.revs}
}

func (tw *town) LoadFriends(id presence.UserID) *actors.FriendsLoaded {
	m := &actors.FriendsLoaded{Self: tw.names[id-1], All: tw.shares[[2]presence.UserID{id, 0}], AllRev: tw.revs}
	for i := range tw.names {
		if friend := presence.UserID(i + 1); friend != id {
			m.Friends = append(m.Friends, tw.row(id, friend))
		}
	}
	return m
}

func (tw *town) LoadFriend(id, friend presence.UserID) *actors.FriendLoaded {
	return &actors.FriendLoaded{Friendship: tw.row(id, friend), Friends: true}
}

func (tw *town) watch(_ actors.Address, e *actors.Effect) {
	note := func(format string, args ...any) {
		name := tw.owners[e.Conn]
		tw.events[name] = append(tw.events[name], fmt.Sprintf(format, args...))
	}
	switch e.Kind {
	case actors.Push:
		for _, n := range e.Change.Near {
			if n.Entered {
				note("enter %s %.0f m", n.Position.User, n.Distance)
			}
		}
		for _, g := range e.Change.Gone {
			note("gone %s %s", g.User, g.Reason)
		}
	case actors.Close:
		note("close %d", e.Code)
	case actors.Record:
		tw.record = append(tw.record, e.Batch)
	}
}

// connect attaches a device and returns its connection.
func (tw *town) connect(name presence.PublicID, device presence.DeviceID) presence.ConnID {
	tw.conns++
	tw.owners[tw.conns] = name
	if device == "phone" {
		tw.phones[name] = tw.conns
	}
	tw.world.Start(tw.at(name), &actors.Attach{Conn: tw.conns, Device: device})
	return tw.conns
}

func (tw *town) disconnect(name presence.PublicID, conn presence.ConnID) {
	tw.world.Send(tw.at(name), &actors.Detach{Conn: conn})
}

// fix reports a position now; change may make it another fix.
func (tw *town) fix(name presence.PublicID, at geo.Point, change ...func(*presence.Fix)) {
	id := tw.id(name)
	tw.seqs[id]++
	fix := presence.Fix{
		At: at, Seq: tw.seqs[id], TS: presence.Millis(tw.world.Now.UnixMilli()), Accuracy: presence.Unset(),
		Altitude: presence.Unset(), Speed: presence.Unset(), Heading: presence.Unset(), Battery: presence.Unset(),
	}
	for _, c := range change {
		c(&fix)
	}
	tw.batch(name, fix)
}

func (tw *town) batch(name presence.PublicID, fixes ...presence.Fix) {
	tw.world.Start(tw.at(name), &actors.Report{Batch: &presence.Batch{User: tw.id(name), Device: "phone", Conn: tw.phones[name], Fixes: fixes}})
	tw.wait(500 * time.Millisecond)
}

func (tw *town) still(name presence.PublicID) {
	tw.world.Send(tw.at(name), &actors.Rest{Device: "phone", Conn: tw.phones[name]})
	tw.wait(500 * time.Millisecond)
}

func (tw *town) share(name, friend presence.PublicID, mode presence.Mode, until presence.Millis) {
	tw.revs++
	id, other := tw.id(name), presence.UserID(0)
	if friend != "" {
		other = tw.id(friend)
	}
	key := [2]presence.UserID{id, other}
	tw.shares[key] = presence.NewShare(mode, until, tw.shares[key])
	tw.world.Send(tw.at(name), &actors.ShareChanged{Friend: other, Share: tw.shares[key], Rev: tw.revs})
	tw.wait(500 * time.Millisecond)
}

func (tw *town) wait(d time.Duration) { tw.world.RunFor(d) }

// told requires what name's clients were told since the last call.
func (tw *town) told(name presence.PublicID, want ...string) {
	tw.t.Helper()
	require.Equal(tw.t, want, tw.events[name], "what %s was told", name)
	delete(tw.events, name)
}

func (tw *town) inspect(name presence.PublicID) user.Snapshot {
	s, ok := tw.world.Ask(tw.at(name), func(a actors.Ask) actors.Message { return &actors.Inspect{Ask: a} }).(user.Snapshot)
	require.True(tw.t, ok, "%s does not run", name)
	return s
}

func point(t *testing.T, lat, lng float64) geo.Point {
	p, err := geo.FromDegrees(lat, lng)
	require.NoError(t, err)
	return p
}

func accuracy(metres float32) func(*presence.Fix) {
	return func(f *presence.Fix) { f.Accuracy = metres }
}
