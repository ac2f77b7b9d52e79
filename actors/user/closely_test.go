package user_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

func (tw *town) closely(name presence.PublicID) user.Snapshot {
	s, ok := tw.world.Ask(tw.at(name), func(a actors.Ask) actors.Message { return &actors.Inspect{Ask: a, Closely: true} }).(user.Snapshot)
	require.True(tw.t, ok, "%s does not run", name)
	return s
}

func TestInspectCloselySaysHowFriendsStand(t *testing.T) {
	tw := newTown(t, 1000, "ann", "bob", "cid", "dan", "eve", "fay", "off")
	home := point(t, 37.5665432, 126.9780987)
	for _, name := range []presence.PublicID{"ann", "bob", "cid", "dan", "eve", "fay"} {
		tw.connect(name, "phone")
	}
	watch := tw.connect("ann", "watch")
	tw.disconnect("ann", watch)
	tw.fix("ann", home)
	tw.fix("bob", geo.Offset(home, 400, 10))
	tw.fix("cid", geo.Offset(home, 1040, 200)) // beyond the radius, within the exit radius
	tw.fix("dan", geo.Offset(home, 250_000, 90))
	tw.fix("eve", geo.Offset(home, 30, 0))
	tw.share("eve", "ann", presence.None, 0)
	tw.wait(time.Second)

	s := tw.closely("ann")
	stands := map[presence.UserID]string{}
	for _, f := range s.Friends {
		stands[f.User] = f.Standing.String() + " " + f.Distance
	}
	require.Equal(t, map[presence.UserID]string{
		tw.id("bob"): "near ", tw.id("cid"): "in range ", tw.id("dan"): "far hundreds of km",
		tw.id("eve"): "hidden ", tw.id("fay"): "unknown ",
	}, stands, "off is offline")
	for _, f := range s.Friends {
		require.Equal(t, f.User == tw.id("bob") || f.User == tw.id("cid"), f.Heard != 0, "%d", f.User)
		require.Equal(t, presence.Exact, f.Mine)
	}
	require.Len(t, s.Devices, 2)
	require.Equal(t, presence.DeviceID("phone"), s.Devices[0].Device)
	require.Equal(t, tw.phones["ann"], s.Devices[0].Conn)
	require.NotZero(t, s.Devices[0].Last)
	require.Equal(t, user.DeviceState{Device: "watch"}, s.Devices[1], "it is not connected and has sent nothing")
	printed := fmt.Sprintf("%+v %+v", s.Friends, s.Devices)
	for _, digits := range []string{"37.5", "126.9", "3756", "1269"} {
		require.NotContains(t, printed, digits)
	}

	tw.share("ann", "bob", presence.None, 0)
	require.Equal(t, user.StandsHidden, tw.closely("ann").Friends[0].Standing)
	require.Equal(t, presence.None, tw.closely("ann").Friends[0].Mine)
	plain := tw.inspect("ann")
	require.Nil(t, plain.Friends)
	require.Nil(t, plain.Devices)
}

func TestInspectCloselyIsVague(t *testing.T) {
	for metres, word := range map[float64]string{9_000: "tens of km", 99_000: "tens of km", 101_000: "hundreds of km", 2e6: "thousands of km"} {
		tw := newTown(t, 1000, "ann", "bob")
		home := point(t, 0, 0)
		tw.connect("ann", "phone")
		tw.connect("bob", "phone")
		tw.fix("ann", home)
		tw.fix("bob", geo.Offset(home, metres, 45))
		require.Equal(t, word, tw.closely("ann").Friends[0].Distance)
	}
}

// Asking changes nothing that anybody sees.
func TestInspectCloselyTellsNobody(t *testing.T) {
	tw, home := pairOf(t, 1000)
	tw.fix("bob", geo.Offset(home, 500, 0))
	tw.told("ann", "enter bob 500 m")
	before := tw.world.Counts
	for range 10 {
		tw.closely("ann")
	}
	tw.wait(time.Second)
	require.Equal(t, before, tw.world.Counts)
	tw.told("ann")
}
