package geo

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The distances of this table are those of research on other servers' errors:
// pairs at the edge of 8 046.72 m, over ±180° and over a pole.
func TestG2_Distance_known_pairs(t *testing.T) {
	const radius = 8046.72
	tests := []struct {
		lat1, lng1, lat2, lng2 float64
		metres                 float64
		within                 bool
	}{
		{37.5, 127, 37.572359, 127, 8045.96, true},
		{37.5, 127, 37.572373, 127, 8047.52, false},
		{37.5, 127, 37.5, 127.0912, 8045.39, true},
		{37.5, 127, 37.5, 127.0913, 8054.21, false},
		{60, 25, 60, 25.144, 8006.04, true},
		{60, 25, 60, 25.145, 8061.64, false},
		{-16.8, 179.98, -16.8, -179.98, 4257.97, true},
		{0, 179.99, 0, -179.99, 2223.90, true},
		{0, 180, 0, -179.9995, 55.60, true},
		{0, -180, 0, 180, 0, true},
		{89.996, 0, 89.996, 180, 889.56, true},
		{89.99, 0, 89.99, 180, 2223.90, true},
		{89.99, 0, -89.99, 0, 20_012_890.20, false},
		{90, 0, -90, 0, math.Pi * EarthRadius, false},
		{0, 0, 0, 180, math.Pi * EarthRadius, false},
		{90, 0, 90, 120, 0, true}, // one place under two names
		{37.5, 127, 37.508903, 127.011222, 1400, true},
		{37.5, 127, 37.508, 127, 889.56, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.lat1, tt.lng1, tt.lat2, tt.lng2), func(t *testing.T) {
			a, b := mustPoint(t, tt.lat1, tt.lng1), mustPoint(t, tt.lat2, tt.lng2)
			got := Distance(a, b)
			require.InDelta(t, tt.metres, got, 0.5)
			require.InDelta(t, vectorDistance(a, b), got, 0.001)
			require.Equal(t, tt.within, got <= radius)
			require.Equal(t, got, Distance(b, a))
		})
	}
}

func TestG2_Distance_is_symmetric_bounded_and_right(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyPoint().Draw(t, "a")
		b := otherPoint(t, a, "b")
		d, back := Distance(a, b), Distance(b, a)
		if math.Float64bits(d) != math.Float64bits(back) {
			t.Fatalf("there %v, back %v", d, back)
		}
		if !(d >= 0 && d <= math.Pi*EarthRadius) {
			t.Fatalf("%v is out of bounds", d)
		}
		if want := vectorDistance(a, b); math.Abs(d-want) > 0.001 {
			t.Fatalf("%v, oracle %v", d, want)
		}
		// The textbook formula is itself wrong by centimetres near antipodes.
		if want := plainHaversine(a, b); want < 19_000_000 && math.Abs(d-want) > 0.001 {
			t.Fatalf("%v, plain formula %v", d, want)
		}
		if Distance(a, a) != 0 {
			t.Fatal("not 0 from itself")
		}
	})
}

// The fast path must keep its promise of 0.2 mm at its worst: at the limits of
// span and latitude, where what the series leave out is largest.
func TestG2_fast_path_keeps_its_error_bound(t *testing.T) {
	worst, pairs := 0.0, 0
	for lat := int32(-nearPolar); lat <= nearPolar; lat += nearPolar / 89 {
		for dLat := int32(0); dLat <= nearSpan; dLat += nearSpan / 20 {
			for dLng := int32(0); dLng <= nearSpan; dLng += nearSpan / 20 {
				a, b := Point{lat, halfLng - 1}, Point{min(lat+dLat, maxLat), canonical(int64(halfLng - 1 + dLng))}
				if int64(a.Lat)+int64(b.Lat) > 2*nearPolar {
					continue
				}
				pairs++
				worst = max(worst, math.Abs(Distance(a, b)-vectorDistance(a, b)))
			}
		}
	}
	require.Greater(t, pairs, 70_000)
	require.Less(t, worst, 0.0002)
	require.Greater(t, worst, 1e-9, "this is not the fast path")
}

