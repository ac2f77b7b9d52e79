package host

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
)

// stepped is what time.Now gives after the wall clock was set by so many seconds:
// the monotonic reading goes on. Nothing but the clock itself can make such a
// time, so this writes the seconds where the time package keeps them.
func stepped(seconds int64) time.Time {
	t := time.Now()
	word := (*uint64)(unsafe.Pointer(&t))
	*word = uint64(int64(*word) + seconds<<30)
	return t
}

func TestStepped(t *testing.T) {
	for _, s := range []int64{-3600, 0, 60} {
		now, set := time.Now(), stepped(s)
		require.Less(t, set.Sub(now), time.Second, "monotonic time goes on")
		require.InDelta(t, float64(s), set.Round(0).Sub(now.Round(0)).Seconds(), 1)
	}
}

// TestH6_TimersOutliveASetClock: whatever the wall clock is set to while the host
// runs, a timer that is armed afterwards comes after the time that it was to
// wait, once; one armed before comes too, and a Core that is not satisfied with
// the time of day and asks again is not woken in a loop.
func TestH6_TimersOutliveASetClock(t *testing.T) {
	for _, step := range []int64{-3600, -3, 0, 3, 3600} {
		var jump atomic.Int64
		cfg := Default()
		cfg.Tick = time.Millisecond
		cfg.Now = func() time.Time { return stepped(jump.Load()) }
		ticks := make(chan time.Time, 1<<16)
		factory := func(uint64, time.Time) actors.Core {
			c := &toyCore{}
			var due time.Time
			c.step = func(now time.Time, m actors.Message, out *actors.Outbox) {
				switch m.(type) {
				case *actors.Tick:
					ticks <- now
					if now.Round(0).Before(due) {
						out.Timer(due)
					}
				case *actors.Resync: // arm
					due = time.UnixMilli(now.Add(50 * time.Millisecond).UnixMilli())
					out.Timer(due)
				}
			}
			return c
		}
		h := newHost(t, cfg, &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: factory})
		arm := func() time.Time {
			h.Start(user(1), &actors.Resync{})
			return time.Now()
		}
		jump.Store(step)
		h.Wake()
		began := arm()
		select {
		case <-ticks:
		case <-time.After(10 * time.Second):
			t.Fatalf("after a step of %d s the timer does not come", step)
		}
		require.GreaterOrEqual(t, time.Since(began), 48*time.Millisecond)

		// One armed before the step: it comes, and is not asked for in a loop.
		arm()
		jump.Store(0)
		if step < 0 { // forward again
			select {
			case <-ticks:
			case <-time.After(10 * time.Second):
				t.Fatalf("after a step of %d s the timer does not come", -step)
			}
		}
		closeHost(t, h)
		require.Less(t, len(ticks), 5, "woken in a loop after a step of %d s", step)
	}
}
