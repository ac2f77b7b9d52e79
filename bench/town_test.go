package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// town is people, who is whose friend, and where everybody lives. People live
// in villages 40 km apart and 4 km across, so that friends of one village are in
// each other's range and others are not. User i has the id i+1.
type town struct {
	homes   []geo.Point
	friends [][]presence.UserID // in order of id
	village []int
	pairs   int // friendships
}

const (
	villageGap  = 40_000 // m
	villageHalf = 2_000  // m
	// walkRadius and walkSteps make a stroll of 42 m a step: 30 s at 1.4 m/s.
	walkRadius = 400 // m
	walkSteps  = 60
)

// newTown gives every one of n people friends at random: near of their own
// village, the rest of others. near = degree puts everybody into one village.
func newTown(n, degree, near, perVillage int) *town {
	t := &town{homes: make([]geo.Point, n), friends: make([][]presence.UserID, n), village: make([]int, n)}
	r := rand.New(rand.NewPCG(1, 2))
	if near == degree {
		perVillage = n
	}
	across := 1
	for across*across*perVillage < n {
		across++
	}
	corner, _ := geo.FromDegrees(45, 5)
	for i := range n {
		v := i / perVillage
		centre := geo.Offset(geo.Offset(corner, float64(v/across)*villageGap, 0), float64(v%across)*villageGap, 90)
		t.village[i] = v
		t.homes[i] = geo.Offset(centre, r.Float64()*(villageHalf-walkRadius), r.Float64()*360)
	}
	for from := 0; from < n; from += perVillage {
		t.befriend(r, numbers(from, min(from+perVillage, n)), near/2, func(a, b int) bool { return true })
	}
	t.befriend(r, numbers(0, n), (degree-near)/2, func(a, b int) bool { return t.village[a] != t.village[b] })
	for i := range t.friends {
		slices.Sort(t.friends[i])
		t.pairs += len(t.friends[i])
	}
	t.pairs /= 2
	return t
}

func numbers(from, to int) []int {
	all := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// befriend lays rings through people in random order, each giving everybody two
// friends. Where next to each other are two who may not or already are friends,
// a later one takes the place.
func (t *town) befriend(r *rand.Rand, people []int, rings int, may func(a, b int) bool) {
	for range rings {
		r.Shuffle(len(people), func(i, j int) { people[i], people[j] = people[j], people[i] })
		for i := range people {
			next := (i + 1) % len(people)
			for j := next; j != 0 && j < len(people); j++ {
				if t.fresh(people[i], people[j]) && may(people[i], people[j]) {
					people[next], people[j] = people[j], people[next]
					break
				}
			}
			if a, b := people[i], people[next]; t.fresh(a, b) && may(a, b) {
				t.friends[a] = append(t.friends[a], presence.UserID(b+1))
				t.friends[b] = append(t.friends[b], presence.UserID(a+1))
			}
		}
	}
}

func (t *town) fresh(a, b int) bool {
	return a != b && !slices.Contains(t.friends[a], presence.UserID(b+1))
}

// stroll is the offsets of a walk round a circle, good enough for the latitudes
// of a town.
var stroll = func() (offsets [walkSteps]geo.Point) {
	middle, _ := geo.FromDegrees(47, 5)
	for i := range offsets {
		p := geo.Offset(middle, walkRadius, float64(i)*360/walkSteps)
		offsets[i] = geo.Point{Lat: p.Lat - middle.Lat, Lng: p.Lng - middle.Lng}
	}
	return offsets
}()

// at is where user i is after so many steps.
func (t *town) at(i, step int) geo.Point {
	o := stroll[(step+7*i)%walkSteps]
	return geo.Point{Lat: t.homes[i].Lat + o.Lat, Lng: t.homes[i].Lng + o.Lng}
}

// publicID is the public id of a user, new each time as from a store.
func publicID(id presence.UserID) presence.PublicID {
	return presence.PublicID(fmt.Sprintf("user%06d", uint64(id)))
}

func device() presence.DeviceID { return presence.DeviceID(strings.Clone("phone")) }

// LoadFriends implements host.Loader.
func (t *town) LoadFriends(_ context.Context, id presence.UserID) *actors.FriendsLoaded {
	mine := t.friends[id-1]
	all := make([]presence.Friendship, len(mine))
	for i, f := range mine {
		all[i] = presence.Friendship{Friend: f, Public: publicID(f), Rev: 1}
	}
	return &actors.FriendsLoaded{Self: publicID(id), Friends: all}
}

// LoadFriend implements host.Loader.
func (t *town) LoadFriend(_ context.Context, id, friend presence.UserID) *actors.FriendLoaded {
	_, friends := slices.BinarySearch(t.friends[id-1], friend)
	return &actors.FriendLoaded{Friendship: presence.Friendship{Friend: friend, Public: publicID(friend), Rev: 1}, Friends: friends}
}

// newFix is a fix as a phone sends it.
func newFix(at geo.Point, seq uint64, now time.Time) presence.Fix {
	ts := presence.Millis(now.UnixMilli())
	return presence.Fix{
		At: at, Seq: seq, TS: ts, Sent: ts,
		Accuracy: 8, Altitude: presence.Unset(), Speed: 1.4, Heading: 90, Battery: 0.8,
	}
}

// report is a fix as the gateway hands it to a user's actor.
func report(user presence.UserID, conn presence.ConnID, dev presence.DeviceID, fix presence.Fix, now time.Time) *actors.Report {
	return &actors.Report{Batch: &presence.Batch{
		User: user, Device: dev, Conn: conn, Fixes: []presence.Fix{fix}, Received: presence.Micros(now.UnixMicro()),
	}}
}
