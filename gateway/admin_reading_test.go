package gateway

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func reads(t require.TestingT, reg prometheus.Gatherer, at int64) reading {
	r, err := read(time.Unix(at, 0), reg)
	require.NoError(t, err)
	return r
}

func TestReadingAddsUp(t *testing.T) {
	reg := prometheus.NewRegistry()
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "c"}, []string{"a", "b"})
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "g"})
	reg.MustRegister(v, g)
	v.WithLabelValues("x", "1").Add(3)
	v.WithLabelValues("y", "1").Add(4)
	v.WithLabelValues("y", "2").Add(5)
	g.Set(-2)
	from := reads(t, reg, 100)
	require.EqualValues(t, 12, from.sum("c"))
	require.EqualValues(t, 9, from.sum("c", "a", "y"))
	require.EqualValues(t, -2, from.sum("g"))
	require.Zero(t, from.sum("none"))
	require.Equal(t, map[string]float64{"1": 7, "2": 5}, from.by("c", "b"))
	v.WithLabelValues("y", "2").Add(10)
	v.WithLabelValues("z", "1").Add(20)
	i := interval{from, reads(t, reg, 104)}
	require.EqualValues(t, 7.5, i.rate("c"))
	require.EqualValues(t, 5, i.rate("c", "a", "z"), "new since")
	require.Zero(t, interval{i.to, i.from}.rate("c"), "a counter that began anew")
	require.Zero(t, interval{i.to, i.to}.rate("c"), "no time has passed")
	require.Nil(t, i.quantile(.5, "none"))
}

// The estimate is never farther off than the bucket in which the true value is.
func TestQuantileIsInItsBucket(t *testing.T) {
	bounds := []float64{.001, .01, .1, 1, 10}
	rapid.Check(t, func(t *rapid.T) {
		reg := prometheus.NewRegistry()
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: bounds})
		reg.MustRegister(h)
		value := rapid.Float64Range(0.0005, 9.9)
		for _, old := range rapid.SliceOf(value).Draw(t, "before") {
			h.Observe(old) // is not to count
		}
		from := reads(t, reg, 1)
		seen := rapid.SliceOfN(value, 1, 50).Draw(t, "seen")
		for _, x := range seen {
			h.Observe(x)
		}
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		got := interval{from, reads(t, reg, 2)}.quantile(q, "h")
		require.NotNil(t, got)
		below, upTo := 0, 0 // values below the bucket of the estimate, and up to its end
		for n, bound := range bounds {
			lower := 0.0
			if n > 0 {
				lower = bounds[n-1]
			}
			if *got < lower || *got > bound {
				continue
			}
			for _, x := range seen {
				if x <= lower {
					below++
				}
				if x <= bound {
					upTo++
				}
			}
			break
		}
		rank := q * float64(len(seen))
		require.LessOrEqual(t, float64(below), rank+1e-9)
		require.GreaterOrEqual(t, float64(upTo), rank-1e-9)
	})
}

func TestQuantileBeyondTheBounds(t *testing.T) {
	reg := prometheus.NewRegistry()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: []float64{1, 2}})
	reg.MustRegister(h)
	from := reads(t, reg, 1)
	require.Nil(t, interval{from, from}.quantile(.5, "h"), "nothing was observed")
	h.Observe(1.5)
	h.Observe(100)
	i := interval{from, reads(t, reg, 2)}
	require.InDelta(t, 2, *i.quantile(.99, "h"), 1e-9, "the last bound")
	require.InDelta(t, 1.5, *i.quantile(.25, "h"), 1e-9, "linear within a bucket")
}
