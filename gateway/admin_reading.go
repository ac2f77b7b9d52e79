package gateway

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// reading is what a registry said at one moment. Where it says nothing, every
// answer is 0.
type reading struct {
	at       time.Time
	families map[string]*dto.MetricFamily
}

// read gathers. What failed is left out.
func read(at time.Time, from prometheus.Gatherer) (reading, error) {
	all, err := from.Gather()
	r := reading{at: at, families: make(map[string]*dto.MetricFamily, len(all))}
	for _, f := range all {
		r.families[f.GetName()] = f
	}
	return r, err
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return m.Untyped.GetValue()
}

// sum adds up all metrics of a name that have what is wanted: a label and its
// value, or nothing.
func (r reading) sum(name string, want ...string) (sum float64) {
	for _, m := range r.families[name].GetMetric() {
		if len(want) == 0 || label(m, want[0]) == want[1] {
			sum += value(m)
		}
	}
	return sum
}

// by adds up the metrics of a name for each value of a label.
func (r reading) by(name, of string) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range r.families[name].GetMetric() {
		sums[label(m, of)] += value(m)
	}
	return sums
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// interval is what happened between two readings.
type interval struct{ from, to reading }

func (i interval) seconds() float64 { return i.to.at.Sub(i.from.at).Seconds() }

// rate is how much a counter rose in a second.
func (i interval) rate(name string, want ...string) float64 {
	return i.perSecond(i.to.sum(name, want...) - i.from.sum(name, want...))
}

func (i interval) perSecond(rise float64) float64 {
	if s := i.seconds(); s > 0 && rise > 0 {
		return rise / s
	}
	return 0
}

// quantile estimates a quantile of what a histogram observed meanwhile, as
// Prometheus's histogram_quantile does: linear within a bucket; beyond the last
// bound that bound. Nil if it observed nothing.
func (i interval) quantile(q float64, name string) *float64 {
	then, now := i.from.histogram(name), i.to.histogram(name)
	total := float64(now.GetSampleCount()) - float64(then.GetSampleCount())
	if total <= 0 {
		return nil
	}
	rank, below, lower := q*total, 0.0, 0.0
	for n, b := range now.GetBucket() {
		upTo := float64(b.GetCumulativeCount())
		if old := then.GetBucket(); n < len(old) {
			upTo -= float64(old[n].GetCumulativeCount())
		}
		if math.IsInf(b.GetUpperBound(), 1) {
			break
		}
		if upTo >= rank && upTo > below {
			at := lower + (b.GetUpperBound()-lower)*(rank-below)/(upTo-below)
			return &at
		}
		below, lower = upTo, b.GetUpperBound()
	}
	return &lower
}

func (r reading) histogram(name string) *dto.Histogram {
	if all := r.families[name].GetMetric(); len(all) > 0 {
		return all[0].GetHistogram()
	}
	return nil
}
