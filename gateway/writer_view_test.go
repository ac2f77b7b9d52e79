package gateway

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/presence"
)

// viewer is the dumbest client: it applies what it is sent.
type viewer map[presence.PublicID]*presence.Position

func (v viewer) apply(t require.TestingT, full bool, near []presence.Near, gone []presence.Gone) {
	if full {
		clear(v)
	}
	for i := range near {
		v[near[i].Position.User] = near[i].Position
	}
	for _, g := range gone {
		require.Contains(t, v, g.User, "gone without having been near")
		delete(v, g.User)
	}
}

// world makes changes as an actor would: gone only for who is near, entered on
// the transition.
type world struct {
	near  map[presence.PublicID]*presence.Position
	drawn int
}

func (w *world) change(t *rapid.T) *presence.Change {
	c := &presence.Change{Full: rapid.IntRange(0, 9).Draw(t, "full") == 0}
	if c.Full && rapid.Bool().Draw(t, "forget") {
		clear(w.near)
	}
	touched := map[presence.PublicID]bool{}
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		user := presence.PublicID(fmt.Sprintf("u%d", rapid.IntRange(0, 30).Draw(t, "user")))
		if touched[user] {
			continue
		}
		touched[user] = true
		if w.near[user] != nil && !c.Full && rapid.Bool().Draw(t, "leaves") {
			delete(w.near, user)
			c.Gone = append(c.Gone, presence.Gone{User: user, Reason: presence.Away})
			continue
		}
		w.drawn++
		p := &presence.Position{User: user, TS: presence.Millis(w.drawn)}
		entered := w.near[user] == nil
		w.near[user] = p
		if !c.Full {
			c.Near = append(c.Near, presence.Near{Position: p, Entered: entered})
		}
	}
	if c.Full {
		for _, p := range w.near {
			c.Near = append(c.Near, presence.Near{Position: p})
		}
	}
	return c
}

// However changes and pages interleave, a client ends with what the actor sees,
// is never told that somebody left whom it did not know, and nothing waits that
// is more than one entry for each friend.
func TestGW14_ConflationIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{near: map[presence.PublicID]*presence.Position{}}
		var v view
		client := viewer{}
		take := func(most int) {
			full, near, gone := v.take(most, nil, nil)
			require.LessOrEqual(t, len(near)+len(gone), most)
			client.apply(t, full, near, gone)
		}
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			if rapid.Bool().Draw(t, "push") {
				v.apply(w.change(t))
			} else if !v.empty() {
				take(rapid.IntRange(1, 10).Draw(t, "most"))
			}
			require.LessOrEqual(t, len(v.entries), 31)
			waiting := 0
			for i := range v.entries {
				if v.entries[i].what != tellNothing {
					waiting++
				}
			}
			require.Equal(t, waiting, v.waiting)
		}
		for !v.empty() {
			take(7)
		}
		require.Equal(t, len(w.near), len(client))
		for user, p := range w.near {
			require.Same(t, p, client[user], user)
		}
	})
}

func TestGW14_NetEffects(t *testing.T) {
	in := func(user presence.PublicID, entered bool) *presence.Change {
		return &presence.Change{Near: []presence.Near{{Position: &presence.Position{User: user}, Entered: entered}}}
	}
	out := func(user presence.PublicID) *presence.Change {
		return &presence.Change{Gone: []presence.Gone{{User: user, Reason: presence.Away}}}
	}
	full := func(users ...presence.PublicID) *presence.Change {
		c := &presence.Change{Full: true}
		for _, u := range users {
			c.Near = append(c.Near, presence.Near{Position: &presence.Position{User: u}})
		}
		return c
	}
	for name, row := range map[string]struct {
		changes []*presence.Change
		want    string
	}{
		"in and out is nothing":             {[]*presence.Change{in("a", true), out("a")}, ""},
		"in, out, in is one entry":          {[]*presence.Change{in("a", true), out("a"), in("a", true)}, "near a entered"},
		"entered survives a move":           {[]*presence.Change{in("a", true), in("a", false)}, "near a entered"},
		"a move stays a move":               {[]*presence.Change{in("a", false), in("a", false)}, "near a"},
		"a known one who leaves is gone":    {[]*presence.Change{in("a", false), out("a")}, "gone a"},
		"gone, then entered again":          {[]*presence.Change{out("a"), in("a", true)}, "near a entered"},
		"gone, entered, gone is gone":       {[]*presence.Change{out("a"), in("a", true), out("a")}, "gone a"},
		"full replaces":                     {[]*presence.Change{in("a", false), out("b"), full("c")}, "full near c"},
		"full keeps what was not said":      {[]*presence.Change{in("a", true), full("a")}, "full near a entered"},
		"leaving a full view is being left": {[]*presence.Change{full("a", "b"), out("a")}, "full near b"},
		"an empty full view is said":        {[]*presence.Change{full("a"), out("a")}, "full"},
	} {
		var v view
		for _, c := range row.changes {
			v.apply(c)
		}
		got := ""
		if !v.empty() {
			isFull, near, gone := v.take(100, nil, nil)
			got = (&presence.Change{Full: isFull}).String()
			for _, n := range near {
				got += " near " + string(n.Position.User)
				if n.Entered {
					got += " entered"
				}
			}
			for _, g := range gone {
				got += " gone " + string(g.User)
			}
		}
		if len(got) > 0 && got[0] == ' ' {
			got = got[1:]
		}
		require.Equal(t, row.want, got, name)
		require.True(t, v.empty(), name)
	}
}

func TestGW14_WhoWaitsLongestIsToldFirst(t *testing.T) {
	var v view
	for i := range 400 {
		v.apply(&presence.Change{Near: []presence.Near{{Position: &presence.Position{User: presence.PublicID(fmt.Sprintf("u%d", i))}}}})
	}
	told := map[presence.PublicID]int{}
	for round := range 40 { // 400 friends keep moving, a tenth of them is read in each round
		_, near, _ := v.take(40, nil, nil)
		for i := range near {
			told[near[i].Position.User]++
		}
		for i := range 400 {
			n := v.apply(&presence.Change{Near: []presence.Near{{Position: &presence.Position{User: presence.PublicID(fmt.Sprintf("u%d", i)), TS: presence.Millis(round)}}}})
			require.LessOrEqual(t, n, 1)
		}
		require.LessOrEqual(t, len(v.entries), 400)
	}
	require.Len(t, told, 400)
	for user, n := range told {
		require.Equal(t, 4, n, user)
	}
}

func BenchmarkViewOneMove(b *testing.B) {
	var v view
	c := &presence.Change{Near: []presence.Near{near("bob", 1, false)}}
	var page []presence.Near
	b.ReportAllocs()
	for b.Loop() {
		v.apply(c)
		_, page, _ = v.take(100, page[:0], nil)
	}
}
