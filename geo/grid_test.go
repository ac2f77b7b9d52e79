package geo

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var gridSides = []float64{1, 10, 500, 777.7, 1000, 1999, 4000, 8000, 50_000, 123_456, 345_678, 700_000, 1_000_000}

func anySide() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.SampledFrom(gridSides), rapid.Float64Range(500, 8000), rapid.Float64Range(MinSide, MaxSide))
}

func TestG4_Snap_is_idempotent_and_within_Reach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := NewGrid(anySide().Draw(t, "side"))
		p := anyPoint().Draw(t, "p")
		centre := grid.Snap(p)
		if !centre.Valid() {
			t.Fatalf("%d,%d is no point", centre.Lat, centre.Lng)
		}
		if again := grid.Snap(centre); again != centre {
			t.Fatalf("%d,%d snaps on to %d,%d", centre.Lat, centre.Lng, again.Lat, again.Lng)
		}
		if d := vectorDistance(p, centre); d > grid.Reach() {
			t.Fatalf("%v m away, reach %v", d, grid.Reach())
		}
	})
}

// worstOfRow is how far a row's farthest corner is from the centre, metres: the
// analytic form, without rounding.
func worstOfRow(g Grid, row int) float64 {
	step := math.Pi / 2 / float64(g.rows)
	mid := (float64(row) + 0.5) * step
	half := math.Pi / g.columns(row)
	worst := 0.0
	for _, edge := range []float64{float64(row) * step, float64(row+1) * step} {
		s, t := math.Sin((mid-edge)/2), math.Sin(half/2)
		worst = max(worst, 2*EarthRadius*math.Asin(math.Sqrt(s*s+math.Cos(mid)*math.Cos(edge)*t*t)))
	}
	return worst
}

// Every row of every grid keeps within Reach, and one comes within a hundredth
// of it: the bound is true and tight.
func TestG4_Reach_is_the_worst_corner_of_all_rows(t *testing.T) {
	for _, side := range gridSides {
		t.Run(fmt.Sprint(side), func(t *testing.T) {
			grid := NewGrid(side)
			worst := grid.height() // the cap
			for row := max(0, grid.rows-1-30_000); row < grid.rows-1; row++ {
				worst = max(worst, worstOfRow(grid, row))
			}
			require.LessOrEqual(t, worst, grid.Reach())
			require.Greater(t, worst, 0.98*grid.Reach())
		})
	}
}

// The corners of the rows next to the pole, as points: what the analytic form
// says is what Snap does.
func TestG4_corners_next_to_the_poles(t *testing.T) {
	for _, side := range []float64{500, 1000, 2000, 4000, 8000} {
		grid := NewGrid(side)
		worst := 0.0
		for row := grid.rows - 20; row < grid.rows; row++ {
			for column := range 360 {
				for _, inside := range []int32{1, -1} { // units from the row's edge
					lat := int32(math.Round(float64(row)*math.Pi/2/float64(grid.rows)/radiansPerUnit)) + inside
					for _, p := range []Point{{lat, int32(column-180) * 10_000_000}, {-lat, int32(column-180) * 10_000_000}} {
						d := vectorDistance(p, grid.Snap(p))
						require.LessOrEqual(t, d, grid.Reach())
						worst = max(worst, d)
					}
				}
			}
		}
		require.Greater(t, worst, 0.99*grid.Reach(), "side %v: Reach is loose", side)
	}
}

func TestG4_cells_are_the_points_nearest_in_row_and_column(t *testing.T) {
	grid := NewGrid(1000)
	// 9.0° is row 1000 of 10 007 (8.994°); its centre is half a row on.
	step := 90.0 / 10_007
	lat, lng := grid.Snap(mustPoint(t, 9, 127)).Degrees()
	require.InDelta(t, 1000.5*step, lat, 1e-7)
	columns := math.Floor(2 * math.Pi * EarthRadius * math.Cos(1001*step*math.Pi/180) / 1000)
	width := 360 / columns
	require.InDelta(t, (math.Floor((127+180)/width)+0.5)*width-180, lng, 1e-7)
}

