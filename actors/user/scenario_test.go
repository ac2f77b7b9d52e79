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

// Many of these are reports by users of other systems (research/nearby.md 5).

func pairOf(t *testing.T, radius float32) (*town, geo.Point) {
	tw := newTown(t, radius, "ann", "bob")
	tw.connect("ann", "phone")
	tw.connect("bob", "phone")
	home := point(t, 37.5, 127)
	tw.fix("ann", home)
	return tw, home
}

func TestU1_DistanceDecidesAndNotABox(t *testing.T) {
	tw, _ := pairOf(t, 1000)
	tw.fix("bob", point(t, 37.508903, 127.011222)) // 1 400 m, inside the bounding square
	tw.told("ann")
	tw.fix("bob", point(t, 37.508, 127))
	tw.told("ann", "enter bob 890 m")
	tw.told("bob", "enter ann 890 m")
}

func TestU1_EdgeDoesNotFlicker(t *testing.T) {
	tw, home := pairOf(t, 1000)
	for _, metres := range []float64{995, 1005, 995, 1005, 995, 1049} {
		tw.wait(30 * time.Second)
		tw.fix("bob", geo.Offset(home, metres, 0))
	}
	tw.told("ann", "enter bob 995 m")
	tw.fix("bob", geo.Offset(home, 1051, 0))
	tw.told("ann", "gone bob away")
	tw.told("bob", "enter ann 995 m", "gone ann away")
}

func TestU1_SilentFriendGoesStaleOnceAndComesBack(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 88, 90))
	tw.told("ann", "enter bob 88 m")
	for range 21 {
		tw.fix("ann", home)
		tw.wait(28 * time.Second)
	}
	tw.told("ann") // 598 s
	tw.wait(4 * time.Second)
	tw.told("ann", "gone bob stale")
	tw.wait(time.Hour)
	tw.told("ann")
	tw.fix("bob", geo.Offset(home, 60, 90))
	tw.told("ann", "enter bob 60 m")
}

func TestU1_StillKeepsAFriendWithoutAFix(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	for range 50 {
		tw.wait(30 * time.Second)
		tw.still("bob")
	}
	tw.told("ann", "enter bob 0 m")
	require.Equal(t, presence.Idle, tw.inspect("ann").Near[0].Position.State)
}

func TestU1_WalkingUpToAStillFriendShowsBoth(t *testing.T) {
	tw, home := pairOf(t, 8047)
	tw.fix("bob", geo.Offset(home, 20_000, 0))
	tw.told("ann")
	for metres := 19_900.0; metres > 5000; metres -= 100 { // ann is told where bob is only now and then
		tw.fix("bob", geo.Offset(home, metres, 0))
		tw.still("ann")
	}
	tw.told("ann", "enter bob 8000 m")
	tw.told("bob", "enter ann 8000 m")
}

func TestU1_StartsInside(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 500, 0))
	tw.told("ann", "enter bob 500 m")
	tw.told("bob", "enter ann 500 m")
}

func TestU5_LeavingAndComingBackIsSeenEachTime(t *testing.T) {
	tw, home := pairOf(t, 1000)
	for range 4 {
		for _, metres := range []float64{900, 800, 20_000, 20_500, 500} {
			tw.fix("bob", geo.Offset(home, metres, 0))
		}
		tw.fix("bob", geo.Offset(home, 1100, 0))
	}
	tw.told("ann", "enter bob 900 m", "gone bob away", "enter bob 500 m", "gone bob away",
		"enter bob 900 m", "gone bob away", "enter bob 500 m", "gone bob away",
		"enter bob 900 m", "gone bob away", "enter bob 500 m", "gone bob away",
		"enter bob 900 m", "gone bob away", "enter bob 500 m", "gone bob away")
}

func TestU1_RadiusIsTheViewers(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 3000, 0))
	tw.world.Send(tw.at("ann"), &actors.SetRadius{Radius: 5000})
	tw.wait(time.Second)
	tw.told("ann", "enter bob 3000 m")
	tw.told("bob")
	tw.world.Send(tw.at("ann"), &actors.SetRadius{Radius: 200})
	tw.wait(time.Second)
	require.Empty(t, tw.inspect("ann").Near)
}

