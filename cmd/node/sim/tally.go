package sim

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// faultsKept is how many faults are described; all are counted.
const faultsKept = 20

// tally counts what happens. Its fields may be changed from any goroutine.
type tally struct {
	fixes, stills, duplicates, late, coarse atomic.Int64
	pushes, entered                         atomic.Int64
	connections, outages, pairs             atomic.Int64

	mu       sync.Mutex
	ack      *hdrhistogram.Histogram // microseconds
	push     *hdrhistogram.Histogram // microseconds
	gone     map[string]int          // by reason
	closes   map[string]int          // by code
	errors   map[string]int          // by code
	faults   [kinds]int
	examples []Fault
	lost     []error // why clients gave up
	lostAll  int
}

// A latency is kept from a microsecond to two minutes, to three digits.
func newTally() *tally {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, (2 * time.Minute).Microseconds(), 3) }
	return &tally{ack: histogram(), push: histogram(), gone: map[string]int{}, closes: map[string]int{}, errors: map[string]int{}}
}

// count adds one under a name. Names come from the server; the first hundred are
// kept apart.
func (t *tally) count(m map[string]int, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := m[name]; !known && len(m) >= 100 {
		name = "other"
	}
	m[name]++
}

func (t *tally) record(h *hdrhistogram.Histogram, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = h.RecordValue(min(max(took.Microseconds(), 1), h.HighestTrackableValue()))
}

func (t *tally) fault(k kind, f Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[k]++
	if len(t.examples) < faultsKept {
		t.examples = append(t.examples, f)
	}
}

func (t *tally) gaveUp(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lostAll++
	if len(t.lost) < faultsKept {
		t.lost = append(t.lost, err)
	}
}

// Result is what a run has come to so far.
type Result struct {
	Took    time.Duration
	Users   int
	Resting bool // it is over, and what is under way is waited for

	Fixes, Stills, Duplicates, Late, Coarse int64 // sent; late and coarse are fixes
	Acked, Refused, Dropped, Pending        uint64
	Pushes, Entered                         int64 // friends shown, and those that came near
	Connections, Outages                    int64
	Open, Near                              int // people connected, friends in their views
	Gone, Closes, Errors                    map[string]int
	Pairs                                   int64          // judgements of the oracle
	Faults                                  map[string]int // by kind
	Examples                                []Fault
	Lost                                    []error // of clients that gave up, at most 20
	GaveUp                                  int
	Unsettled                               int // people who were not connected, or had fixes unacknowledged, at the end
	Ack, Push                               Latency
}

// Latency is a distribution of times.
type Latency struct{ histogram *hdrhistogram.Histogram }

// At returns the time that so many percent stay within.
func (l Latency) At(percent float64) time.Duration {
	return time.Duration(l.histogram.ValueAtPercentile(percent)) * time.Microsecond
}

// Count is how many times there are.
func (l Latency) Count() int64 { return l.histogram.TotalCount() }

// Max is the longest.
func (l Latency) Max() time.Duration { return time.Duration(l.histogram.Max()) * time.Microsecond }

func (t *tally) result() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{
		Fixes: t.fixes.Load(), Stills: t.stills.Load(), Duplicates: t.duplicates.Load(), Late: t.late.Load(), Coarse: t.coarse.Load(),
		Pushes: t.pushes.Load(), Entered: t.entered.Load(), Connections: t.connections.Load(), Outages: t.outages.Load(), Pairs: t.pairs.Load(),
		Gone: maps.Clone(t.gone), Closes: maps.Clone(t.closes), Errors: maps.Clone(t.errors), Faults: map[string]int{},
		Examples: append([]Fault(nil), t.examples...), Lost: append([]error(nil), t.lost...), GaveUp: t.lostAll,
		Ack: Latency{hdrhistogram.Import(t.ack.Export())}, Push: Latency{hdrhistogram.Import(t.push.Export())},
	}
	for k, n := range t.faults {
		r.Faults[kindNames[k]] = n
	}
	return r
}
