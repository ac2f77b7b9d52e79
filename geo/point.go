package geo

import (
	"errors"
	"fmt"
	"math"
)

// EarthRadius is the mean radius of the sphere, in metres (IUGG R1).
const EarthRadius = 6_371_008.8

// Units is how many steps a degree has in a Point.
const Units = 1e7

const (
	maxLat  = 90 * 10_000_000
	halfLng = 180 * 10_000_000
)

// Point is a position on the sphere in units of 1e-7 degree (at most 5.6 mm off
// what was given). Every rule of Kith uses these integers, so that both ends of
// a pair compute the same. The zero Point is (0°, 0°), a real place: whether a
// position is known is said elsewhere. Build one with [FromDegrees].
type Point struct {
	Lat, Lng int32
}

// Errors of FromDegrees. They never carry the value: a position is a secret.
var (
	ErrLat = errors.New("geo: latitude is not a number within -90 and 90")
	ErrLng = errors.New("geo: longitude is not a number within -180 and 180")
)

// FromDegrees returns the Point nearest to lat, lng in WGS84 decimal degrees.
// It fails with ErrLat or ErrLng on NaN, infinities and values out of range.
// Longitude 180 becomes -180.
func FromDegrees(lat, lng float64) (Point, error) {
	if !(lat >= -90 && lat <= 90) { // also refuses NaN
		return Point{}, ErrLat
	}
	if !(lng >= -180 && lng <= 180) {
		return Point{}, ErrLng
	}
	return Point{Lat: int32(math.Round(lat * Units)), Lng: canonical(int64(math.Round(lng * Units)))}, nil
}

// canonical maps a longitude in units onto [-180°, 180°).
func canonical(units int64) int32 {
	const turn = 2 * halfLng
	units = (units+halfLng)%turn + turn
	return int32(units%turn - halfLng)
}

// Degrees returns latitude and longitude in decimal degrees.
func (p Point) Degrees() (lat, lng float64) {
	return float64(p.Lat) / Units, float64(p.Lng) / Units
}

// Valid reports whether p could have come from FromDegrees. Decoders of packed
// points must check it.
func (p Point) Valid() bool {
	return p.Lat >= -maxLat && p.Lat <= maxLat && p.Lng >= -halfLng && p.Lng < halfLng
}

// String hides the position, so that a stray %v in a log cannot leak it.
func (p Point) String() string { return "(hidden)" }

// GoString hides the position from %#v too.
func (p Point) GoString() string { return "geo.Point(hidden)" }

// Format hides the position whatever the verb.
func (p Point) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(hidden)")) }

const radiansPerUnit = math.Pi / 180 / Units

// Distance is the great-circle distance from a to b in metres, by the haversine
// formula (R. W. Sinnott, "Virtues of the Haversine", Sky and Telescope 68,
// 1984), with its argument clamped so that antipodes never give NaN.
func Distance(a, b Point) float64 {
	if a == b {
		return 0
	}
	dLat := float64(int64(a.Lat)-int64(b.Lat)) * radiansPerUnit
	dLng := float64(int64(a.Lng)-int64(b.Lng)) * radiansPerUnit
	sLat, sLng := math.Sin(dLat/2), math.Sin(dLng/2)
	// The product of cosines is commutative to the bit, which keeps G2.
	h := sLat*sLat + math.Cos(float64(a.Lat)*radiansPerUnit)*math.Cos(float64(b.Lat)*radiansPerUnit)*(sLng*sLng)
	return 2 * EarthRadius * math.Asin(math.Min(1, math.Sqrt(h)))
}

// Bearing is the initial great-circle bearing from a to b in degrees, clockwise
// from north, in [0, 360). It is 0 for equal points; from a pole it follows the
// pole's stored longitude.
func Bearing(a, b Point) float64 {
	if a == b {
		return 0
	}
	lat1, lat2 := float64(a.Lat)*radiansPerUnit, float64(b.Lat)*radiansPerUnit
	dLng := float64(int64(b.Lng)-int64(a.Lng)) * radiansPerUnit
	y := math.Sin(dLng) * math.Cos(lat2)
	x := math.Cos(lat1)*math.Sin(lat2) - math.Sin(lat1)*math.Cos(lat2)*math.Cos(dLng)
	deg := math.Atan2(y, x) * 180 / math.Pi
	if deg < 0 {
		deg += 360
	}
	if deg >= 360 { // a tiny negative rounds up to a full turn
		deg = 0
	}
	return deg
}

// Offset is the Point reached from p after metres along the great circle that
// starts at bearing degrees.
func Offset(p Point, metres, bearing float64) Point {
	lat1, lng1 := float64(p.Lat)*radiansPerUnit, float64(p.Lng)*radiansPerUnit
	angle, brg := metres/EarthRadius, bearing*math.Pi/180
	sinLat := math.Sin(lat1)*math.Cos(angle) + math.Cos(lat1)*math.Sin(angle)*math.Cos(brg)
	lat2 := math.Asin(math.Max(-1, math.Min(1, sinLat)))
	lng2 := lng1 + math.Atan2(math.Sin(brg)*math.Sin(angle)*math.Cos(lat1), math.Cos(angle)-math.Sin(lat1)*sinLat)
	return Point{
		Lat: int32(math.Round(lat2 / radiansPerUnit)),
		Lng: canonical(int64(math.Round(lng2 / radiansPerUnit))),
	}
}