func TestU5_FarFriendsAreLeftInPeace(t *testing.T) {
	tw, home := pairOf(t, 8047)
	tw.fix("bob", geo.Offset(home, 200_000, 0))
	before := tw.world.Counts[actors.Owed]
	for i := range 100 {
		tw.fix("bob", geo.Offset(home, 200_000+float64(i*50), 0))
	}
	require.Equal(t, before, tw.world.Counts[actors.Owed], "5 km of walking 190 km away")
}

func TestU6_BurstCountsAsItsNewestFix(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 5000, 0))
	now := presence.Millis(tw.world.Now.UnixMilli())
	tw.batch("bob",
		presence.Fix{At: geo.Offset(home, 5000, 0), Seq: 10, TS: now - 3000},
		presence.Fix{At: home, Seq: 11, TS: now - 2000},
		presence.Fix{At: geo.Offset(home, 5000, 0), Seq: 12, TS: now - 1000})
	tw.told("ann")
	require.Len(t, tw.record[len(tw.record)-1].Fixes, 3, "history has them all")
}

func TestU6_BacklogMovesNobody(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.wait(time.Hour)
	tw.fix("ann", home)
	tw.fix("bob", geo.Offset(home, 5000, 0))
	now := presence.Millis(tw.world.Now.UnixMilli())
	for i := range 20 {
		tw.batch("bob", presence.Fix{At: home, Seq: uint64(100 + i), TS: now - 900_000 + presence.Millis(i*1000)})
	}
	tw.told("ann")
	require.Equal(t, uint64(20), tw.world.Counts[actors.FixLate])
	require.Len(t, tw.record, 23)
}

func TestU6_DuplicateIsRecordedAndChangesNothing(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 500, 0))
	tw.told("ann", "enter bob 500 m")
	b := tw.record[len(tw.record)-1]
	tw.wait(time.Minute)
	tw.batch("bob", b.Fixes...)
	tw.told("ann")
	require.Equal(t, uint64(1), tw.world.Counts[actors.FixDuplicate])
	require.Same(t, &b.Fixes[0], &tw.record[len(tw.record)-1].Fixes[0])
}

func TestU6_ClockAheadDoesNotFreezeADevice(t *testing.T) {
	tw, home := pairOf(t, 1000)
	ahead := func(f *presence.Fix) { f.TS += 50_000; f.Sent = f.TS }
	tw.fix("bob", geo.Offset(home, 5000, 0), ahead)
	tw.wait(10 * time.Second)
	tw.fix("bob", geo.Offset(home, 500, 0)) // the clock was set right
	tw.told("ann", "enter bob 500 m")
}

func TestU7_InaccurateFixMovesNobody(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 500, 0), accuracy(1500))
	tw.told("ann")
	tw.fix("bob", geo.Offset(home, 500, 0), accuracy(999))
	tw.told("ann", "enter bob 500 m")
	tw.fix("bob", geo.Offset(home, 90_000, 0), accuracy(5000))
	tw.told("ann")
	require.InDelta(t, 90_000, tw.inspect("ann").Near[0].Distance, 1, "it is shown where it says it is, with its circle")
	tw.fix("bob", geo.Offset(home, 90_000, 0), accuracy(0)) // 0 = unknown, not inaccurate
	tw.told("ann", "gone bob away")
}

func TestU8_LeapIsHeldUntilItIsPlausible(t *testing.T) {
	leap := func(t *testing.T) (*town, geo.Point) {
		tw, home := pairOf(t, 1000)
		tw.cfg.MaxSpeed, tw.cfg.JumpHold = 100, 10*time.Second
		tw.fix("bob", geo.Offset(home, 500, 0))
		tw.told("ann", "enter bob 500 m")
		tw.wait(5 * time.Second)
		tw.fix("bob", geo.Offset(home, 60_000, 90))
		tw.told("ann")
		return tw, home
	}
	t.Run("contradicted", func(t *testing.T) {
		tw, home := leap(t)
		tw.fix("bob", geo.Offset(home, 510, 0))
		tw.wait(time.Minute)
		tw.told("ann")
	})
	t.Run("confirmed", func(t *testing.T) {
		tw, home := leap(t)
		tw.fix("bob", geo.Offset(home, 60_200, 90))
		tw.told("ann", "gone bob away")
	})
	t.Run("believed in the end", func(t *testing.T) {
		tw, _ := leap(t)
		tw.wait(10 * time.Second)
		tw.told("ann", "gone bob away")
	})
	t.Run("another leap gets no more time", func(t *testing.T) {
		tw, home := leap(t)
		tw.wait(6 * time.Second)
		tw.fix("bob", geo.Offset(home, 90_000, 270))
		tw.told("ann")
		tw.wait(4 * time.Second)
		tw.told("ann", "gone bob away")
	})
	t.Run("forty minutes on the road are no leap", func(t *testing.T) {
		tw, home := leap(t)
		tw.fix("bob", geo.Offset(home, 510, 0))
		tw.wait(9 * time.Minute)
		tw.fix("bob", geo.Offset(home, 50_000, 0))
		tw.told("ann", "gone bob away")
	})
}

