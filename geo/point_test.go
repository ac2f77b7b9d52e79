package geo

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mustPoint(t testing.TB, lat, lng float64) Point {
	t.Helper()
	p, err := FromDegrees(lat, lng)
	require.NoError(t, err)
	return p
}

func TestG1_FromDegrees_accepts(t *testing.T) {
	tests := []struct {
		lat, lng float64
		want     Point
	}{
		{0, 0, Point{}},
		{math.Copysign(0, -1), math.Copysign(0, -1), Point{}},
		{37.5665, 126.978, Point{375_665_000, 1_269_780_000}},
		{90, 0, Point{900_000_000, 0}},
		{-90, 0, Point{-900_000_000, 0}},
		{math.Nextafter(90, 0), 0, Point{900_000_000, 0}},
		{0, 180, Point{0, -1_800_000_000}},
		{0, -180, Point{0, -1_800_000_000}},
		{0, 179.999_999_999_999_97, Point{0, -1_800_000_000}}, // rounds onto the meridian
		{0, 179.999_999_9, Point{0, 1_799_999_999}},
		{90, 180, Point{900_000_000, -1_800_000_000}},
		{-1e-300, -1e-300, Point{}},
		{-1e-12, 1e-12, Point{}},
		{0.000_000_05, -0.000_000_05, Point{1, -1}}, // halves round away from zero
		{math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, Point{}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.lat, tt.lng), func(t *testing.T) {
			got, err := FromDegrees(tt.lat, tt.lng)
			require.NoError(t, err)
			require.True(t, got == tt.want, "lat %d lng %d", got.Lat, got.Lng)
			require.True(t, got.Valid())
		})
	}
}

func TestG1_FromDegrees_refuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		lat, lng float64
		want     error
	}{
		{nan, 0, ErrLat},
		{inf, 0, ErrLat},
		{-inf, 0, ErrLat},
		{91, 0, ErrLat},
		{-91, 0, ErrLat},
		{math.Nextafter(90, 91), 0, ErrLat},
		{math.Nextafter(-90, -91), 0, ErrLat},
		{math.MaxFloat64, 0, ErrLat},
		{nan, nan, ErrLat},
		{0, nan, ErrLng},
		{0, inf, ErrLng},
		{0, -inf, ErrLng},
		{0, 181, ErrLng},
		{0, -181, ErrLng},
		{0, math.Nextafter(180, 181), ErrLng},
		{0, math.Nextafter(-180, -181), ErrLng},
		{0, 540, ErrLng}, // a turn too many is a mistake, not a place
		{0, -math.MaxFloat64, ErrLng},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.lat, tt.lng), func(t *testing.T) {
			p, err := FromDegrees(tt.lat, tt.lng)
			require.ErrorIs(t, err, tt.want)
			require.True(t, p == Point{})
		})
	}
}

func TestG1_Degrees_is_a_round_trip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPoint().Draw(t, "p")
		lat, lng := p.Degrees()
		back, err := FromDegrees(lat, lng)
		if err != nil || back != p {
			t.Fatalf("%d,%d came back as %d,%d (%v)", p.Lat, p.Lng, back.Lat, back.Lng, err)
		}
	})
}

func TestG1_Valid(t *testing.T) {
	for _, p := range []Point{{}, {maxLat, -halfLng}, {-maxLat, halfLng - 1}} {
		require.True(t, p.Valid())
	}
	for _, p := range []Point{
		{maxLat + 1, 0},
		{-maxLat - 1, 0},
		{0, halfLng},
		{0, -halfLng - 1},
		{math.MaxInt32, math.MaxInt32},
		{math.MinInt32, math.MinInt32},
	} {
		require.False(t, p.Valid())
	}
}

func TestG1_canonical(t *testing.T) {
	for units, want := range map[int64]int32{
		0: 0, halfLng: -halfLng, -halfLng: -halfLng, halfLng - 1: halfLng - 1, halfLng + 1: -halfLng + 1,
		turn: 0, -turn: 0, turn + 5: 5, -turn - 5: -5, 3 * halfLng: -halfLng, -halfLng - 1: halfLng - 1, 100*turn + 7: 7,
	} {
		require.Equal(t, want, canonical(units), "canonical(%d)", units)
	}
}

func TestG6_no_verb_prints_a_point(t *testing.T) {
	p := mustPoint(t, 37.5665, 126.978)
	wrapped := struct {
		At   Point
		List []Point
		Ptr  *Point
		Map  map[string]Point
	}{p, []Point{p}, &p, map[string]Point{"p": p}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%T", "%08.3f"} {
		for _, value := range []any{p, &p, []Point{p}, [1]Point{p}, wrapped, fmt.Errorf("at %v", p)} {
			out := fmt.Sprintf(verb, value)
			for _, digits := range []string{"3756", "1269", "37.5", "126.", fmt.Sprintf("%x", p.Lat), fmt.Sprintf("%x", p.Lng)} {
				require.NotContains(t, out, digits, "%s of %T", verb, value)
			}
		}
	}
	require.Equal(t, "(hidden)", p.String())
	require.NotContains(t, p.GoString(), "3")
}

func TestG6_JSON_refuses_a_point(t *testing.T) {
	p := mustPoint(t, 37.5665, 126.978)
	for _, value := range []any{p, &p, []Point{p}, struct{ At Point }{p}} {
		out, err := json.Marshal(value)
		require.ErrorIs(t, err, ErrHidden)
		require.Empty(t, out)
		require.False(t, strings.ContainsAny(err.Error(), "0123456789"))
	}
}

func FuzzFromDegrees(f *testing.F) {
	for _, seed := range [][2]float64{
		{0, 0},
		{90, 180},
		{-90, -180},
		{91, 0},
		{0, 181},
		{math.NaN(), 0},
		{math.Inf(1), math.Inf(-1)},
		{89.999_999_95, 179.999_999_95},
		{37.5, 127},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, lat, lng float64) {
		p, err := FromDegrees(lat, lng)
		inRange := lat >= -90 && lat <= 90 && lng >= -180 && lng <= 180
		if inRange != (err == nil) {
			t.Fatalf("in range: %t, error: %v", inRange, err)
		}
		if !p.Valid() {
			t.Fatal("an invalid point came out")
		}
		if err != nil {
			return
		}
		backLat, backLng := p.Degrees()
		// Half a unit, and what a float64 cannot tell apart near 180.
		const most = 0.5/Units + 1e-13
		if math.Abs(backLat-lat) > most || turnBetween(backLng, lng) > most {
			t.Fatal("farther than half a unit from what was given")
		}
	})
}