// Leaving the fast path must not make a step that a radius could notice.
func TestG2_no_step_where_the_fast_path_ends(t *testing.T) {
	for lat := -88.0; lat <= 88; lat += 4 {
		a := mustPoint(t, lat, 10)
		for _, d := range []int32{-1, 0, 1} {
			b := Point{a.Lat + 1_000, a.Lng + nearSpan + d}
			require.InDelta(t, vectorDistance(a, b), Distance(a, b), 0.0002)
			c := Point{max(-maxLat, a.Lat-nearSpan-d), a.Lng + 1_000}
			require.InDelta(t, vectorDistance(a, c), Distance(a, c), 0.0002)
		}
	}
	for _, d := range []int32{-1, 0, 1} {
		a, b := Point{nearPolar + d, 0}, Point{nearPolar, nearSpan}
		require.InDelta(t, vectorDistance(a, b), Distance(a, b), 0.0002)
	}
}

func TestG2_Distance_of_neighbours_is_not_zero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyPoint().Draw(t, "a")
		b := nudge(t, a, "b")
		if a.Lat != b.Lat && Distance(a, b) < 0.011 {
			t.Fatalf("a step of latitude is 1.1 cm, not %v", Distance(a, b))
		}
	})
}

func TestG3_triangle_inequality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyPoint().Draw(t, "a")
		b := otherPoint(t, a, "b")
		c := otherPoint(t, b, "c")
		ab, bc, ac := Distance(a, b), Distance(b, c), Distance(a, c)
		if ac > ab+bc+0.001 || ab > ac+bc+0.001 || bc > ab+ac+0.001 {
			t.Fatalf("ab %v, bc %v, ac %v", ab, bc, ac)
		}
	})
}

func TestBearing_known(t *testing.T) {
	tests := []struct {
		name                   string
		lat1, lng1, lat2, lng2 float64
		want                   float64
	}{
		{"same place", 10, 10, 10, 10, 0},
		{"north", 10, 10, 11, 10, 0},
		{"east on the equator", 0, 10, 0, 11, 90},
		{"south", 10, 10, 9, 10, 180},
		{"west on the equator", 0, 10, 0, 9, 270},
		{"east over ±180", 0, 179.9, 0, -179.9, 90},
		{"west over ±180", 0, -179.9, 0, 179.9, 270},
		{"over the north pole", 89, 0, 89, 180, 0},
		{"over the south pole", -89, 0, -89, 180, 180},
		{"from the north pole", 90, 0, 89, 90, 90},
		{"to the north pole", 37, 127, 90, 0, 0},
		{"to the south pole", 37, 127, -90, 0, 180},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Bearing(mustPoint(t, tt.lat1, tt.lng1), mustPoint(t, tt.lat2, tt.lng2))
			require.GreaterOrEqual(t, got, 0.0)
			require.Less(t, got, 360.0)
			require.Less(t, turnBetween(got, tt.want), 1e-6, "got %v", got)
		})
	}
}

func TestBearing_against_vectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyPoint().Draw(t, "a")
		b := otherPoint(t, a, "b")
		got := Bearing(a, b)
		if !(got >= 0 && got < 360) {
			t.Fatalf("%v is no bearing", got)
		}
		// Where all ways lead to b, or b is a unit away, no bearing is right.
		d := Distance(a, b)
		if d < 1 || d > math.Pi*EarthRadius-1 {
			return
		}
		if want := vectorBearing(a, b); turnBetween(got, want) > 1e-5 {
			t.Fatalf("%v, oracle %v", got, want)
		}
	})
}

func TestOffset_is_a_round_trip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPoint().Draw(t, "p")
		metres := rapid.Float64Range(0, math.Pi*EarthRadius).Draw(t, "metres")
		bearing := rapid.Float64Range(0, 360).Draw(t, "bearing")
		q := Offset(p, metres, bearing)
		if !q.Valid() {
			t.Fatalf("%d,%d is no point", q.Lat, q.Lng)
		}
		// Rounding to units moves q by at most 8 mm; asin loses up to 10 cm of
		// latitude next to a pole.
		slack := 0.01
		if q.Lat > maxLat-10_000 || q.Lat < -maxLat+10_000 {
			slack = 0.2
		}
		if d := Distance(p, q); math.Abs(d-metres) > slack {
			t.Fatalf("asked for %v m, got %v", metres, d)
		}
		if metres < 1000 || metres > 19_000_000 || p.Lat > maxLat-1_000_000 || p.Lat < -maxLat+1_000_000 {
			return
		}
		if got := Bearing(p, q); turnBetween(got, bearing) > 0.02 {
			t.Fatalf("asked for %v°, got %v", bearing, got)
		}
	})
}

func TestOffset_of_what_is_no_number_stays(t *testing.T) {
	p := mustPoint(t, 37.5, 127)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.True(t, Offset(p, bad, 0) == p)
		require.True(t, Offset(p, 1, bad) == p)
	}
}
