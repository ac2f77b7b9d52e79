package host

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// dropReason says why a message reached nobody.
type dropReason uint8

const (
	noActor   dropReason = iota // there is none of that address here
	staleFor                    // an answer to a former life of the actor
	boxFull                     // the mailbox of an actor outside the shards is full
	afterStop                   // the host is closed
	noFactory                   // the actor could not be started
	dropReasons
)

var dropNames = [...]string{noActor: "no_actor", staleFor: "stale_answer", boxFull: "mailbox_full", afterStop: "closed", noFactory: "not_started"}

// counted says as which metric a counter of Cores appears.
type counted struct {
	name, help, label, value string
}

func countedMetrics() map[actors.Counter]counted {
	const (
		fixes      = "Fixes by what became of them on the live path."
		deliveries = "Messages to a friend: owed and sent, or avoided by a quiet zone."
		told       = "Things told between users that were not taken, by why."
	)
	all := map[actors.Counter]counted{
		actors.Entered:      {name: "near_total", help: "Friends who entered a view."},
		actors.Owed:         {"deliveries_total", deliveries, "kind", "owed"},
		actors.Avoided:      {"deliveries_total", deliveries, "kind", "avoided"},
		actors.FixLive:      {"fixes_total", fixes, "outcome", "live"},
		actors.FixLate:      {"fixes_total", fixes, "outcome", "late"},
		actors.FixDuplicate: {"fixes_total", fixes, "outcome", "duplicate"},
		actors.FixHeld:      {"fixes_total", fixes, "outcome", "held"},
		actors.FixCoarse:    {"fixes_total", fixes, "outcome", "coarse"},
		actors.FixFuture:    {"fixes_total", fixes, "outcome", "future"},
		actors.ToldLate:     {"told_ignored_total", told, "reason", "late"},
		actors.ToldUnknown:  {"told_ignored_total", told, "reason", "unknown"},
		actors.PendingFull:  {"told_ignored_total", told, "reason", "pending_full"},
		actors.Unhandled:    {name: "messages_unhandled_total", help: "Messages that a Core does not know."},
	}
	for _, r := range presence.Reasons() {
		all[actors.GoneFor(r)] = counted{"gone_total", "Friends who left a view, by reason.", "reason", r.String()}
	}
	return all
}

const namespace = "kith"

type metrics struct {
	collectors []prometheus.Collector

	counts     [actors.Counters]prometheus.Counter
	dropped    [dropReasons]prometheus.Counter
	panics     *prometheus.CounterVec
	turns      prometheus.Histogram
	refused    prometheus.Counter // loads
	waits      prometheus.Counter
	waitsEnded prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{}
	for c, as := range countedMetrics() {
		m.counts[c] = m.counter(as.name, as.help, as.label, as.value)
	}
	for r := range dropReasons {
		m.dropped[r] = m.counter("messages_dropped_total", "Messages that reached no actor, by reason.", "reason", dropNames[r])
	}
	m.refused = m.counter("loads_refused_total", "Reads of friendships refused because too many wait.", "", "")
	m.waits = m.counter("admit_waits_total", "Times that an edge waited for a busy actor.", "", "")
	m.waitsEnded = m.counter("admit_timeouts_total", "Times that an edge waited as long as it may.", "", "")
	m.panics = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "actor_panics_total", Help: "Actors ended by a panic, by kind.",
	}, []string{"kind"})
	m.turns = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "turn_messages", Help: "Messages handled in one turn of a shard.",
		Buckets: []float64{1, 4, 16, 64, 256, 1024, 4096},
	})
	m.collectors = append(m.collectors, m.panics, m.turns)
	return m
}

func labels(name, value string) prometheus.Labels {
	if name == "" {
		return nil
	}
	return prometheus.Labels{name: value}
}

func (m *metrics) counter(name, help, label, value string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels(label, value)})
	m.collectors = append(m.collectors, c)
	return c
}

func (m *metrics) gauge(name, help, label, value string, read func() float64) {
	m.collectors = append(m.collectors, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels(label, value)}, read))
}

// watch adds the gauges that read h.
func (m *metrics) watch(h *Host) {
	for kind := range h.factories {
		m.gauge("actors", "Actors that run here, by kind.", "kind", kind.String(), func() float64 { return float64(h.Count(kind)) })
	}
	for i, s := range h.shards {
		m.gauge("shard_queue", "Messages that wait at a shard.", "shard", strconv.Itoa(i), func() float64 { return float64(s.box.depth.Load()) })
	}
	m.gauge("loads_queued", "Reads of friendships that wait for a worker.", "", "", func() float64 { return float64(len(h.loads.jobs)) })
	m.gauge("asks_pending", "Questions to actors that wait for an answer.", "", "", func() float64 { return float64(h.asks.pending()) })
	m.gauge("timers", "Timers that are set.", "", "", func() float64 { return float64(h.timers()) })
}

func (m *metrics) register(reg prometheus.Registerer) error {
	for i, c := range m.collectors {
		if err := reg.Register(c); err != nil {
			for _, done := range m.collectors[:i] {
				reg.Unregister(done)
			}
			return err
		}
	}
	return nil
}

func (m *metrics) unregister(reg prometheus.Registerer) {
	for _, c := range m.collectors {
		reg.Unregister(c)
	}
}

// take adds what Cores counted in a turn and sets it back.
func (m *metrics) take(counts *[actors.Counters]uint64) {
	for c, n := range counts {
		if n != 0 {
			m.counts[c].Add(float64(n))
			counts[c] = 0
		}
	}
}
