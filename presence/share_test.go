package presence

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseMode(t *testing.T) {
	for name, want := range map[string]Mode{"exact": Exact, "area": Area, "none": None} {
		got, err := ParseMode(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"", "Exact", "exact ", "city", "0"} {
		got, err := ParseMode(bad)
		require.ErrorIs(t, err, ErrMode)
		require.Equal(t, None, got, "a mode that is not understood shows nothing")
	}
}

func TestTighter(t *testing.T) {
	modes := []Mode{Exact, Area, None} // from the most to the least revealing
	for i, a := range modes {
		for j, b := range modes {
			require.Equal(t, modes[max(i, j)], Tighter(a, b))
		}
	}
}

func TestNewShare(t *testing.T) {
	var (
		always    = Share{Mode: Exact}
		area      = Share{Mode: Area}
		hidden    = Share{Mode: None}
		exactTill = Share{Mode: Exact, Until: 500, Then: None}
		ghostTill = Share{Mode: None, Until: 500, Then: Exact}
	)
	tests := []struct {
		name   string
		mode   Mode
		until  Millis
		before Share
		want   Share
	}{
		{"for good", Area, 0, always, Share{Mode: Area}},
		{"for good, forgetting an end", Exact, 0, exactTill, always},
		{"none for good", None, 0, always, hidden},
		{"exact for a time", Exact, 100, always, Share{Exact, 100, None}},
		{"exact for a time after none", Exact, 100, hidden, Share{Exact, 100, None}},
		{"area for a time", Area, 100, always, Share{Area, 100, None}},
		{"none for a time returns to exact", None, 100, always, Share{None, 100, Exact}},
		{"none for a time returns to area", None, 100, area, Share{None, 100, Area}},
		{"none for a time stays none", None, 100, hidden, hiddenTill(100)},
		// Exact until 500 must not come back at 100 with no end.
		{"none inside a timed share ends it", None, 100, exactTill, hiddenTill(100)},
		{"none past the end of a timed share", None, 900, exactTill, hiddenTill(900)},
		{"ghost time made shorter", None, 100, ghostTill, Share{None, 100, Exact}},
		{"ghost time made longer", None, 900, ghostTill, Share{None, 900, Exact}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, NewShare(tt.mode, tt.until, tt.before))
		})
	}
}

func hiddenTill(until Millis) Share { return Share{Mode: None, Until: until, Then: None} }

func TestShare_At(t *testing.T) {
	s := Share{Mode: Area, Until: 100, Then: None}
	require.Equal(t, Area, s.At(0))
	require.Equal(t, Area, s.At(99))
	require.Equal(t, None, s.At(100), "the end belongs to what comes after")
	require.Equal(t, None, s.At(1<<60))

	for _, now := range []Millis{-1, 0, 1, 1 << 60} {
		require.Equal(t, Exact, Share{}.At(now), "the zero Share is exact without end")
		require.Equal(t, None, Share{Mode: None, Then: Exact}.At(now), "without an end, Then never comes")
	}
}

// Whatever a user asks for, one request after the other: once an end has come,
// nobody sees more than was allowed for good.
func TestNewShare_never_shows_more_than_was_meant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			share Share
			now   Millis
			// lasting is the twin: the mode last asked for without an end, or None
			// once a timed share of exact or area has taken its place.
			lasting Mode
		)
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			now += Millis(rapid.IntRange(0, 1000).Draw(t, "pause"))
			mode := Mode(rapid.IntRange(0, 2).Draw(t, "mode"))
			var until Millis
			if rapid.Bool().Draw(t, "timed") {
				until = now + Millis(rapid.IntRange(1, 2000).Draw(t, "for"))
			}
			share = NewShare(mode, until, share)
			switch {
			case until == 0:
				lasting = mode
			case mode != None:
				lasting = None
			}
			if got := share.At(now); got != mode {
				t.Fatalf("asked for %v, got %v", mode, got)
			}
			if until != 0 && share.At(until-1) != mode {
				t.Fatal("it ends too early")
			}
			if got := share.At(now + 1<<40); got != lasting {
				t.Fatalf("in the long run %v, meant was %v", got, lasting)
			}
		}
	})
}
