package presence

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFix_Coarse(t *testing.T) {
	for accuracy, want := range map[float32]bool{
		0: false, 5: false, CoarseAccuracy: false,
		math.Nextafter32(CoarseAccuracy, 2000): true, 5000: true,
		float32(math.Inf(1)): true,
	} {
		f := Fix{Accuracy: accuracy}
		require.Equal(t, want, f.Coarse(), "accuracy %v", accuracy)
	}
	f := Fix{Accuracy: Unset()}
	require.False(t, f.Coarse(), "unknown accuracy decides like a good one")
}

func TestIsSet(t *testing.T) {
	require.False(t, IsSet(Unset()))
	for _, v := range []float32{0, -1, 1, float32(math.Inf(1))} {
		require.True(t, IsSet(v))
	}
}

func TestBatch_LastSeq(t *testing.T) {
	b := Batch{}
	require.Zero(t, b.LastSeq())
	b.Fixes = []Fix{{Seq: 3}, {Seq: 7}}
	require.Equal(t, uint64(7), b.LastSeq())
}
