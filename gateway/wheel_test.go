package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The wheel does what a list of due times would.
func TestGW10_TheWheelForgetsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWheel(8)
		conns := make([]Conn, 6)
		twin := map[*Conn]int64{}
		for i := range conns {
			conns[i].spoke.conn = &conns[i]
		}
		now := int64(rapid.IntRange(0, 20).Draw(t, "start"))
		w.advance(now, nil)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			c := &conns[rapid.IntRange(0, len(conns)-1).Draw(t, "conn")]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				at := now + int64(rapid.IntRange(-3, 40).Draw(t, "at"))
				w.set(&c.spoke, at)
				twin[c] = max(at, now+1)
			case 2:
				w.clear(&c.spoke)
				delete(twin, c)
			default:
				now += int64(rapid.IntRange(0, 25).Draw(t, "advance"))
				want := map[*Conn]bool{}
				for c, at := range twin {
					if at <= now {
						want[c] = true
						delete(twin, c)
					}
				}
				got := map[*Conn]bool{}
				for _, c := range w.advance(now, nil) {
					require.False(t, got[c], "woken twice")
					got[c] = true
				}
				require.Equal(t, len(want), len(got))
				for c := range want {
					require.True(t, got[c])
				}
			}
			require.Equal(t, len(twin), w.held)
		}
	})
}

func BenchmarkWheelSet(b *testing.B) {
	w := newWheel(wheelSlots)
	c := &Conn{}
	c.spoke.conn = c
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		w.set(&c.spoke, i+250)
	}
}
