package presence

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestStateAt(t *testing.T) {
	const stale = Millis(600_000)
	tests := []struct {
		name       string
		now, heard Millis
		still      bool
		want       State
	}{
		{"just reported", 1000, 1000, false, Live},
		{"just rested", 1000, 1000, true, Idle},
		{"a millisecond before the end", 1000 + stale - 1, 1000, false, Live},
		{"at the end", 1000 + stale, 1000, false, Stale},
		{"rested, at the end", 1000 + stale, 1000, true, Stale},
		{"long after", 1 << 50, 1000, false, Stale},
		{"the clock was set back", 500, 1000, false, Live},
		{"the clock was set back, resting", 500, 1000, true, Idle},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, StateAt(tt.now, tt.heard, tt.still, stale))
		})
	}
}

func TestStateAt_only_decays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heard := Millis(rapid.Int64Range(0, 1<<42).Draw(t, "heard"))
		stale := Millis(rapid.Int64Range(1, 1<<32).Draw(t, "stale after"))
		still := rapid.Bool().Draw(t, "still")
		now := heard + Millis(rapid.Int64Range(0, 1<<33).Draw(t, "age"))
		later := now + Millis(rapid.Int64Range(0, 1<<33).Draw(t, "later"))
		if StateAt(later, heard, still, stale) < StateAt(now, heard, still, stale) {
			t.Fatal("more present without a report")
		}
	})
}

func TestExitRadius(t *testing.T) {
	for radius, want := range map[float32]float32{
		100: 150, 500: 550, 1000: 1050, 2000: 2100, 8047: 8449.35, 50_000: 52_500,
	} {
		require.InDelta(t, want, ExitRadius(radius), 0.01, "radius %v", radius)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Float32Range(0, 50_000).Draw(t, "radius")
		more := rapid.Float32Range(0, 50_000).Draw(t, "more")
		if ExitRadius(r) < r+50 || ExitRadius(r) < 1.05*r {
			t.Fatalf("the gap at %v closes", r)
		}
		if ExitRadius(r+more) < ExitRadius(r) {
			t.Fatalf("not monotone at %v", r)
		}
	})
}

func TestChange_String(t *testing.T) {
	near := func(user PublicID, state State, precision Mode, entered bool) Near {
		return Near{Position: &Position{User: user, State: state, Precision: precision}, Entered: entered}
	}
	tests := []struct {
		name   string
		change Change
		want   string
	}{
		{"nothing", Change{}, ""},
		{"full and empty", Change{Full: true}, "full"},
		{"moved", Change{Near: []Near{near("bo", Live, Exact, false)}}, "near(bo live exact)"},
		{"entered", Change{Near: []Near{near("bo", Idle, Area, true)}}, "near(bo idle area entered)"},
		{"gone", Change{Gone: []Gone{{"cy", Silent}}}, "gone(cy stale)"},
		{
			"all of it",
			Change{
				Full: true, Near: []Near{near("bo", Live, Exact, true), near("di", Idle, Area, false)},
				Gone: []Gone{{"cy", Away}, {"ed", Left}},
			},
			"full near(bo live exact entered) near(di idle area) gone(cy away) gone(ed offline)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.change.String())
		})
	}
}
