package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var friendshipTests = []test{
	{"EveryOpFromEveryState", testEveryOp},
	{"S2_S3_S5_S6_LikeTheModel", testLikeModel},
	{"S3_RevRisesOverEndAndBeginning", testRevOverEnd},
	{"S3_SetShareRaisesRevOfBoth", testSetShare},
	{"S5_BlockerDoesNotExist", testBlocker},
	{"RequestsAreOldestFirst", testRequests},
	{"FriendsAreInOrder", testOrder},
	{"MaxFriendsOnBothSides", testMaxFriends},
}

// The states that a pair (a, b) can be in, with how to get there.
var states = map[string][]struct {
	op      store.Op
	flipped bool // b does it
}{
	"strangers":  nil,
	"friends":    {{op: store.Befriend}},
	"a asked b":  {{op: store.Request}},
	"b asked a":  {{op: store.Request, flipped: true}},
	"a blocks b": {{op: store.Block}},
	"b blocks a": {{op: store.Block, flipped: true}},
}

// effect is what an operation by a must do.
type effect struct {
	after string // the state after it; "" = ErrNotFound and no change
	what  store.Outcome
}

var (
	became    = store.Outcome{Became: true}
	ended     = store.Outcome{Ended: true}
	requested = store.Outcome{Requested: true}
	nothing   = store.Outcome{}
)

// effects is the contract of Do, in the order of the operations.
var effects = map[string][7]effect{
	//             Request                  Accept                Decline                  Remove                   Block                    Unblock                  Befriend
	"strangers":  {{"a asked b", requested}, {}, {}, {"strangers", nothing}, {"a blocks b", nothing}, {"strangers", nothing}, {"friends", became}},
	"friends":    {{"friends", nothing}, {"friends", nothing}, {}, {"strangers", ended}, {"a blocks b", ended}, {"friends", nothing}, {"friends", nothing}},
	"a asked b":  {{"a asked b", nothing}, {}, {}, {"strangers", nothing}, {"a blocks b", nothing}, {"a asked b", nothing}, {"friends", became}},
	"b asked a":  {{"friends", became}, {"friends", became}, {"strangers", nothing}, {"b asked a", nothing}, {"a blocks b", nothing}, {"b asked a", nothing}, {"friends", became}},
	"a blocks b": {{"a asked b", requested}, {}, {}, {"a blocks b", nothing}, {"a blocks b", nothing}, {"strangers", nothing}, {"friends", became}},
	"b blocks a": {{}, {}, {}, {}, {}, {}, {"friends", became}},
}

func testEveryOp(t *testing.T, s *fixture) {
	for before, how := range states {
		for op, want := range effects[before] {
			t.Run(fmt.Sprintf("%s/%d", before, op), func(t *testing.T) {
				a, b := s.user(t), s.user(t)
				for _, step := range how {
					if step.flipped {
						s.do(t, step.op, b.ID, a.ID)
					} else {
						s.do(t, step.op, a.ID, b.ID)
					}
				}
				requireState(t, s, before, a, b)
				out, err := s.Do(context.Background(), store.Op(op), a.ID, b.ID)
				if want.after == "" {
					require.ErrorIs(t, err, store.ErrNotFound)
					require.Equal(t, store.Outcome{}, out)
					requireState(t, s, before, a, b)
					return
				}
				require.NoError(t, err)
				requireOutcome(t, want.what, out, a, b)
				requireState(t, s, want.after, a, b)
			})
		}
	}
}

// requireOutcome checks out, A and B included, against which flags must be set.
func requireOutcome(t tb, what, out store.Outcome, a, b store.User) {
	t.Helper()
	if what.Became || what.Ended {
		require.NotZero(t, out.A.Rev)
		mine := presence.Share{}
		if what.Ended {
			mine.Mode = presence.None
		}
		what.A = presence.Friendship{Friend: b.ID, Public: b.Public, Mine: mine, Rev: out.A.Rev}
		what.B = presence.Friendship{Friend: a.ID, Public: a.Public, Mine: mine, Rev: out.B.Rev}
	}
	require.Equal(t, what, out)
}

