package kith

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func seqs(p *pending) []uint64 {
	out := []uint64{}
	for _, f := range p.fixes {
		out = append(out, f.Seq)
	}
	return out
}

func sentSeqs(t require.TestingT, text []byte) []uint64 {
	var m struct {
		Type  string
		Seq   uint64
		Fixes []struct{ Seq uint64 }
	}
	require.NoError(t, json.Unmarshal(text, &m))
	if m.Type == "fix" {
		return []uint64{m.Seq}
	}
	require.Equal(t, "fixes", m.Type)
	var out []uint64
	for _, f := range m.Fixes {
		out = append(out, f.Seq)
	}
	return out
}

// TestL1_PendingAgainstTwin compares pending with a plain list of sequence
// numbers and the set of those that are out.
func TestL1_PendingAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "most")
		p := pending{most: most}
		twin, out, next := []uint64{}, map[uint64]bool{}, uint64(0)
		dropped, later := uint64(0), 0
		earlier := map[uint64]bool{} // went out on an earlier connection
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				next++
				p.add(Fix{Seq: next})
				switch {
				case len(twin)+later < most:
				case later > 0:
					later--
					dropped++
				default:
					twin = twin[1:]
					dropped++
				}
				twin = append(twin, next)
			},
			"ack": func(t *rapid.T) {
				seq := rapid.Uint64Range(0, next+1).Draw(t, "seq")
				p.acked(seq)
				for len(twin) > 0 && twin[0] <= seq {
					twin = twin[1:]
				}
			},
			"refuse": func(t *rapid.T) {
				seq := rapid.Uint64Range(0, next+1).Draw(t, "seq")
				forNow, there := rapid.Bool().Draw(t, "for now"), false
				got, reconnect := p.refused(seq, forNow)
				stays := forNow && earlier[seq] // it may be stored: it keeps its Seq
				for i, s := range twin {
					if s == seq {
						there = true
						if !stays {
							twin = append(append([]uint64{}, twin[:i]...), twin[i+1:]...)
						}
						break
					}
				}
				require.Equal(t, there, got)
				require.Equal(t, there && stays, reconnect)
				if there && forNow && !stays {
					later++
				}
			},
			"again": func(t *rapid.T) {
				last := p.again(next)
				require.Equal(t, next+uint64(later), last)
				for ; later > 0; later-- {
					next++
					twin = append(twin, next)
				}
			},
			"reconnect": func(*rapid.T) {
				p.rewind()
				maps.Copy(earlier, out)
				clear(out)
			},
			"send": func(t *rapid.T) {
				text := p.next(rapid.IntRange(100, 400).Draw(t, "frame"))
				want := []uint64{}
				for _, s := range twin {
					if !out[s] {
						want = append(want, s)
					}
				}
				if text == nil {
					require.Empty(t, want)
					return
				}
				got := sentSeqs(t, text)
				require.Equal(t, want[:len(got)], got, "the next in order, none twice, none left out")
				for _, s := range got {
					out[s] = true
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, twin, seqs(&p))
				require.Equal(t, dropped, p.dropped)
				require.Len(t, p.later, later)
				require.LessOrEqual(t, p.len(), most)
			},
		})
	})
}

func TestL2_FramesKeepWithinTheLimit(t *testing.T) {
	p := pending{most: 5000}
	for i := range 2500 {
		p.add(Fix{Seq: uint64(i + 1), Lat: -89.1234567, Lng: 179.1234567, TS: 1_700_000_000_000})
	}
	total := 0
	for text := p.next(65536); text != nil; text = p.next(65536) {
		require.LessOrEqual(t, len(text), 65536)
		n := len(sentSeqs(t, text))
		require.LessOrEqual(t, n, mostFixes)
		total += n
	}
	require.Equal(t, 2500, total)
}

func TestL4_Pauses(t *testing.T) {
	p := pauses{rand: func() float64 { return 0.999 }}
	near := func(want, got time.Duration) {
		t.Helper()
		require.InDelta(t, want.Seconds(), got.Seconds(), 0.05)
	}
	near(500*time.Millisecond, p.next(0, false, false))
	near(time.Second, p.next(0, false, false))
	near(2*time.Second, p.next(59*time.Second, false, true))
	for range 20 {
		p.next(0, false, false)
	}
	near(20*time.Second, p.next(0, false, false))
	near(500*time.Millisecond, p.next(time.Minute, false, true))

	p.suggest(1500)
	require.Equal(t, 1500*time.Millisecond, p.next(0, true, true), "a hint wins over at once")
	require.NotEqual(t, 1500*time.Millisecond, p.next(0, false, false), "and is obeyed once")
	p.suggest(math.MaxInt64)
	require.Equal(t, time.Minute, p.next(0, false, false))
	p.suggest(-5)
	require.Zero(t, p.next(0, false, false))

	fresh := pauses{rand: func() float64 { return 0.5 }}
	require.Zero(t, fresh.next(time.Minute, true, true), "moved: at once")
	require.NotZero(t, fresh.next(time.Second, true, true), "but not in a loop")
	low := pauses{rand: func() float64 { return 0 }}
	require.Zero(t, low.next(0, false, false), "full jitter begins at nothing")
}

func TestL4_CloseCodes(t *testing.T) {
	cases := map[int]verdict{
		4000: never, 4001: newToken, 4002: newToken, 4003: never, 4004: never, 4005: never, 4099: never,
		4100: again, 4101: again, 4199: again, 4200: atOnce, 4299: atOnce,
		1000: again, 1001: again, 1002: never, 1007: never, 1009: never, 1011: again,
	}
	for code, want := range cases {
		got, closed := judge(fmt.Errorf("read: %w", websocket.CloseError{Code: websocket.StatusCode(code), Reason: "why"}))
		require.Equal(t, want, got, code)
		require.Equal(t, &ClosedError{Code: code, Reason: "why"}, closed)
	}
	got, closed := judge(errors.New("connection reset"))
	require.Equal(t, again, got)
	require.Nil(t, closed)
}

func TestFixRefusesWhatJSONCannotCarry(t *testing.T) {
	nan := math.NaN()
	c := New(Options{})
	for _, f := range []Fix{{Lat: nan}, {Lng: math.Inf(1)}, {Accuracy: &nan}, {Battery: &nan}} {
		_, err := c.Fix(f)
		require.ErrorIs(t, err, ErrFix)
	}
	require.Zero(t, c.Stats().Pending)
	a, err := c.Fix(Fix{})
	require.NoError(t, err)
	b, err := c.Fix(Fix{})
	require.NoError(t, err)
	require.Greater(t, b, a)
	require.Less(t, b, uint64(1)<<53, "a JSON number holds it")
}
