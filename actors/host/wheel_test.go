package host

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestH5_WheelAgainstTwin drives the wheel and a plain map side by side.
func TestH5_WheelAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Wheel
		twin := map[uint32]uint64{}
		now := uint64(0)
		horizon := rapid.SampledFrom([]uint64{3, 70, 5000, 1 << 20, 1 << 40, math.MaxUint64 / 4}).Draw(t, "horizon")
		ids := rapid.Uint32Range(0, 1200)
		steps := rapid.IntRange(1, 200).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0, 1:
				i, at := ids.Draw(t, "i"), now+rapid.Uint64Range(0, horizon).Draw(t, "in")
				if rapid.IntRange(0, 9).Draw(t, "past") == 0 {
					at = now / 2
				}
				w.Arm(i, at)
				twin[i] = max(at, now)
			case 2:
				i := ids.Draw(t, "i")
				w.Cancel(i)
				delete(twin, i)
			case 3:
				now += rapid.Uint64Range(0, horizon).Draw(t, "forward")
				require.Equal(t, dueIn(twin, now), expireAll(&w, now))
			}
			require.Equal(t, len(twin), w.Len())
			requireNext(t, &w, twin)
		}
		require.Equal(t, dueIn(twin, math.MaxUint64), expireAll(&w, math.MaxUint64))
		require.Zero(t, w.Len())
	})
}

func dueIn(twin map[uint32]uint64, now uint64) []uint32 {
	var due []uint32
	for i, at := range twin {
		if at <= now {
			due = append(due, i)
			delete(twin, i)
		}
	}
	slices.Sort(due)
	return due
}

func expireAll(w *Wheel, now uint64) []uint32 {
	var got []uint32
	for {
		i, ok := w.Expire(now)
		if !ok {
			slices.Sort(got)
			return got
		}
		got = append(got, i)
	}
}

func requireNext(t *rapid.T, w *Wheel, twin map[uint32]uint64) {
	tick, ok := w.Next()
	require.Equal(t, len(twin) > 0, ok)
	for _, at := range twin {
		require.LessOrEqual(t, tick, at)
	}
}

// TestH5_WheelFiresInOrder: timers come out by tick, those of one tick in the
// order in which they were armed.
func TestH5_WheelFiresInOrder(t *testing.T) {
	var w Wheel
	for i, at := range []uint64{9, 2, 9, 9, 70, 2} {
		w.Arm(uint32(i), at)
	}
	var got []uint32
	for {
		i, ok := w.Expire(10)
		if !ok {
			break
		}
		got = append(got, i)
	}
	require.Equal(t, []uint32{1, 5, 0, 2, 3}, got)
}

// TestH5_WheelBetweenExpires: what is armed, moved or cancelled while timers
// come out counts at once.
func TestH5_WheelBetweenExpires(t *testing.T) {
	var w Wheel
	for i := range uint32(300) {
		w.Arm(i, 5000) // two levels up, so that they are moved down together
	}
	seen := map[uint32]bool{}
	for {
		i, ok := w.Expire(5000)
		if !ok {
			break
		}
		require.False(t, seen[i])
		seen[i] = true
		w.Cancel((i + 1) % 300)
		w.Arm((i+2)%300, 6000)
	}
	require.Len(t, seen, 100)
	require.Equal(t, 100, w.Len())
}

func TestH5_WheelArmsWithoutAllocating(t *testing.T) {
	var w Wheel
	now, i := uint64(0), uint32(0)
	w.Arm(999, 1)
	require.Zero(t, testing.AllocsPerRun(5000, func() {
		i = (i + 1) % 1000
		w.Arm(i, now+60_000)
		now += 7
		w.Expire(now)
	}))
}

func BenchmarkWheelRearm(b *testing.B) {
	var w Wheel
	const n = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	order := r.Perm(n)
	now := uint64(0)
	for i := 0; b.Loop(); i++ {
		w.Arm(uint32(order[i%n]), now+60_000)
		if i%64 == 0 {
			now++
			for {
				if _, ok := w.Expire(now); !ok {
					break
				}
			}
		}
	}
}

func BenchmarkWheelArmAndFire(b *testing.B) {
	var w Wheel
	now := uint64(0)
	for i := 0; b.Loop(); i++ {
		w.Arm(uint32(i%100_000), now+3_000)
		if i%32 == 0 {
			now++
			for {
				if _, ok := w.Expire(now); !ok {
					break
				}
			}
		}
	}
}
