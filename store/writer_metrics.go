package store

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// writerMetrics is what a Writer shows of itself.
type writerMetrics struct {
	committed prometheus.Counter
	dropped   prometheus.Counter
	failures  prometheus.Counter
	seconds   prometheus.Histogram
	group     prometheus.Histogram

	reg prometheus.Registerer
	all []prometheus.Collector
}

const (
	namespace = "kith"
	subsystem = "history"
)

func newWriterMetrics(reg prometheus.Registerer, lag func() (time.Duration, int)) (*writerMetrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets})
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, value)
	}
	m := &writerMetrics{
		committed: counter("committed_rows_total", "Rows made durable, doubles included."),
		dropped:   counter("dropped_rows_total", "Rows that were lost because the queue was full or the node closed."),
		failures:  counter("commit_failures_total", "Commits that failed; each is tried again."),
		seconds:   histogram("commit_seconds", "How long a commit took that succeeded.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		group:     histogram("group_rows", "Rows in a commit.", []float64{1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000}),
	}
	m.all = []prometheus.Collector{
		m.committed, m.dropped, m.failures, m.seconds, m.group,
		gauge("queued_rows", "Rows that are not durable yet.", func() float64 { _, rows := lag(); return float64(rows) }),
		gauge("lag_seconds", "Age of the oldest row that is not durable yet.", func() float64 { age, _ := lag(); return age.Seconds() }),
	}
	if reg == nil {
		return m, nil
	}
	m.reg = reg
	for i, c := range m.all {
		if err := reg.Register(c); err != nil {
			m.all = m.all[:i]
			m.unregister()
			return nil, err
		}
	}
	return m, nil
}

func (m *writerMetrics) unregister() {
	if m.reg == nil {
		return
	}
	for _, c := range m.all {
		m.reg.Unregister(c)
	}
}
