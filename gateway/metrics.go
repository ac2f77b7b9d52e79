package gateway

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// socketMetrics are the figures of the WebSocket side. No label holds anything
// of a user.
type socketMetrics struct {
	conns, waiters, waitingAcks, flushing, traces prometheus.Gauge
	upgrades, connects                            prometheus.Counter
	refusedUpgrades                               *prometheus.CounterVec // reason
	closes                                        *prometheus.CounterVec // code
	framesIn                                      [wire.Types]prometheus.Counter
	errors                                        []prometheus.Counter // by wire.Code
	refusedFixes                                  []prometheus.Counter // by wire.Code
	ackSeconds, pushSeconds                       prometheus.Histogram
	conflated, bytesOut, bytesIn, slow            prometheus.Counter
	writeErrors, panics, lost                     prometheus.Counter
}

// latencyBuckets go from 1 ms to 30 s.
var latencyBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newSocketMetrics(reg prometheus.Registerer) (*socketMetrics, error) {
	r := &registrar{reg: reg}
	m := &socketMetrics{
		conns:           r.gauge("connections", "WebSocket connections, whether or not they have sent connect."),
		waiters:         r.gauge("waiters", "HTTP calls that wait for history."),
		waitingAcks:     r.gauge("waiting_acks", "Batches of connected clients that are not durable yet."),
		flushing:        r.gauge("flushing_connections", "Connections that are being written to."),
		upgrades:        r.counter("upgrades_total", "WebSocket connections accepted."),
		connects:        r.counter("connects_total", "WebSocket connections whose token was accepted and who were welcomed."),
		refusedUpgrades: r.vec("refused_upgrades_total", "WebSocket connections refused before they began, by reason.", "reason"),
		closes:          r.vec("closes_total", "WebSocket connections ended, by close code; 1006 = without one.", "code"),
		traces:          r.gauge("traces", "Looks at single users that go on."),
		ackSeconds:      r.histogram("ack_seconds", "From the arrival of a fix to its being durable."),
		pushSeconds:     r.histogram("push_seconds", "From the arrival of a fix to its being written to the first friend's socket."),
		conflated:       r.counter("conflated_total", "Entries of views that were replaced by newer ones before they were written."),
		bytesOut:        r.counter("socket_bytes_out_total", "Bytes written to WebSocket connections."),
		bytesIn:         r.counter("socket_bytes_in_total", "Bytes of messages read from WebSocket connections."),
		slow:            r.counter("slow_closes_total", "Connections closed because the client did not read."),
		writeErrors:     r.counter("write_errors_total", "Writes to WebSocket connections that failed."),
		panics:          r.counter("socket_panics_total", "Connections that ended in a panic."),
		lost:            r.counter("lost_batches_total", "Batches that did not become durable."),
	}
	frames := r.vec("frames_in_total", "Messages of clients, by type.", "type")
	for t := wire.NoType; t < wire.Types; t++ {
		name := t.String()
		if t == wire.NoType {
			name = "bad"
		}
		m.framesIn[t] = frames.WithLabelValues(name)
	}
	m.errors = byCode(r.vec("errors_total", "Error frames sent to clients, by code.", "code"))
	m.refusedFixes = byCode(r.vec("refused_fixes_total", "Fixes refused on WebSocket connections, by code.", "code"))
	return m, errors.Join(r.faults...)
}

func byCode(v *prometheus.CounterVec) []prometheus.Counter {
	counters := make([]prometheus.Counter, len(wire.Codes())+1)
	for _, code := range wire.Codes() {
		counters[code] = v.WithLabelValues(code.String())
	}
	return counters
}

// closed counts the end of a connection. Codes that Kith does not know count as
// one, so that no client can add label values.
func (m *socketMetrics) closed(code presence.CloseCode) {
	label := "other"
	if _, known := wire.CloseInfo(code); known || code == closeGoingAway || code == closeNoStatus || code == closeAbnormal {
		label = strconv.Itoa(int(code))
	}
	m.closes.WithLabelValues(label).Inc()
	if code == presence.Slow {
		m.slow.Inc()
	}
}

// registrar registers metrics of the namespace and gathers what went wrong.
type registrar struct {
	reg    prometheus.Registerer
	faults []error
}

func (r *registrar) add(c prometheus.Collector) {
	if err := r.reg.Register(c); err != nil {
		r.faults = append(r.faults, err)
	}
}

func (r *registrar) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "kith", Name: name, Help: help})
	r.add(g)
	return g
}

func (r *registrar) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "kith", Name: name, Help: help})
	r.add(c)
	return c
}

func (r *registrar) vec(name, help, label string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "kith", Name: name, Help: help}, []string{label})
	r.add(v)
	return v
}

func (r *registrar) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "kith", Name: name, Help: help, Buckets: latencyBuckets})
	r.add(h)
	return h
}
