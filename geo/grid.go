package geo

import "math"

// Grid is a grid of cells measured in metres: rows of equal height from the
// equator to the poles, each row cut into as many equal columns as fit without
// one being narrower than the side at the row's poleward edge. A grid in
// degrees would shrink towards the poles and with it the privacy that it gives
// (arXiv 2310.13528). The row at a pole is one cell, a disc.
type Grid struct {
	side float64 // metres
	rows int     // of one hemisphere
}

// NewGrid returns the grid whose cells are at least side metres wide and, since
// a hemisphere holds a whole number of rows, at least side metres high. side is
// at least 1 m and at most 1 000 km.
func NewGrid(side float64) Grid {
	quarter := EarthRadius * math.Pi / 2
	return Grid{side: side, rows: int(quarter / side)}
}

// Side is the least width and height of a cell, in metres.
func (g Grid) Side() float64 { return g.side }

// Reach bounds the distance from any point to the point that Snap gives for it,
// in metres. Away from the poles it is little over half a diagonal (0.71 side);
// the widest cell is next to a pole's cap.
func (g Grid) Reach() float64 { return 1.25 * g.height() }

func (g Grid) height() float64 { return EarthRadius * math.Pi / 2 / float64(g.rows) }

// Snap returns the centre of p's cell. Cells are half-open: a point on an edge
// belongs to the cell poleward or east of it.
func (g Grid) Snap(p Point) Point {
	lat := float64(p.Lat) * radiansPerUnit
	south := lat < 0
	if south {
		lat = -lat
	}
	step := math.Pi / 2 / float64(g.rows)
	row := int(lat / step)
	if row >= g.rows-1 { // the cap
		if south {
			return Point{Lat: -maxLat, Lng: -halfLng}
		}
		return Point{Lat: maxLat, Lng: -halfLng}
	}
	columns := math.Max(1, math.Floor(2*math.Pi*EarthRadius*math.Cos(float64(row+1)*step)/g.side))
	width := 2 * math.Pi / columns
	column := math.Min(math.Floor((float64(p.Lng)*radiansPerUnit+math.Pi)/width), columns-1)
	units := int32(math.Round((float64(row) + 0.5) * step / radiansPerUnit))
	if south {
		units = -units
	}
	return Point{Lat: units, Lng: canonical(int64(math.Round(((column+0.5)*width - math.Pi) / radiansPerUnit)))}
}