func TestU9_ReturnWithinGraceIsNotSeen(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	tw.disconnect("bob", 2)
	tw.wait(29 * time.Second)
	tw.connect("bob", "phone")
	tw.wait(time.Minute)
	tw.told("ann")
	tw.told("bob", "enter ann 0 m")
}

func TestU9_LastOfTwoDevicesIsSeenLeavingOnce(t *testing.T) {
	tw, home := pairOf(t, 1000)
	watch := tw.connect("bob", "watch")
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	tw.disconnect("bob", 2)
	tw.wait(time.Minute)
	tw.told("ann")
	tw.disconnect("bob", watch)
	tw.wait(31 * time.Second)
	tw.told("ann", "gone bob offline")
	require.False(t, tw.world.Running(tw.at("bob")))
	require.Zero(t, tw.inspect("ann").Online, "who is offline takes no memory")
}

func TestU9_SameDeviceReplacesItsOlderConnection(t *testing.T) {
	tw, _ := pairOf(t, 1000)
	tw.connect("ann", "phone")
	tw.told("ann", "close 4003")
	tw.disconnect("ann", 1) // the older one's end, late
	require.Equal(t, 1, tw.inspect("ann").Connections)
}

func TestU13_NinthConnectionClosesTheOldest(t *testing.T) {
	tw := newTown(t, 1000, "ann")
	for i := range user.MaxConns + 1 {
		tw.connect("ann", presence.DeviceID(rune('a'+i)))
	}
	tw.told("ann", "close 4003")
	require.Equal(t, user.MaxConns, tw.inspect("ann").Connections)
	for i := range 100 { // reports of ever new devices are bounded too
		tw.world.Send(tw.at("ann"), &actors.Rest{Device: presence.DeviceID(rune('A' + i))})
	}
	require.Equal(t, user.MaxConns, tw.inspect("ann").Connections)
}

func TestU3_NoneHidesAndGhostHidesFromAll(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	tw.told("bob", "enter ann 0 m")
	tw.share("bob", "ann", presence.None, 0)
	tw.told("ann", "gone bob hidden")
	tw.told("bob", "gone ann hidden") // mutual: you see those who see you
	tw.fix("bob", home)
	tw.told("ann")
	tw.share("bob", "ann", presence.Exact, 0)
	tw.told("ann", "enter bob 0 m")
	tw.told("bob", "enter ann 0 m")
	tw.share("bob", "", presence.None, 0)
	tw.told("ann", "gone bob hidden")
	tw.told("bob", "gone ann hidden")
}

func TestU3_WithoutMutualHidingDoesNotBlind(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.cfg.Mutual = false
	tw.fix("bob", home)
	tw.share("bob", "ann", presence.None, 0)
	tw.told("ann", "enter bob 0 m", "gone bob hidden")
	tw.told("bob", "enter ann 0 m")
	tw.fix("ann", geo.Offset(home, 2000, 0))
	tw.told("bob", "gone ann away")
	tw.fix("ann", home)
	tw.told("bob", "enter ann 0 m")
	tw.told("ann")
}

func TestU5_NobodyEntersOnAnOutdatedPosition(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("bob", "enter ann 0 m")
	tw.share("bob", "ann", presence.None, 0)
	tw.told("bob", "gone ann hidden")
	tw.fix("ann", geo.Offset(home, 50_000, 0)) // bob is not told
	tw.share("bob", "ann", presence.Exact, 0)
	tw.told("bob")
	tw.told("ann", "enter bob 0 m", "gone bob hidden")

	tw.fix("ann", geo.Offset(home, 30_000, 0))
	tw.fix("ann", geo.Offset(home, 28_000, 0)) // within its quiet zone: bob is not told
	tw.fix("bob", geo.Offset(home, 49_500, 0)) // near where ann was, not where she is
	tw.told("bob")
	tw.told("ann")
}

