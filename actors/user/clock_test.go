package user_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// Clocks are wrong in every way; these are the ways.

func TestU6_ServersClockSetBackFreezesNobody(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 5000, 0))
	tw.world.Faults.Reorder = true // else the World delivers after what it delivered an hour later
	tw.world.Now = tw.world.Now.Add(-time.Hour)
	tw.fix("ann", home)
	tw.fix("bob", geo.Offset(home, 500, 0))
	tw.told("ann", "enter bob 500 m")
}

func TestU6_FixesSentAgainByAFastClockAreNotNewer(t *testing.T) {
	tw, home := pairOf(t, 1000)
	fast := func(seq uint64, at geo.Point) presence.Fix {
		now := presence.Millis(tw.world.Now.UnixMilli())
		return presence.Fix{At: at, Seq: seq, TS: now + 50_000, Sent: now + 50_000}
	}
	five := fast(5, home)
	tw.batch("bob", five)
	tw.told("ann", "enter bob 0 m")
	tw.wait(10 * time.Second)
	six := fast(6, geo.Offset(home, 5000, 0))
	tw.batch("bob", six)
	tw.told("ann", "gone bob away")
	for range 5 {
		tw.wait(10 * time.Second)
		tw.batch("bob", five, six)
		tw.batch("bob", five)
	}
	tw.told("ann")
	require.Equal(t, uint64(5), tw.world.Counts[actors.FixDuplicate])
	require.Equal(t, uint64(10), tw.world.Counts[actors.FixLate])
	tw.batch("bob", fast(1, home)) // installed anew: counts from 1, later by its own clock
	tw.told("ann", "enter bob 0 m")
}

func TestU9_WhoLeavesIsGoneAfterTheGraceWhateverCameBefore(t *testing.T) {
	home := point(t, 37.5, 127)
	start := func() *town {
		tw := newTown(t, 1000, "ann", "bob")
		tw.connect("ann", "phone")
		tw.fix("ann", home)
		return tw
	}
	t.Run("the last words of a replaced connection are no report over HTTP", func(t *testing.T) {
		tw := start()
		old := tw.connect("bob", "phone")
		tw.fix("bob", home)
		conn := tw.connect("bob", "phone")
		tw.world.Send(tw.at("bob"), &actors.Report{Batch: &presence.Batch{Device: "phone", Conn: old, Fixes: []presence.Fix{{At: home, Seq: 99, TS: presence.Millis(tw.world.Now.UnixMilli())}}}})
		tw.disconnect("bob", conn)
		tw.wait(31 * time.Second)
		tw.told("ann", "enter bob 0 m", "gone bob offline")
	})
	t.Run("a tracker over HTTP keeps the user present when a phone has come and gone", func(t *testing.T) {
		tw := start()
		tracker := func() {
			tw.world.Start(tw.at("bob"), &actors.Report{Batch: &presence.Batch{Device: "tracker", Conn: presence.FirstWaiter + 7, Fixes: []presence.Fix{{At: home, Seq: 1, TS: presence.Millis(tw.world.Now.UnixMilli())}}}})
		}
		tracker()
		conn := tw.connect("bob", "phone")
		tw.fix("bob", home)
		tw.disconnect("bob", conn)
		tw.wait(9 * time.Minute)
		tw.told("ann", "enter bob 0 m")
		tw.wait(2 * time.Minute)
		tw.told("ann", "gone bob stale") // and not offline: they see why
		require.False(t, tw.world.Running(tw.at("bob")))
	})
}

func TestU2_InaccurateFirstFixBringsAnEmptyView(t *testing.T) {
	tw := newTown(t, 1000, "ann")
	full := 0
	watch := tw.world.Watch
	tw.world.Watch = func(from actors.Address, e *actors.Effect) {
		watch(from, e)
		if e.Kind == actors.Push && e.Change.Full && len(e.Change.Near) == 0 {
			full++
		}
	}
	tw.connect("ann", "phone")
	tw.fix("ann", point(t, 37.5, 127), accuracy(3000))
	require.Equal(t, 1, full)
	tw.connect("ann", "desk")
	require.Equal(t, 2, full)
}

func TestErasedWhileConnectingIsSentAway(t *testing.T) {
	cfg := user.Default()
	core := user.New(&cfg, 1, 1)
	var out actors.Outbox
	now := time.Unix(1000, 0)
	core.Step(now, &actors.Attach{Conn: 7, Device: "phone"}, &out)
	core.Step(now, &actors.Report{Batch: &presence.Batch{Device: "phone", Conn: 7, Fixes: []presence.Fix{{Seq: 1, TS: presence.Millis(now.UnixMilli())}}}}, &out)
	out.Reset()
	core.Step(now, &actors.FriendsLoaded{Gone: true}, &out)
	require.Equal(t, "close conn=7 4001\nstop\n", out.String())
}

func TestU10_StoreOutdoesAChangeFromBefore(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	tw.revs = 12 // ann blocks bob at 12; the notice of a friendship accepted at 11 comes after it
	tw.world.Loader = noFriends{tw}
	for _, rev := range []uint64{12, 11} {
		for _, side := range [][2]presence.PublicID{{"ann", "bob"}, {"bob", "ann"}} {
			tw.world.Send(tw.at(side[0]), &actors.FriendChanged{
				Friendship: presence.Friendship{Friend: tw.id(side[1]), Rev: rev}, Friends: rev == 11, Reason: presence.Left,
			})
		}
		tw.wait(time.Second)
	}
	tw.told("ann", "gone bob offline")
	owed := tw.world.Counts[actors.Owed]
	tw.fix("bob", home)
	require.Equal(t, owed, tw.world.Counts[actors.Owed])
	require.Zero(t, tw.inspect("bob").Online+tw.inspect("ann").Online)
}

// noFriends is a store in which nobody is friends any more.
type noFriends struct{ *town }

func (n noFriends) LoadFriend(_, friend presence.UserID) *actors.FriendLoaded {
	return &actors.FriendLoaded{Friendship: presence.Friendship{Friend: friend, Rev: n.revs}}
}
