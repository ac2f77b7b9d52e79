package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/presence"
)

// StatsConfig says how a node looks at itself. Zero values mean the default.
type StatsConfig struct {
	Instance string
	Version  string
	Ready    Readiness
	Users    Inspector
	Queues   []Queue // what is shown as queues, in this order

	Every  time.Duration // between readings; 1 s
	Window int           // readings that rates and latencies are over; 5
	Keep   int           // windows that are remembered; 180, which makes 15 min
	Sample int           // users whose state is looked at in each window; 200
	Now    func() time.Time
}

// Queue is a queue whose figures are among the metrics.
type Queue struct {
	Name  string
	Depth []string // metric, and a label and its value if there is one
	Bound int      // 0 = none of its own
	Drops []string // as Depth: what counts the dropped or refused; nil = nothing is
	Full  string   // what happens at the bound
}

// Stats reads the node's own metrics once every second and makes rates of them.
// It keeps no figures of its own but a short history, so that whoever looks has
// one at once: Keep moments of eleven numbers.
type Stats struct {
	cfg    StatsConfig
	from   prometheus.Gatherer
	log    *slog.Logger
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	readings []reading // the last Window + 1, oldest first
	moments  []moment  // a ring once there are Keep
	next     int       // where the next moment goes
	sample   Sample
	faulty   bool // the last reading had faults
}

// moment is one moment of the history.
type moment struct {
	at                           presence.Millis
	connections, users           float64
	fixes, owed, avoided         float64 // a second
	ack50, ack99, push50, push99 *float64
	memory, lag                  float64 // bytes, seconds
}

// StartStats takes the first reading and begins to take others, until Close.
func StartStats(cfg StatsConfig, from prometheus.Gatherer, log *slog.Logger) *Stats {
	cfg.Every = orElse(cfg.Every, time.Second)
	cfg.Window = orElse(cfg.Window, 5)
	cfg.Keep = orElse(cfg.Keep, 180)
	cfg.Sample = orElse(cfg.Sample, 200)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Stats{cfg: cfg, from: from, log: log, began: cfg.Now(), done: make(chan struct{})}
	s.look()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(ctx)
	return s
}

// Close ends the readings. What was last read can still be asked for.
func (s *Stats) Close() {
	s.cancel()
	<-s.done
}

func (s *Stats) run(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.look()
		if n%s.cfg.Window == 0 {
			s.lookAtUsers(ctx)
			s.remember()
		}
	}
}

// look takes a reading.
func (s *Stats) look() {
	r, err := read(s.cfg.Now(), s.from)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.faulty {
		s.log.Warn("some metrics cannot be read", "err", err)
	}
	s.faulty = err != nil
	if len(s.readings) > s.cfg.Window {
		s.readings = append(s.readings[:0], s.readings[1:]...)
	}
	s.readings = append(s.readings, r)
}

// lookAtUsers asks a sample of users for their state. If it takes longer than a
// reading the old sample stays.
func (s *Stats) lookAtUsers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Every)
	defer cancel()
	sample, err := s.cfg.Users.Sample(ctx, s.cfg.Sample)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.sample = sample
	s.mu.Unlock()
}

// window is the time that rates are over. The caller holds s.mu.
func (s *Stats) window() interval {
	return interval{from: s.readings[0], to: s.readings[len(s.readings)-1]}
}

// remember adds a moment to the history.
func (s *Stats) remember() {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := momentOf(s.window())
	if len(s.moments) < s.cfg.Keep {
		s.moments = append(s.moments, p)
		return
	}
	s.moments[s.next] = p
	s.next = (s.next + 1) % len(s.moments)
}

func momentOf(i interval) moment {
	return moment{
		at:          millis(i.to.at),
		connections: i.to.sum("kith_connections"), users: i.to.sum("kith_actors", "kind", "user"),
		fixes: i.rate("kith_fixes_total"),
		owed:  i.rate("kith_deliveries_total", "kind", "owed"), avoided: i.rate("kith_deliveries_total", "kind", "avoided"),
		ack50: i.quantile(.5, "kith_ack_seconds"), ack99: i.quantile(.99, "kith_ack_seconds"),
		push50: i.quantile(.5, "kith_push_seconds"), push99: i.quantile(.99, "kith_push_seconds"),
		memory: i.to.sum("process_resident_memory_bytes"), lag: i.to.sum("kith_history_lag_seconds"),
	}
}

// since returns the moments after a time, oldest first. The caller holds s.mu.
func (s *Stats) since(at presence.Millis) []moment {
	var some []moment
	for i := range s.moments {
		if p := s.moments[(s.next+i)%len(s.moments)]; p.at > at {
			some = append(some, p)
		}
	}
	return some
}

// show answers GET /v1/stats. ?since=T leaves out what the history has up to T.
func (s *Stats) show(w http.ResponseWriter, r *http.Request) {
	since := int64(0)
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseInt(text, 10, 64); err != nil {
			badField("since", "since is a time in unix milliseconds").write(w)
			return
		}
	}
	writeBody(w, http.StatusOK, s.body(presence.Millis(since)))
}
