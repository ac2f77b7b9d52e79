package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// TestTown checks what all figures rest on: how many friends everybody has, who
// of them is in range whatever steps both have made, and how long a step is.
func TestTown(t *testing.T) {
	const (
		radius = 8047
		exit   = 8450 // m, of that radius
	)
	town := newTown(600, degree, 4, 100)
	steps := []int{0, 13, 31, 47}
	for i, friends := range town.friends {
		require.InDelta(t, degree, len(friends), 2)
		require.True(t, slices.IsSorted(friends))
		near := 0
		for _, f := range friends {
			j := int(f - 1)
			require.Contains(t, town.friends[j], presence.UserID(i+1), "friendship is mutual")
			if town.village[i] == town.village[j] {
				near++
			}
			for _, s := range steps {
				d := geo.Distance(town.at(i, s), town.at(j, 2*s))
				if town.village[i] == town.village[j] {
					require.LessOrEqual(t, d, float64(radius))
				} else {
					require.Greater(t, d, float64(2*exit))
				}
			}
		}
		require.InDelta(t, 4, near, 1)
		require.InDelta(t, 42, geo.Distance(town.at(i, 0), town.at(i, 1)), 3)
	}
}

func TestTable(t *testing.T) {
	var results table
	for _, v := range []float64{30_000, 10_000, 20_000} {
		results.add(figure{Name: "rows", Unit: "rows/s", Value: v, Peer: "file", Than: 40_000, Ratio: v / 40_000, Goal: "≥ 15 000", Met: v > 15_000})
	}
	results.add(figure{Name: "time", Unit: "ns", Value: 1.5})
	require.Equal(t, `a machine

| what | goal | measured | peer or floor, same run | ratio | met |
|---|---|---|---|---|---|
| rows | ≥ 15 000 | 20 000 rows/s | file: 40 000 rows/s | 0.500 × | yes |
| time | – | 1.50 ns | – | – | – |
`, results.markdown("a machine"))

	page := filepath.Join(t.TempDir(), "page.md")
	before := "above\n<!-- table -->\nold\n<!-- /table -->\nbelow\n"
	require.NoError(t, os.WriteFile(page, []byte(before), 0o600))
	require.Error(t, results.document(page, false), "a run that failed changes no page")
	require.NoError(t, results.document(page, true))
	after, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(after), "above\n<!-- table -->\nmachine: ")
	require.Contains(t, string(after), "20 000 rows/s")
	require.Contains(t, string(after), "<!-- /table -->\nbelow\n")
	require.NotContains(t, string(after), "old")
}

func TestNumberAfter(t *testing.T) {
	n, rest, ok := numberAfter([]byte(`{"seq":12,"ts":345}`), seqKey)
	require.True(t, ok)
	require.EqualValues(t, 12, n)
	n, _, ok = numberAfter(rest, tsKey)
	require.True(t, ok)
	require.EqualValues(t, 345, n)
	_, _, ok = numberAfter(rest, seqKey)
	require.False(t, ok)
}