func TestG4_edges_belong_to_the_cell_poleward_or_east(t *testing.T) {
	grid := NewGrid(1000)
	north := grid.Snap(Point{0, 0})
	require.Positive(t, north.Lat)
	require.Equal(t, -north.Lat, grid.Snap(Point{-1, 0}).Lat)
	require.Positive(t, grid.Snap(Point{0, -halfLng}).Lng+halfLng)
	require.Less(t, int(grid.Snap(Point{0, -halfLng}).Lng), -halfLng+100_000)
	require.Greater(t, int(grid.Snap(Point{0, halfLng - 1}).Lng), halfLng-100_000)
}

func TestG4_poles_are_one_cell(t *testing.T) {
	grid := NewGrid(1000)
	for lng := int32(-180); lng < 180; lng += 7 {
		require.True(t, grid.Snap(Point{maxLat - 80_000, lng * 10_000_000}) == Point{maxLat, -halfLng})
		require.True(t, grid.Snap(Point{-maxLat + 80_000, lng * 10_000_000}) == Point{-maxLat, -halfLng})
	}
}

func TestG5_no_cell_is_narrower_than_its_side(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := NewGrid(anySide().Draw(t, "side"))
		if grid.height() < grid.Side() {
			t.Fatalf("rows of %v m, side %v", grid.height(), grid.Side())
		}
		if grid.rows < 2 {
			return
		}
		row := rapid.OneOf(
			rapid.IntRange(0, grid.rows-2),
			rapid.IntRange(max(0, grid.rows-50), grid.rows-2),
		).Draw(t, "row")
		narrow := 2 * math.Pi * EarthRadius * math.Sin(float64(grid.rows-1-row)*math.Pi/2/float64(grid.rows))
		if width := narrow / grid.columns(row); width < grid.Side()*(1-1e-9) {
			t.Fatalf("row %d of %d: %v m wide, side %v", row, grid.rows, width, grid.Side())
		}
	})
}

// Walking east along a parallel, every cell is entered for at least a side: G5
// seen from outside, at the latitudes where grids in degrees fail.
func TestG5_walking_a_parallel(t *testing.T) {
	for _, side := range []float64{500, 1000, 8000} {
		grid := NewGrid(side)
		for _, lat := range []float64{0, 37.5, -60, 80, -85, 89, 89.9} {
			// From half a kilometre before ±180° to past the third cell after it.
			start := mustPoint(t, lat, 179.9)
			metresPerUnit := radiansPerUnit * EarthRadius * math.Cos(lat*math.Pi/180)
			stride := int64(math.Max(1, side/50/metresPerUnit))
			cell, entered, cells := grid.Snap(start), -1.0, 0
			for i := int64(1); cells < 3; i++ {
				p := Point{start.Lat, canonical(int64(start.Lng) + i*stride)}
				if next := grid.Snap(p); next != cell {
					walked := float64(i*stride) * metresPerUnit
					if entered >= 0 {
						require.Greater(t, walked-entered, side-2*float64(stride)*metresPerUnit, "side %v lat %v", side, lat)
						cells++
					}
					cell, entered = next, walked
				}
			}
		}
	}
}

func TestG5_NewGrid_has_no_bad_argument(t *testing.T) {
	for _, side := range []float64{
		0, -1, 0.999, math.SmallestNonzeroFloat64, MaxSide + 1, 1e300,
		math.NaN(), math.Inf(1), math.Inf(-1),
	} {
		require.Equal(t, NewGrid(MaxSide), NewGrid(side), "side %v", side)
	}
	require.Equal(t, MinSide, NewGrid(MinSide).Side())
	require.Equal(t, MaxSide, NewGrid(MaxSide).Side())
}

func TestG5_the_zero_Grid_tells_nothing(t *testing.T) {
	var grid Grid
	rapid.Check(t, func(t *rapid.T) {
		p := anyPoint().Draw(t, "p")
		centre := grid.Snap(p)
		if centre != (Point{maxLat, -halfLng}) && centre != (Point{-maxLat, -halfLng}) {
			t.Fatalf("%d,%d", centre.Lat, centre.Lng)
		}
		if Distance(p, centre) > grid.Reach() {
			t.Fatal("out of reach")
		}
	})
}
