package sim

import "math"

// earth is the radius of the sphere of PROTOCOL.md, in metres.
const earth = 6_371_008.8

// spot is a position in units of 1e-7 degree, as finely as the server keeps it.
type spot struct{ lat, lng int32 }

const unitsPerDegree = 1e7

func spotAt(lat, lng float64) spot {
	lat = min(max(lat, -90), 90)
	lng = math.Mod(lng+540, 360) - 180
	if lng >= 180-0.5/unitsPerDegree {
		lng = -180
	}
	return spot{int32(math.Round(lat * unitsPerDegree)), int32(math.Round(lng * unitsPerDegree))}
}

func (s spot) degrees() (lat, lng float64) {
	return float64(s.lat) / unitsPerDegree, float64(s.lng) / unitsPerDegree
}

// vector is a point of the unit sphere.
type vector [3]float64

// vector of a spot. Distances by vectors and not by the haversine formula: the
// oracle computes in another way than the server.
func (s spot) vector() vector {
	lat, lng := s.degrees()
	sinLat, cosLat := math.Sincos(lat * math.Pi / 180)
	sinLng, cosLng := math.Sincos(lng * math.Pi / 180)
	return vector{cosLat * cosLng, cosLat * sinLng, sinLat}
}

// chord2 is the square of the straight line between two points, in radii.
func chord2(a, b *vector) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

// chordOf is chord2 for two points that are so many metres apart.
func chordOf(metres float64) float64 {
	half := math.Sin(min(metres/earth, math.Pi) / 2)
	return 4 * half * half
}

// metres between two points along the great circle.
func metres(a, b *vector) float64 {
	return 2 * earth * math.Asin(min(math.Sqrt(chord2(a, b))/2, 1))
}

// bearing of b as seen from a, degrees clockwise from north in [0, 360): the
// parts of b to the east and to the north of a.
func bearing(a, b *vector) float64 {
	east := a[0]*b[1] - a[1]*b[0]
	north := b[2]*(a[0]*a[0]+a[1]*a[1]) - a[2]*(a[0]*b[0]+a[1]*b[1])
	degrees := math.Atan2(east, north) * 180 / math.Pi
	return math.Mod(degrees+360, 360)
}

// metresPerDegree of latitude.
const metresPerDegree = earth * math.Pi / 180

// offset is the position so many metres to the north and to the east of lat,
// lng: good enough for ways of a few kilometres, not at the poles.
func offset(lat, lng, north, east float64) (float64, float64) {
	return lat + north/metresPerDegree, lng + east/(metresPerDegree*max(math.Cos(lat*math.Pi/180), 0.01))
}
