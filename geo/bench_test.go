package geo

import (
	"math/rand/v2"
	"testing"
)

// benchPairs are pairs a few kilometres apart, as friends in one town are.
func benchPairs(metres float64) [][2]Point {
	rng := rand.New(rand.NewPCG(1, 2))
	pairs := make([][2]Point, 1024)
	for i := range pairs {
		a := Point{Lat: int32(rng.Int64N(120*1e7) - 60*1e7), Lng: int32(rng.Int64N(360*1e7) - 180*1e7)}
		pairs[i] = [2]Point{a, Offset(a, metres*rng.Float64(), 360*rng.Float64())}
	}
	return pairs
}

var sink float64

func benchmarkDistance(b *testing.B, metres float64, f func(a, b Point) float64) {
	pairs := benchPairs(metres)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p := &pairs[i&1023]
		sink += f(p[0], p[1])
		i++
	}
}

func BenchmarkDistance(b *testing.B) {
	b.Run("10km", func(b *testing.B) { benchmarkDistance(b, 10_000, Distance) })
	b.Run("300km", func(b *testing.B) { benchmarkDistance(b, 300_000, Distance) })
	b.Run("world", func(b *testing.B) { benchmarkDistance(b, 15_000_000, Distance) })
}

func BenchmarkBearing(b *testing.B) { benchmarkDistance(b, 10_000, Bearing) }

func BenchmarkSnap(b *testing.B) {
	pairs := benchPairs(1)
	grid := NewGrid(1000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		sink += float64(grid.Snap(pairs[i&1023][0]).Lat)
		i++
	}
}
