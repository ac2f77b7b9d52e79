package user_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/actorstest"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// worlds is how many random worlds a run tries: few in the inner loop, the
// 10 000 of the promise when KITH_WORLDS says so.
func worlds(t *testing.T) (first, count uint64) {
	count = 400
	if testing.Short() {
		count = 100
	}
	if s := os.Getenv("KITH_WORLDS"); s != "" {
		n, err := strconv.ParseUint(s, 10, 32)
		require.NoError(t, err, "KITH_WORLDS is a number of worlds")
		count = n
	}
	if s := os.Getenv("KITH_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "KITH_SEED is a number")
		return n, 1
	}
	return 1, count
}

// At rest, every user's view is the twin's, whatever happened on the way; and on
// the way nobody is told more than they may know (U1 to U5, U9 to U12).
func TestU1_ViewsEqualTheTwinsInRandomWorlds(t *testing.T) {
	first, count := worlds(t)
	var sum [actors.Counters]uint64
	for seed := first; seed < first+count; seed++ {
		s := newScene(seed)
		s.world.Tracing = count == 1
		if !s.play() {
			if count == 1 {
				t.Log(s.world.Story())
			}
			t.Fatalf("seed %d: %s\nrun again with KITH_SEED=%d", seed, s.failure, seed)
		}
		for i := range sum {
			sum[i] += s.world.Counts[i]
		}
	}
	t.Logf("%d worlds: entered %d, owed %d, avoided %d, held %d, late told %d",
		count, sum[actors.Entered], sum[actors.Owed], sum[actors.Avoided], sum[actors.FixHeld], sum[actors.ToldLate])
	if count >= 100 {
		for _, c := range []actors.Counter{actors.Entered, actors.Owed, actors.Avoided, actors.FixHeld, actors.FixLate, actors.FixCoarse, actors.ToldLate, actors.GoneFor(presence.Away), actors.GoneFor(presence.Silent), actors.GoneFor(presence.Left), actors.GoneFor(presence.Hidden), actors.GoneFor(presence.Unfriended)} {
			require.NotZero(t, sum[c], "counter %d: the worlds are too tame to prove anything", c)
		}
	}
}

// scene is one random world with its twin.
type scene struct {
	twin
	world   *actorstest.World
	rng     *rand.Rand
	clients map[presence.ConnID]*client
	conns   presence.ConnID
	centre  geo.Point
	quiet   bool // no change of settings is under way
	failure string
}

func newScene(seed uint64) *scene {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w := actorstest.NewWorld(seed, start)
	s := &scene{world: w, rng: w.Rand, clients: map[presence.ConnID]*client{}, quiet: true}
	s.cfg = user.Default()
	s.cfg.Mutual = s.rng.IntN(3) > 0
	s.cfg.Grace = time.Duration(s.rng.IntN(60)) * time.Second
	if s.rng.IntN(2) == 0 {
		s.cfg.MaxSpeed = 0
	}
	if s.rng.IntN(4) == 0 {
		s.cfg.Settle = 0
	}
	s.friends = map[[2]presence.UserID]*pair{}
	s.centre = s.somewhere()
	for i := range 2 + s.rng.IntN(2+s.rng.IntN(38)) {
		id := presence.UserID(i + 1)
		s.people = append(s.people, &person{id: id, public: presence.PublicID(fmt.Sprintf("p%d", id))})
	}
	for _, a := range s.people {
		for _, b := range s.people {
			if a.id < b.id && s.rng.IntN(3) > 0 {
				pair, _ := s.pair(a.id, b.id)
				pair.friends, pair.rev = true, 1
			}
		}
	}
	w.Loader = loader{s}
	w.Factory = func(to actors.Address, now time.Time) actors.Core {
		return user.New(&s.cfg, presence.UserID(to.ID), presence.Session(now.UnixMicro())+presence.Session(s.rng.IntN(900)))
	}
	w.Watch = s.watch
	w.Faults = actorstest.Faults{Delay: time.Duration(1+s.rng.IntN(3000)) * time.Millisecond, Reorder: s.rng.IntN(2) == 0}
	if s.rng.IntN(2) == 0 {
		w.Faults.Duplicate, w.Faults.Drop = s.rng.Float64()*0.3, s.rng.Float64()*0.3
	}
	return s
}

// somewhere is where a world plays: anywhere, at the antimeridian, or at a pole.
func (s *scene) somewhere() geo.Point {
	lat, lng := s.rng.Float64()*160-80, s.rng.Float64()*360-180
	switch s.rng.IntN(4) {
	case 0:
		lng = 180
	case 1:
		lat = []float64{90, -90, 89.99}[s.rng.IntN(3)]
	}
	p, err := geo.FromDegrees(lat, lng)
	if err != nil {
		panic(err)
	}
	return p
}

func (s *scene) now() presence.Millis { return presence.Millis(s.world.Now.UnixMilli()) }

func (s *scene) fail(format string, args ...any) {
	if s.failure == "" {
		s.failure = fmt.Sprintf(format, args...)
	}
}

// play lets things happen, with a look at everything now and then.
func (s *scene) play() bool {
	for range 2 + s.rng.IntN(5) {
		for range 5 + s.rng.IntN(30) {
			s.happen(s.people[s.rng.IntN(len(s.people))])
			if s.rng.IntN(3) == 0 {
				s.pass(time.Duration(s.rng.IntN(40_000)) * time.Millisecond)
			}
		}
		if s.rng.IntN(8) == 0 {
			s.pass(s.cfg.StaleAfter)
		}
		faults := s.world.Faults
		s.world.Faults = actorstest.Faults{}
		s.pass(faults.Delay*3 + 4*time.Second) // the last losses, and the resync after them
		s.world.Rest(0)
		s.world.Faults = faults
		s.quiet = true
		s.compare()
		if s.failure != "" {
			return false
		}
	}
	return true
}

