package sim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawn(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}

// Nobody leaves their surroundings, or is faster than their gait.
func TestWays_KeepToTheirHabits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gait(rapid.IntRange(0, int(gaits)-1).Draw(t, "gait"))
		h := &habits[g]
		lat, lng := rapid.Float64Range(-70, 70).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lng")
		random := drawn(t)
		w := newWay(g, lat, lng, random)
		moved, rested := false, 0
		for range 5000 {
			north, east := w.north, w.east
			seconds := 0.1 + 30*random.Float64()
			w.step(seconds)
			far := math.Hypot(w.north-north, w.east-east)
			require.LessOrEqual(t, far, h.fastest*seconds+1e-6)
			require.LessOrEqual(t, math.Hypot(w.north, w.east), h.reach+1e-6)
			require.True(t, w.heading >= 0 && w.heading < 360)
			require.False(t, math.IsNaN(w.lat) || math.IsNaN(w.lng))
			moved = moved || far > 0
			if w.speed == 0 {
				rested++
			}
		}
		require.Equal(t, g != staying, moved)
		require.Positive(t, rested, "twenty hours have a pause")
	})
}

func TestParseMix(t *testing.T) {
	m, err := ParseMix("still=40, walk=35,drive=20,train=5")
	require.NoError(t, err)
	require.Equal(t, DefaultMix(), m)
	random, counts := rand.New(rand.NewPCG(1, 1)), [gaits]int{}
	for range 10_000 {
		counts[m.draw(random)]++
	}
	for g, share := range m {
		require.InDelta(t, 100*share, counts[g], 200)
	}
	for _, text := range []string{"", "walk", "walk=x", "fly=1", "walk=-1", "walk=NaN", "walk=0", "walk=1;drive=1"} {
		_, err := ParseMix(text)
		require.Error(t, err, text)
	}
}

func TestPhone_Reports(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	p := newPhone(newWay(walking, 52.5, 13.4, random), Flaws{Duplicates: 0.1, Late: 0.2, Coarse: 0.1}, random)
	first := p.next(1_700_000_000_000, 1, true)
	require.False(t, first.still || first.coarse || first.late != nil, "the first one counts")
	last, n := first.fix.TS, map[string]int{}
	for i := range 5000 {
		r := p.next(1_700_000_000_000+int64(i/2)*100, 30, false)
		if r.still {
			require.Zero(t, p.way.speed)
			n["still"]++
			continue
		}
		n["fix"]++
		require.Greater(t, r.fix.TS, last, "also when the clock stands still")
		require.Equal(t, r.coarse, *r.fix.Accuracy > coarseFrom)
		require.True(t, *r.fix.Battery >= 0 && *r.fix.Battery <= 1)
		require.Equal(t, p.way.speed > 0, r.fix.Speed != nil && r.fix.Heading != nil)
		require.Equal(t, spotAt(r.fix.Lat, r.fix.Lng).vector(), spotAt(spotAt(r.fix.Lat, r.fix.Lng).degrees()).vector())
		if r.late != nil {
			require.Less(t, r.late.TS, last)
			n["late"]++
		}
		if r.twice {
			n["twice"]++
		}
		if r.coarse {
			n["coarse"]++
		}
		last = r.fix.TS
	}
	share := func(what string) float64 { return float64(n[what]) / float64(n["fix"]) }
	require.InDelta(t, 0.2, share("late"), 0.03)
	require.InDelta(t, 0.1, share("twice"), 0.03)
	require.InDelta(t, 0.1, share("coarse"), 0.03)
	require.Positive(t, n["still"])
}