func TestU4_AreaShowsTheGridOnly(t *testing.T) {
	tw, home := pairOf(t, 5000)
	tw.share("bob", "ann", presence.Area, 0)
	tw.fix("bob", geo.Offset(home, 1234, 56), func(f *presence.Fix) { f.Speed, f.Heading, f.Accuracy = 1, 2, 3 })
	shown := tw.inspect("ann").Near[0].Position
	require.Equal(t, presence.Area, shown.Precision)
	require.True(t, shown.At == presence.AreaGrid.Snap(geo.Offset(home, 1234, 56)))
	require.False(t, presence.IsSet(shown.Speed) || presence.IsSet(shown.Heading) || presence.IsSet(shown.Accuracy))
	require.Equal(t, presence.Exact, tw.inspect("bob").Near[0].Position.Precision, "the other way it is exact")
}

func TestU12_ShareEndsByItself(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	soon := presence.Millis(tw.world.Now.Add(time.Minute).UnixMilli())
	tw.share("bob", "ann", presence.Exact, soon)
	tw.wait(time.Minute)
	tw.told("ann", "gone bob hidden") // what was shared for a minute is not shared after it
	tw.share("bob", "ann", presence.Exact, 0)
	tw.told("ann", "enter bob 0 m")
	soon = presence.Millis(tw.world.Now.Add(time.Minute).UnixMilli())
	tw.share("bob", "", presence.None, soon)
	tw.told("ann", "gone bob hidden")
	tw.wait(time.Minute)
	tw.told("ann", "enter bob 0 m") // a ghost for a minute is back after it
}

func TestU10_SettingsTakeEffectInTheOrderOfTheirRev(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	tw.share("bob", "ann", presence.None, 0)
	tw.told("ann", "gone bob hidden")
	tw.world.Send(tw.at("bob"), &actors.ShareChanged{Friend: tw.id("ann"), Rev: tw.revs - 1}) // exact, from before
	tw.wait(time.Second)
	tw.fix("bob", home)
	tw.told("ann")
}

func TestU11_ResyncChangesNothingWhenNothingWasLost(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	for range 3 {
		tw.world.Send(tw.at("ann"), &actors.Resync{})
		tw.world.Send(tw.at("bob"), &actors.Resync{})
		tw.wait(time.Second)
	}
	tw.told("ann")
}

func TestU11_ResyncFindsAFriendWhoVanished(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	tw.world.Crash(tw.at("bob"))
	tw.world.Send(tw.at("ann"), &actors.Resync{})
	tw.wait(time.Second)
	tw.told("ann", "gone bob offline")
}

func TestReportsOverHTTPMakePresentUntilStale(t *testing.T) {
	tw := newTown(t, 1000, "ann", "bob")
	home := point(t, 37.5, 127)
	tw.connect("ann", "phone")
	tw.fix("ann", home)
	tw.fix("bob", home) // has no connection
	tw.told("ann", "enter bob 0 m")
	tw.wait(9 * time.Minute)
	tw.fix("bob", home)
	tw.wait(9 * time.Minute)
	tw.told("ann")
	tw.wait(2 * time.Minute)
	tw.told("ann", "gone bob stale")
	require.False(t, tw.world.Running(tw.at("bob")))
}

func TestErasedUserIsGone(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", home)
	tw.told("ann", "enter bob 0 m")
	answer := tw.world.Ask(tw.at("bob"), func(a actors.Ask) actors.Message { return &actors.Erased{Ask: a} })
	require.Equal(t, true, answer)
	tw.wait(time.Second)
	tw.told("ann", "gone bob offline")
	tw.told("bob", "enter ann 0 m", "close 4001")
	require.False(t, tw.world.Running(tw.at("bob")))
}

func TestDefaultConfigIsValidAndFaultsAreAllNamed(t *testing.T) {
	require.NoError(t, user.Default().Validate())
	err := user.Config{Radius: 5, MaxRadius: 1e9, StaleAfter: 0, Grace: -1, Settle: -1, MaxSpeed: -1, JumpHold: -1}.Validate()
	for _, word := range []string{"radius is 5", "max radius", "stale after", "grace", "settle", "max speed", "jump hold", "retry"} {
		require.ErrorContains(t, err, word)
	}
}