// requireState finds out in which state a pair is by what its two users see;
// for blocks that is what they may do, tried on the other's account.
func requireState(t tb, s *fixture, want string, a, b store.User) {
	t.Helper()
	_, friendsA := s.friends(t, a.ID)
	_, friendsB := s.friends(t, b.ID)
	require.Equal(t, want == "friends", len(friendsA) == 1, "a has b")
	require.Equal(t, want == "friends", len(friendsB) == 1, "b has a")
	require.Equal(t, want == "a asked b", len(s.requests(t, b.ID)) == 1, "b is asked")
	require.Equal(t, want == "b asked a", len(s.requests(t, a.ID)) == 1, "a is asked")
	// Unblock changes nothing where the other blocks, and nothing where nobody does.
	_, err := s.Do(context.Background(), store.Remove, a.ID, b.ID+1_000_000)
	require.ErrorIs(t, err, store.ErrNotFound)
	if want == "b blocks a" {
		_, err = s.Do(context.Background(), store.Unblock, a.ID, b.ID)
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	if want == "a blocks b" {
		_, err = s.Do(context.Background(), store.Unblock, b.ID, a.ID)
		require.ErrorIs(t, err, store.ErrNotFound)
	} else if want != "b blocks a" {
		s.do(t, store.Unblock, a.ID, b.ID)
		s.do(t, store.Unblock, b.ID, a.ID)
	}
}

func testRevOverEnd(t *testing.T, s *fixture) {
	ctx := context.Background()
	a, b := s.user(t), s.user(t)
	var last uint64
	rises := func(revs ...uint64) {
		t.Helper()
		for _, rev := range revs {
			require.Greater(t, rev, last)
		}
		last = max(revs[0], revs[len(revs)-1])
	}
	for range 3 {
		out := s.do(t, store.Befriend, a.ID, b.ID)
		rises(out.A.Rev, out.B.Rev)
		require.Equal(t, out.A, s.friend(t, a.ID, b.ID))
		require.Equal(t, out.B, s.friend(t, b.ID, a.ID))
		f, err := s.SetShare(ctx, b.ID, a.ID, presence.None, 0)
		require.NoError(t, err)
		rises(f.Rev)
		out = s.do(t, store.Remove, b.ID, a.ID)
		rises(out.A.Rev, out.B.Rev)
		for _, w := range []way{{a.ID, b.ID}, {b.ID, a.ID}} {
			f, err := s.Friend(ctx, w.from, w.to)
			require.ErrorIs(t, err, store.ErrNotFound)
			require.GreaterOrEqual(t, f.Rev, last, "what is no more is as late as its end")
			require.Equal(t, presence.Friendship{Friend: w.to, Rev: f.Rev}, f)
		}
		s.do(t, store.Block, a.ID, b.ID)
		s.do(t, store.Unblock, a.ID, b.ID)
	}
}

func testSetShare(t *testing.T, s *fixture) {
	ctx := context.Background()
	a, b := s.user(t), s.user(t)
	_, err := s.SetShare(ctx, a.ID, b.ID, presence.Area, 0)
	require.ErrorIs(t, err, store.ErrNotFound)
	first := s.do(t, store.Befriend, a.ID, b.ID).A
	area, err := s.SetShare(ctx, a.ID, b.ID, presence.Area, 0)
	require.NoError(t, err)
	require.Equal(t, presence.Share{Mode: presence.Area}, area.Mine)
	require.Greater(t, area.Rev, first.Rev)
	require.Equal(t, area, s.friend(t, a.ID, b.ID))
	other := s.friend(t, b.ID, a.ID)
	require.Equal(t, presence.Share{}, other.Mine, "what b shares is b's")
	require.Greater(t, other.Rev, first.Rev)
	again, err := s.SetShare(ctx, a.ID, b.ID, presence.Area, 0)
	require.NoError(t, err)
	require.Equal(t, area, again, "nothing changed")
	hide, err := s.SetShare(ctx, a.ID, b.ID, presence.None, now+10)
	require.NoError(t, err)
	require.Equal(t, presence.Share{Mode: presence.None, Until: now + 10, Then: presence.Area}, hide.Mine)
	require.Equal(t, hide, s.friend(t, a.ID, b.ID))
}

func testBlocker(t *testing.T, s *fixture) {
	ctx := context.Background()
	a, b := s.user(t), s.user(t)
	s.do(t, store.Befriend, a.ID, b.ID)
	s.do(t, store.Block, b.ID, a.ID)
	_, err := s.Friend(ctx, a.ID, b.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, unknown := s.Do(ctx, store.Request, a.ID, b.ID+100)
	_, blocked := s.Do(ctx, store.Request, a.ID, b.ID)
	require.Equal(t, unknown.Error(), blocked.Error(), "a cannot tell a block from nobody")
	require.Empty(t, s.requests(t, b.ID))
	s.do(t, store.Unblock, b.ID, a.ID)
	require.Equal(t, requested, s.do(t, store.Request, a.ID, b.ID))
}

func testRequests(t *testing.T, s *fixture) {
	asked := s.user(t)
	var askers []store.User
	for range 5 {
		askers = append(askers, s.user(t))
	}
	var want []presence.PublicID
	for _, i := range []int{3, 1, 4, 0, 2} {
		s.do(t, store.Request, askers[i].ID, asked.ID)
		want = append(want, askers[i].Public)
	}
	s.do(t, store.Request, askers[3].ID, asked.ID) // asking again keeps the place
	require.Equal(t, want, s.requests(t, asked.ID))
	for _, limit := range []int{0, 1, 4, 5, 100} {
		got, err := s.Requests(context.Background(), asked.ID, limit)
		require.NoError(t, err)
		require.Equal(t, append([]presence.PublicID(nil), want[5-min(limit, 5):]...), got, "the newest, oldest first")
	}
	s.do(t, store.Decline, asked.ID, askers[1].ID)
	s.do(t, store.Request, askers[1].ID, asked.ID)
	require.Equal(t, append(append(want[:1:1], want[2:]...), want[1]), s.requests(t, asked.ID))
}

func testOrder(t *testing.T, s *fixture) {
	var users []store.User
	for range 6 {
		users = append(users, s.user(t))
	}
	for _, i := range []int{4, 0, 5, 1, 3} {
		s.do(t, store.Befriend, users[2].ID, users[i].ID)
	}
	me, all := s.friends(t, users[2].ID)
	require.Equal(t, users[2], me)
	for i, u := range []int{0, 1, 3, 4, 5} {
		require.Equal(t, users[u].ID, all[i].Friend)
		require.Equal(t, users[u].Public, all[i].Public)
	}
}

func testMaxFriends(t *testing.T, s *fixture) {
	if testing.Short() {
		t.Skip("makes 5 000 friends")
	}
	ctx := context.Background()
	full := s.user(t)
	var one store.User
	for i := range store.MaxFriends - 1 {
		u := s.user(t)
		s.do(t, store.Befriend, full.ID, u.ID)
		if i == 0 {
			one = u
		}
	}
	waits, asks, other := s.user(t), s.user(t), s.user(t)
	s.do(t, store.Request, full.ID, waits.ID)
	_, err := s.Do(ctx, store.Request, full.ID, other.ID)
	require.ErrorIs(t, err, store.ErrTooMany, "what waits counts")
	s.do(t, store.Request, asks.ID, full.ID)
	s.do(t, store.Accept, waits.ID, full.ID)
	for _, try := range []struct {
		op   store.Op
		a, b presence.UserID
	}{
		{store.Befriend, full.ID, other.ID},
		{store.Befriend, other.ID, full.ID},
		{store.Request, full.ID, other.ID},
		{store.Request, full.ID, asks.ID},
		{store.Accept, full.ID, asks.ID},
	} {
		_, err := s.Do(ctx, try.op, try.a, try.b)
		require.ErrorIs(t, err, store.ErrTooMany)
	}
	_, all := s.friends(t, full.ID)
	require.Len(t, all, store.MaxFriends)
	_, all = s.friends(t, other.ID)
	require.Empty(t, all)
	s.do(t, store.Remove, one.ID, full.ID)
	require.True(t, s.do(t, store.Accept, full.ID, asks.ID).Became)
}

// testLikeModel does what a model does too, and compares after each step all
// that can be seen.
func testLikeModel(t *testing.T, s *fixture) {
	rapid.Check(t, func(t *rapid.T) {
		run := &modelRun{fixture: s, model: newModel(), revs: map[way]uint64{}}
		for range 5 {
			run.create(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"do": run.do, "setShare": run.setShare, "setAll": run.setAll,
			"erase": run.eraseOne, "": run.compare,
		})
	})
}

type modelRun struct {
	*fixture
	model *model
	ids   []presence.UserID
	revs  map[way]uint64
}

func (r *modelRun) create(t tb) {
	u := r.user(t)
	r.model.users[u.ID] = u
	r.ids = append(r.ids, u.ID)
}

func (r *modelRun) pick(t *rapid.T, label string) presence.UserID {
	return rapid.SampledFrom(r.ids).Draw(t, label)
}

func (r *modelRun) do(t *rapid.T) {
	op := store.Op(rapid.IntRange(0, int(store.Befriend)).Draw(t, "op"))
	w := way{r.pick(t, "a"), r.pick(t, "b")}
	what, wantErr := r.model.do(op, w)
	out, err := r.Do(context.Background(), op, w.from, w.to)
	if wantErr != nil {
		require.ErrorIs(t, err, wantErr)
		require.Equal(t, store.Outcome{}, out)
		return
	}
	require.NoError(t, err)
	requireOutcome(t, what, out, r.model.users[w.from], r.model.users[w.to])
	if out.Ended {
		r.rises(t, w, out.A.Rev)
		r.rises(t, w.back(), out.B.Rev)
	}
}

// rises notes a new Rev.
func (r *modelRun) rises(t tb, w way, rev uint64) {
	require.Greater(t, rev, r.revs[w], "S3")
	r.revs[w] = rev
}

func (r *modelRun) setShare(t *rapid.T) {
	w := way{r.pick(t, "a"), r.pick(t, "b")}
	mode, until := drawShare(t)
	before, ok := r.model.shares[w]
	f, err := r.SetShare(context.Background(), w.from, w.to, mode, until)
	if !ok {
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	require.NoError(t, err)
	after := presence.NewShare(mode, until, before)
	require.Equal(t, after, f.Mine)
	if after != before {
		r.rises(t, w, f.Rev)
		r.rises(t, w.back(), r.friend(t, w.to, w.from).Rev)
	}
	r.model.shares[w] = after
}

func drawShare(t *rapid.T) (presence.Mode, presence.Millis) {
	mode := presence.Mode(rapid.IntRange(0, int(presence.None)).Draw(t, "mode"))
	return mode, rapid.SampledFrom([]presence.Millis{0, now, now + 1000}).Draw(t, "until")
}

func (r *modelRun) setAll(t *rapid.T) {
	id := r.pick(t, "user")
	mode, until := drawShare(t)
	before, ok := r.model.users[id]
	u, err := r.SetAll(context.Background(), id, mode, until)
	if !ok {
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	require.NoError(t, err)
	want := before
	want.All = presence.NewShare(mode, until, before.All)
	want.AllRev = u.AllRev
	require.Equal(t, want, u)
	require.Equal(t, want.All != before.All, u.AllRev > before.AllRev, "S3")
	r.model.users[id] = u
}

func (r *modelRun) eraseOne(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "rarely") != 0 {
		return
	}
	id := r.pick(t, "user")
	_, ok := r.model.users[id]
	e, err := r.Erase(context.Background(), id)
	if !ok {
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, r.model.erase(id), e.Friends)
	for _, friend := range e.Friends {
		require.Greater(t, e.Rev, r.revs[way{friend, id}], "S3")
	}
	r.create(t)
}

func (r *modelRun) compare(t *rapid.T) {
	for _, id := range r.ids {
		want, ok := r.model.users[id]
		if !ok {
			_, _, err := r.Friends(context.Background(), id)
			require.ErrorIs(t, err, store.ErrNotFound, "S6")
			continue
		}
		u, all := r.friends(t, id)
		require.Equal(t, want, u)
		var friends []presence.UserID
		for _, f := range all {
			w := way{id, f.Friend}
			friends = append(friends, f.Friend)
			require.Equal(t, r.model.shares[w], f.Mine)
			require.Equal(t, r.model.users[f.Friend].Public, f.Public)
			require.GreaterOrEqual(t, f.Rev, r.revs[w], "S3")
			r.revs[w] = f.Rev
		}
		require.Equal(t, r.model.friends(id), friends, "S2")
		require.Equal(t, r.model.requests(id), r.requests(t, id))
	}
}
