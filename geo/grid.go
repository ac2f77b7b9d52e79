package geo

import "math"

// Grid is a grid of cells measured in metres: rows of equal height from the
// equator to the poles, each row cut into as many equal columns as fit without
// one being narrower than the side at the row's poleward edge. A grid in
// degrees would shrink towards the poles and with it the privacy that it gives
// (arXiv 2310.13528). The row at a pole is one cell, a disc.
//
// The zero Grid has two cells, the hemispheres: it tells nothing.
type Grid struct {
	side float64 // metres
	rows int     // of one hemisphere
}

// The bounds of a Grid's side, in metres.
const (
	MinSide = 1.0
	MaxSide = 1_000_000.0
)

// NewGrid returns the grid whose cells are at least side metres wide and, since
// a hemisphere holds a whole number of rows, at least side metres high. A side
// that is not within MinSide and MaxSide can only be a mistake, and a mistake
// must not uncover anybody: it becomes MaxSide.
func NewGrid(side float64) Grid {
	if !(MinSide <= side && side <= MaxSide) { // also NaN
		side = MaxSide
	}
	return Grid{side: side, rows: int(quarter / side)}
}

// Side is the least width and height of a cell, in metres.
func (g Grid) Side() float64 { return g.side }

const (
	quarter = EarthRadius * math.Pi / 2 // from the equator to a pole, metres

	// reachFactor is the square root of 1.5² + 2² − 2·1.5·2·cos 30°, rounded up.
	reachFactor = 1.02658
	// snapError is the most that rounding a centre to units moves it, metres.
	snapError = 0.01
)

// Reach bounds the distance from any point to the point that Snap gives for it,
// in metres. Away from the poles the truth is little over half a diagonal (0.71
// side); the widest cells are those next to a pole's cap.
//
// Proof: let h be a row's height, and row k have its poleward edge k·h from the
// pole. The farthest point of its cell is a corner away from the pole. Seen from
// the pole it is at (k+1)·h, the centre at (k+½)·h, and the angle between them
// is π/n for n columns; on a sphere it is no farther than on a plane. Within 30°
// of the pole, n ≥ 6k, since the row's edge is at least 0.955 · 2π · k·h long and
// the side at most h. So it is at most h · √((k+½)² + (k+1)² − 2(k+½)(k+1)·cos(π/6k)),
// which falls with k: reachFactor at k = 1. Beyond 30°, k ≥ 4 and n ≥ 19 up to
// MaxSide, so half the width is below 0.66 h, and with half the height 0.83 h.
// The cap's farthest point is h away.
func (g Grid) Reach() float64 { return min(reachFactor*g.height()+snapError, 2*quarter) }

func (g Grid) height() float64 { return quarter / float64(g.rows) }

// Snap returns the centre of p's cell. Cells are half-open: a point on an edge
// belongs to the cell poleward or east of it.
func (g Grid) Snap(p Point) Point {
	lat := math.Abs(float64(p.Lat)) * radiansPerUnit
	south := p.Lat < 0
	step := math.Pi / 2 / float64(g.rows)
	row := int(lat / step)
	if row >= g.rows-1 { // the cap
		if south {
			return Point{Lat: -maxLat, Lng: -halfLng}
		}
		return Point{Lat: maxLat, Lng: -halfLng}
	}
	columns := g.columns(row)
	width := turn / columns // units
	column := math.Min(math.Floor(float64(int64(p.Lng)+halfLng)/width), columns-1)
	units := int32(math.Round((float64(row) + 0.5) * step / radiansPerUnit))
	if south {
		units = -units
	}
	return Point{Lat: units, Lng: canonical(int64(math.Round((column+0.5)*width)) - halfLng)}
}

// columns is how many cells a row has; rows count from the equator.
func (g Grid) columns(row int) float64 {
	edge := 2 * math.Pi * EarthRadius * math.Cos(float64(row+1)*math.Pi/2/float64(g.rows))
	return math.Floor(edge / g.side)
}
