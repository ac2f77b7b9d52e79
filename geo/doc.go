// Package geo is Kith's geometry: points, great-circle distance and bearing,
// and the metre grid behind `area` sharing. It is pure: no clock, no I/O, no
// state, and it imports nothing of Kith.
//
// The Earth is defined as a sphere of radius [EarthRadius]; WGS84 ellipsoidal
// distance differs by up to 45 m at 8 km, and no rule of Kith depends on that.
//
// Invariants (cited by tests as TestG1_…):
//
//	G1  Every Point holds lat in [-90°, 90°] and lng in [-180°, 180°), in steps
//	    of 1e-7 degree; FromDegrees refuses everything else and never clamps,
//	    but ±180 is one meridian (both become -180).
//	G2  Distance(a, b) == Distance(b, a) to the bit, is never NaN, is 0 for equal
//	    points and at most half the circumference. It is right within 1 mm
//	    everywhere, also at antipodes.
//	G3  The triangle inequality holds within 1 mm. Quiet zones rest on it.
//	G4  A Grid's Snap is idempotent, and no point is farther than Reach from
//	    the point it snaps to.
//	G5  No cell of a Grid is narrower than its side at any latitude (the cap
//	    cell at a pole is a disc of that radius). NewGrid has no bad argument.
//	G6  Nothing prints a Point: no fmt verb, no JSON.
package geo
