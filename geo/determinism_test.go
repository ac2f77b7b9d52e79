package geo

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Distances of near pairs are the same to the bit on every CPU: this sum was
// found with and without fused multiply-add (GOAMD64=v1 and v3) and in 32-bit
// code. Where it fails, a product is summed without a float64 conversion.
func TestG2_Distance_of_near_pairs_is_the_same_on_every_CPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	sum := fnv.New64a()
	for range 20_000 {
		a := Point{Lat: rng.Int32N(1_770_000_000) - 885_000_000, Lng: rng.Int32N(1_600_000_000) - 800_000_000}
		span := int32(1) << rng.IntN(26)
		b := Point{Lat: a.Lat + rng.Int32N(2*span) - span, Lng: a.Lng + rng.Int32N(2*span) - span}
		if !b.Valid() || int64(a.Lat)+int64(b.Lat) > 2*nearPolar || int64(a.Lat)+int64(b.Lat) < -2*nearPolar {
			continue
		}
		require.NoError(t, binary.Write(sum, binary.LittleEndian, math.Float64bits(Distance(a, b))))
	}
	require.Equal(t, uint64(0x130523dd3c8fe62a), sum.Sum64())
}
