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
	units = (units+halfLng)%turn + turn // % may be negative
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

// ErrHidden is what encoding a Point as JSON gives.
var ErrHidden = errors.New("geo: a Point is secret and has no JSON form; encode its Degrees where that is meant")

// MarshalJSON refuses, so that a structured logger cannot leak the position.
func (p Point) MarshalJSON() ([]byte, error) { return nil, ErrHidden }

// Format hides the position whatever the verb. It cannot help where a Point is
// an unexported field of another type: fmt reads those without asking.
func (p Point) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(hidden)")) }