// pass lets time pass in steps, so that the twin misses nothing.
func (s *scene) pass(d time.Duration) {
	for d > 0 {
		step := min(d, 500*time.Millisecond)
		s.world.RunFor(step)
		s.twin.pass(s.now())
		d -= step
	}
}

func (s *scene) compare() {
	for _, viewer := range s.people {
		if viewer.running != s.world.Running(actors.User(viewer.id)) {
			s.fail("%s: running is %t, not %t", viewer.public, !viewer.running, viewer.running)
			return
		}
		if !viewer.running {
			continue
		}
		snapshot := s.world.Ask(actors.User(viewer.id), func(a actors.Ask) actors.Message { return &actors.Inspect{Ask: a} }).(user.Snapshot)
		view := map[presence.PublicID]bool{}
		for _, n := range snapshot.Near {
			view[n.Position.User] = true
		}
		for _, friend := range s.people {
			if friend == viewer {
				continue
			}
			v := s.verdict(viewer, friend, s.now())
			if (v == must && !view[friend.public]) || (v == mustNot && view[friend.public]) {
				s.fail("at %s %s sees %s: %t; the twin says otherwise: %.1f m, radius %.0f, share %v, heard %d ms ago, mutual=%t, max speed %.0f",
					s.world.Now.Format("15:04:05.000"), viewer.public, friend.public, view[friend.public], geo.Distance(viewer.at, friend.at), viewer.radius,
					s.mode(friend, viewer, s.now()), s.now()-friend.heard, s.cfg.Mutual, s.cfg.MaxSpeed)
			}
		}
		s.compareClients(viewer, view)
	}
}

func (s *scene) compareClients(viewer *person, view map[presence.PublicID]bool) {
	for _, c := range viewer.conns {
		for _, fault := range c.faults {
			s.fail("%s: client: %s", viewer.public, fault)
		}
		if viewer.located && len(c.view) != len(view) {
			s.fail("%s: client shows %d friends, the view has %d", viewer.public, len(c.view), len(view))
		}
		for name := range c.view {
			if !view[name] {
				s.fail("%s: client shows %s, who is not in the view", viewer.public, name)
			}
		}
	}
}

// watch looks at every effect: what clients get, and that nobody is told what
// they may not know.
func (s *scene) watch(from actors.Address, e *actors.Effect) {
	switch e.Kind {
	case actors.Welcome:
		s.clients[e.Conn].welcome = true
	case actors.Push:
		s.clients[e.Conn].push(e.Change)
	case actors.Close:
		c := s.clients[e.Conn]
		for device, other := range c.owner.conns {
			if other == c {
				delete(c.owner.conns, device)
			}
		}
	case actors.Send:
		if told, ok := e.Message.(*actors.Told); ok && told.Kind == actors.AtPosition {
			s.watchTold(s.people[from.ID-1], s.people[e.To.ID-1], told)
		}
	}
}

func (s *scene) watchTold(from, to *person, told *actors.Told) {
	onGrid := told.At == presence.AreaGrid.Snap(told.At) && told.Position.At == presence.AreaGrid.Snap(told.Position.At)
	if told.Position.Precision == presence.Area && (!onGrid || presence.IsSet(told.Position.Speed) || presence.IsSet(told.Position.Heading) || presence.IsSet(told.Position.Accuracy)) {
		s.fail("%s tells %s more than an area", from.public, to.public)
	}
	if !s.quiet {
		return
	}
	switch s.mode(from, to, s.now()) {
	case presence.None:
		s.fail("%s tells %s where it is, and does not share", from.public, to.public)
	case presence.Area:
		if told.Position.Precision != presence.Area {
			s.fail("%s tells %s exactly, and shares an area", from.public, to.public)
		}
	}
}

// loader reads the twin's friendships.
type loader struct{ s *scene }

func (l loader) LoadFriends(id presence.UserID) *actors.FriendsLoaded {
	if l.s.rng.IntN(20) == 0 && l.s.world.Faults.Delay > 0 {
		return &actors.FriendsLoaded{Err: fmt.Errorf("the database is away")}
	}
	me := l.s.people[id-1]
	m := &actors.FriendsLoaded{Self: me.public, All: me.all, AllRev: me.allRev}
	for _, p := range l.s.people {
		if f, friends := l.row(id, p.id); friends {
			m.Friends = append(m.Friends, f)
		}
	}
	return m
}

func (l loader) LoadFriend(id, friend presence.UserID) *actors.FriendLoaded {
	f, friends := l.row(id, friend)
	m := &actors.FriendLoaded{Friendship: f, Friends: friends}
	if l.s.rng.IntN(20) == 0 && l.s.world.Faults.Delay > 0 {
		m.Err = fmt.Errorf("the database is away")
	}
	return m
}

func (l loader) row(id, friend presence.UserID) (presence.Friendship, bool) {
	f := presence.Friendship{Friend: friend, Public: l.s.people[friend-1].public}
	if id == friend {
		return f, false
	}
	pair, side := l.s.pair(id, friend)
	f.Rev = pair.rev
	if pair.friends {
		f.Mine = pair.share[side]
	}
	return f, pair.friends
}
