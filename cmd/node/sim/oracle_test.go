package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// play lets four people come, move and go for two minutes, judges now and then,
// and then all of them at rest.
func (w *twin) play() {
	people := len(w.people)
	for step := range 600 {
		w.run(time.Duration(step) * 200 * time.Millisecond)
		i := int32(w.random.IntN(people))
		switch what := w.random.Float64(); {
		case what < 0.3:
			w.report(i)
		case what < 0.4:
			w.connect(i)
		case what < 0.43:
			w.disconnect(i)
		case what < 0.8:
			w.judge(i)
		}
	}
	for i := range people {
		w.connect(int32(i))
	}
	w.run(w.now + 3*time.Second)
	for i := range people {
		w.report(int32(i)) // a position in each session
	}
	w.run(w.now + time.Minute)
	w.rest = true
	for i := range people {
		w.judge(int32(i))
	}
}

// TestM2_ARightServerHasNoFaults plays with delays up to what is tolerated.
func TestM2_ARightServerHasNoFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwin(rapid.Uint64().Draw(t, "seed"), 4, "")
		w.play()
		require.Empty(t, w.faults)
		require.Greater(t, w.pairs, 20)
	})
}

// TestM3_AtRestEachPairIsJudged counts the judgements after everything.
func TestM3_AtRestEachPairIsJudged(t *testing.T) {
	for seed := range uint64(50) {
		w := newTwin(seed, 4, "")
		w.play()
		w.pairs = 0
		for i := range w.people {
			w.judge(int32(i))
		}
		require.Equal(t, 4*3, w.pairs)
	}
}

// TestOracle_FindsEachLie plays with servers that are wrong in one way.
func TestOracle_FindsEachLie(t *testing.T) {
	for lie, want := range map[string]string{
		"hides":               "missing: is near and not shown",
		"keeps the far":       "ghost: is too far away",
		"keeps the gone":      "ghost: is offline",
		"moves":               "wrong: is shown where they never were",
		"stretches":           "wrong: is shown at a distance that is not so",
		"turns":               "wrong: is shown at a distance that is not so",
		"gives wrong reasons": "wrong: is said to be offline and is there",
		"stays behind":        "wrong: is shown where they were before",
	} {
		t.Run(lie, func(t *testing.T) {
			found := map[string]int{}
			for seed := range uint64(20) {
				w := newTwin(seed, 4, lie)
				w.play()
				for _, f := range w.faults {
					found[f.Kind+": "+f.Why]++
				}
			}
			require.Contains(t, found, want, "%v", found)
		})
	}
}

// TestOracle_CountsAFaultOnce judges the same view again and again.
func TestOracle_CountsAFaultOnce(t *testing.T) {
	w := newTwin(1, 2, "")
	for i := range w.people {
		w.connect(int32(i))
	}
	w.run(5 * time.Second)
	for i, p := range w.people {
		tr := w.oracle.tracks[i]
		at := spotAt(52, 13)
		tr.report(mark{seq: 1, ts: 1, at: at, is: live, sent: w.now})
		p.unsent = append(p.unsent, 0)
		w.deliver(int32(i), 0)
	}
	w.run(20 * time.Second)
	w.judge(0)
	require.Empty(t, w.faults)
	view := w.people[0].view
	w.people[0].view = map[int32]seen{}
	w.judge(0)
	w.people[0].view = view
	w.run(w.now + time.Second)
	w.judge(0)
	require.Empty(t, w.faults, "what passes is no fault")
	w.people[0].view = map[int32]seen{}
	for range 8 {
		w.judge(0)
		w.run(w.now + time.Second)
	}
	require.Len(t, w.faults, 1)
	require.Equal(t, Fault{Kind: "missing", Why: "is near and not shown", Viewer: "ada", Friend: "adam", At: 23 * time.Second}, w.faults[0])
	w.people[0].view = view
	w.judge(0)
	w.people[0].view, w.rest = map[int32]seen{}, true
	w.judge(0)
	require.Len(t, w.faults, 2, "it was away in between, and at rest it counts at once")
}
