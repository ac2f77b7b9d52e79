package geo

import (
	"math"

	"pgregory.net/rapid"
)

// vector is the oracle's form of a point: a unit vector. It shares no formula
// with the code under test.
type vector [3]float64

func toVector(p Point) vector {
	lat, lng := p.Degrees()
	sinLat, cosLat := math.Sincos(lat * math.Pi / 180)
	sinLng, cosLng := math.Sincos(lng * math.Pi / 180)
	return vector{cosLat * cosLng, cosLat * sinLng, sinLat}
}

func (v vector) dot(w vector) float64 { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] }

func (v vector) cross(w vector) vector {
	return vector{v[1]*w[2] - v[2]*w[1], v[2]*w[0] - v[0]*w[2], v[0]*w[1] - v[1]*w[0]}
}

func (v vector) length() float64 { return math.Sqrt(v.dot(v)) }

// vectorDistance is the angle between two vectors times the radius; its error
// is a few nanometres everywhere, also at 0 and at antipodes.
func vectorDistance(a, b Point) float64 {
	v, w := toVector(a), toVector(b)
	return EarthRadius * math.Atan2(v.cross(w).length(), v.dot(w))
}

// plainHaversine is the textbook formula in degrees.
func plainHaversine(a, b Point) float64 {
	lat1, lng1 := a.Degrees()
	lat2, lng2 := b.Degrees()
	const rad = math.Pi / 180
	s, t := math.Sin((lat2-lat1)*rad/2), math.Sin((lng2-lng1)*rad/2)
	h := s*s + math.Cos(lat1*rad)*math.Cos(lat2*rad)*t*t
	return 2 * EarthRadius * math.Asin(math.Min(1, math.Sqrt(h)))
}

// vectorBearing projects b onto the plane that touches the sphere at a.
func vectorBearing(a, b Point) float64 {
	v, w := toVector(a), toVector(b)
	_, lng := a.Degrees()
	sin, cos := math.Sincos(lng * math.Pi / 180)
	east := vector{-sin, cos, 0}
	north := v.cross(east)
	deg := math.Atan2(w.dot(east), w.dot(north)) * 180 / math.Pi
	return math.Mod(deg+360, 360)
}

// turnBetween is the angle between two bearings, in degrees.
func turnBetween(a, b float64) float64 {
	d := math.Mod(math.Abs(a-b), 360)
	return math.Min(d, 360-d)
}

// anyPoint draws points from the whole sphere, with a liking for the poles, the
// equator and the ±180° meridian.
func anyPoint() *rapid.Generator[Point] {
	return rapid.Custom(func(t *rapid.T) Point {
		lat := rapid.OneOf(
			rapid.Int32Range(-maxLat, maxLat),
			rapid.Int32Range(maxLat-2_000_000, maxLat),
			rapid.Int32Range(-maxLat, -maxLat+2_000_000),
			rapid.Int32Range(-1000, 1000),
		).Draw(t, "lat")
		lng := rapid.OneOf(
			rapid.Int32Range(-halfLng, halfLng-1),
			rapid.Int32Range(-halfLng, -halfLng+1000),
			rapid.Int32Range(halfLng-1000, halfLng-1),
		).Draw(t, "lng")
		return Point{Lat: lat, Lng: lng}
	})
}

// otherPoint draws a point at every scale of distance from p, or its antipode.
func otherPoint(t *rapid.T, p Point, name string) Point {
	switch rapid.IntRange(0, 4).Draw(t, name+" kind") {
	case 0:
		return anyPoint().Draw(t, name)
	case 1: // about the antipode
		anti := Point{Lat: -p.Lat, Lng: canonical(int64(p.Lng) + halfLng)}
		return nudge(t, anti, name)
	case 2:
		return nudge(t, p, name)
	}
	metres := math.Pow(10, rapid.Float64Range(-2, 7.3).Draw(t, name+" log metres"))
	return Offset(p, metres, rapid.Float64Range(0, 360).Draw(t, name+" bearing"))
}

// nudge moves p by at most 100 units each way.
func nudge(t *rapid.T, p Point, name string) Point {
	lat := p.Lat + rapid.Int32Range(-100, 100).Draw(t, name+" lat")
	lng := int64(p.Lng) + rapid.Int64Range(-100, 100).Draw(t, name+" lng")
	return Point{Lat: max(-maxLat, min(maxLat, lat)), Lng: canonical(lng)}
}
