package geo

import "math"

const (
	radiansPerUnit = math.Pi / 180 / Units
	turn           = 2 * halfLng // longitude once around, in units
)

// The polynomials of nearHaversine hold for pairs this close in both
// coordinates and for mean latitudes this far from the poles, in units.
const (
	nearSpan  = 10 * 10_000_000
	nearPolar = 89 * 10_000_000
)

// Distance is the great-circle distance from a to b in metres, by the haversine
// formula (R. W. Sinnott, "Virtues of the Haversine", Sky and Telescope 68,
// 1984).
//
// Pairs within 10 degrees of each other, which is all that a radius ever
// decides, take a path of polynomials: several times as fast, within 0.2 mm of
// the formula, and the same to the bit on every CPU.
func Distance(a, b Point) float64 {
	if a == b {
		return 0
	}
	// Only symmetric functions of the two points follow, which keeps G2.
	dLat, dLng := int64(a.Lat)-int64(b.Lat), int64(a.Lng)-int64(b.Lng)
	sum := int64(a.Lat) + int64(b.Lat)
	if dLng > halfLng {
		dLng -= turn
	} else if dLng < -halfLng {
		dLng += turn
	}
	if within(dLat, nearSpan) && within(dLng, nearSpan) && within(sum, 2*nearPolar) {
		h := nearHaversine(dLat, dLng, sum)
		return 2 * EarthRadius * math.Sqrt(h) * asinOverRoot(h)
	}
	return farDistance(a, b, dLat, dLng, sum)
}

func within(x, bound int64) bool { return -bound <= x && x <= bound }

// nearHaversine is the haversine of the angle between two points, from the
// differences of their coordinates and the sum of their latitudes.
//
// It uses cos a · cos b = cos²((a+b)/2) − sin²((a−b)/2), so that one cosine
// does for both latitudes. The float64 conversions forbid the compiler to fuse
// a product with a sum: fused, the last bit would depend on the CPU.
func nearHaversine(dLat, dLng, sum int64) float64 {
	s, t := sinHalfSquared(dLat), sinHalfSquared(dLng)
	// cos²(m) = (1 + cos 2m)/2, where 2m is the sum, and cos 2m = sin(π/2 − |2m|).
	x := math.Pi/2 - float64(math.Abs(float64(sum))*radiansPerUnit)
	c := 0.5 + float64(0.5*sinWide(x)) - s
	return s + float64(c*t)
}

// sinHalfSquared is sin²(d/2) for a difference of at most nearSpan units. The
// series ends at x^7: for x ≤ 5° what is left out is below 1e-14 of the value.
func sinHalfSquared(units int64) float64 {
	x := float64(units) * (radiansPerUnit / 2)
	z := x * x
	p := 1.0/120 - float64(z*(1.0/5040))
	p = 1.0/6 - float64(z*p)
	x *= 1 - float64(z*p)
	return float64(x * x)
}

// sinWide is sin x for |x| ≤ π/2. The series ends at x^15: what is left out is
// at most (π/2)^17/17! = 6.1e-12. Its terms are summed in pairs, which a CPU
// does side by side.
func sinWide(x float64) float64 {
	z := x * x
	z2 := z * z
	a := 1 - float64(z*(1.0/6))
	b := 1.0/120 - float64(z*(1.0/5040))
	c := 1.0/362880 - float64(z*(1.0/39916800))
	d := 1.0/6227020800 - float64(z*(1.0/1307674368000))
	return x * (a + float64(z2*b) + float64(float64(z2*z2)*(c+float64(z2*d))))
}

// asinOverRoot is asin(√h)/√h for the h of nearHaversine, at most 0.016. The
// series ends at h^4: what is left out is below 3e-11 of the value.
func asinOverRoot(h float64) float64 {
	h2 := h * h
	a := 1 + float64(h*(1.0/6))
	b := 3.0/40 + float64(h*(15.0/336))
	return a + float64(h2*(b+float64(h2*(105.0/3456))))
}

// farDistance is Distance for all pairs. Past a quarter of the way around it
// measures from the antipode of b, where the haversine is small: near 1 it has
// no digits left to tell 13 cm, and the triangle inequality (G3) would break.
func farDistance(a, b Point, dLat, dLng, sum int64) float64 {
	cosines := math.Cos(float64(a.Lat)*radiansPerUnit) * math.Cos(float64(b.Lat)*radiansPerUnit)
	s := math.Sin(float64(dLat) * (radiansPerUnit / 2))
	sin, cos := math.Sincos(math.Abs(float64(dLng)) * (radiansPerUnit / 2))
	h := float64(s*s) + float64(cosines*float64(sin*sin))
	if h <= 0.5 {
		return 2 * EarthRadius * math.Asin(math.Sqrt(h))
	}
	s = math.Sin(float64(sum) * (radiansPerUnit / 2))
	h = float64(s*s) + float64(cosines*float64(cos*cos))
	return EarthRadius * (math.Pi - 2*math.Asin(math.Sqrt(h)))
}

// Bearing is the initial great-circle bearing from a to b in degrees, clockwise
// from north, in [0, 360). It is 0 for equal points; from a pole it follows the
// pole's stored longitude.
func Bearing(a, b Point) float64 {
	if a == b {
		return 0
	}
	sin1 := math.Sin(float64(a.Lat) * radiansPerUnit)
	cos2 := math.Cos(float64(b.Lat) * radiansPerUnit)
	sin, cos := math.Sincos(float64(int64(b.Lng)-int64(a.Lng)) * (radiansPerUnit / 2))
	// cos1·sin2 − sin1·cos2·cos(dLng), rewritten so that points next to each
	// other do not cancel.
	x := math.Sin(float64(int64(b.Lat)-int64(a.Lat))*radiansPerUnit) + 2*sin1*cos2*sin*sin
	deg := math.Atan2(2*sin*cos*cos2, x) * 180 / math.Pi
	if deg < 0 {
		deg += 360
	}
	if deg >= 360 { // a tiny negative rounds up to a full turn
		deg = 0
	}
	return deg
}

// Offset is the Point reached from p after metres along the great circle that
// starts at bearing degrees; p itself if one of the two is not finite.
func Offset(p Point, metres, bearing float64) Point {
	lat1, lng1 := float64(p.Lat)*radiansPerUnit, float64(p.Lng)*radiansPerUnit
	angle, brg := metres/EarthRadius, bearing*math.Pi/180
	sinLat := math.Sin(lat1)*math.Cos(angle) + math.Cos(lat1)*math.Sin(angle)*math.Cos(brg)
	if math.IsNaN(sinLat) {
		return p
	}
	lat2 := math.Asin(math.Max(-1, math.Min(1, sinLat)))
	lng2 := lng1 + math.Atan2(math.Sin(brg)*math.Sin(angle)*math.Cos(lat1), math.Cos(angle)-math.Sin(lat1)*sinLat)
	return Point{
		Lat: int32(math.Round(lat2 / radiansPerUnit)),
		Lng: canonical(int64(math.Round(lng2 / radiansPerUnit))),
	}
}
