package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a run needs. Default has a value for all but URL, Token and
// People.
type Config struct {
	URL    string                            // ws://HOST:PORT/v1/ws
	Token  func(user string) (string, error) // called for each connection
	People *Population

	Seed      uint64
	For       time.Duration // 0 = until the context ends
	Interval  time.Duration // between two reports of a person, on average
	TimeScale float64       // people live so many times faster: they move, report and lose their network
	Joins     float64       // people who begin to connect, a second
	Mix       Mix
	Flaws     Flaws
	Dropouts  float64 // losses of the network of one person, an hour
	Radius    float64 // metres that each client asks to see; 0 = the node's

	// Judge lets the oracle check what is received.
	Judge     bool
	Tolerance time.Duration // the longest that a message may be under way; twice the worst of the last minute, if that is more
	Grace     time.Duration // the node's presence.offline_grace
	Stale     time.Duration // the node's presence.stale_after
	Hold      time.Duration // the node's presence.jump_hold; 0 = it believes every fix
	Outsiders []string      // friends of people, who are not simulated
}

// Default is a calm population.
func Default() Config {
	return Config{
		Seed: 1, Interval: 30 * time.Second, TimeScale: 1, Joins: 100, Mix: DefaultMix(), Flaws: DefaultFlaws(),
		Dropouts: 6, Judge: true, Tolerance: 3 * time.Second, Grace: 30 * time.Second,
		Stale: 10 * time.Minute, Hold: time.Second,
	}
}

// Validate returns all that cannot work, joined.
func (c *Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	share := func(name string, v float64) { fault(!(v >= 0 && v <= 1), "%s is %v; use 0 to 1", name, v) }
	fault(c.People == nil || c.Token == nil, "there are no people, or no tokens for them")
	fault(!strings.HasPrefix(c.URL, "ws://") && !strings.HasPrefix(c.URL, "wss://"), "the URL is not a WebSocket; write ws://HOST:PORT/v1/ws")
	fault(c.For < 0, "it is to run for %v; use a time, or 0 for no end", c.For)
	fault(!(c.TimeScale > 0 && c.TimeScale <= 1000), "the time scale is %v; use more than 0, up to 1000", c.TimeScale)
	fault(c.Interval < time.Millisecond || c.Interval > time.Hour, "the interval is %v; use 1ms to 1h", c.Interval)
	if c.TimeScale > 0 {
		fault(float64(c.Interval)/c.TimeScale < float64(250*time.Millisecond), "each person would report every %v; a node takes few reports a second, so use 250ms or more",
			time.Duration(float64(c.Interval)/c.TimeScale))
	}
	fault(!(c.Joins > 0 && c.Joins <= 10_000), "%v people join a second; use more than 0, up to 10000", c.Joins)
	fault(!(c.Dropouts >= 0 && c.Dropouts <= 3600), "%v dropouts an hour; use 0 to 3600", c.Dropouts)
	least := c.Hold + 500*time.Millisecond
	fault(c.Tolerance < least || c.Tolerance > 10*time.Minute, "the tolerance is %v; use %v to 10m: the node may hold a leap for %v", c.Tolerance, least, c.Hold)
	fault(c.TimeScale > 0 && 2.2*float64(c.Interval)/c.TimeScale > float64(c.Stale), "each person would report every %v, and the node takes who is silent for %v for stale; use less than half of that",
		time.Duration(float64(c.Interval)/c.TimeScale), c.Stale)
	fault(c.Grace < 0, "the grace is negative")
	share("the share of duplicates", c.Flaws.Duplicates)
	share("the share of late fixes", c.Flaws.Late)
	share("the share of coarse fixes", c.Flaws.Coarse)
	return errors.Join(faults...)
}

// Sim is one run of a population.
type Sim struct {
	cfg     Config
	oracle  *oracle
	tally   *tally
	people  []*person
	random  *rand.Rand
	plan    schedule
	began   time.Time
	next    int32 // whose view is judged next
	resting atomic.Bool
	lastRun time.Duration
}

// New makes a Sim, which Run starts.
func New(cfg Config) (*Sim, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, tally: newTally(), random: rand.New(rand.NewPCG(cfg.Seed, 0))}
	s.oracle = newOracle(cfg.People, cfg.Outsiders, cfg.Tolerance, cfg.Grace)
	s.oracle.tell = s.tally.fault
	s.oracle.judged = func(pairs int) { s.tally.pairs.Add(int64(pairs)) }
	s.began = time.Now()
	s.oracle.began = s.began.UnixMilli()
	for i := range cfg.People.People {
		s.people = append(s.people, s.person(int32(i)))
	}
	return s, nil
}

func (s *Sim) now() time.Duration { return time.Since(s.began) }

func (s *Sim) wall(now time.Duration) time.Time { return s.began.Add(now) }

// Times of the work of a Sim.
const (
	beat       = 20 * time.Millisecond // how often it looks what is due
	judgeFor   = 4 * time.Millisecond  // of each beat
	restWithin = 40 * time.Second      // for reconnects and acknowledgements at the end: a client waits up to 20 s
)

// Run lets the people live until For is over or ctx ends, brings them to rest
// and judges each view once more. It may be called once. Progress and Result may
// be called meanwhile.
func (s *Sim) Run(ctx context.Context) Result {
	clients, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	s.live(ctx, func(p *person) { wg.Go(func() { p.run(clients) }) })
	unsettled := 0
	if s.cfg.Judge {
		unsettled = s.rest()
	}
	r := s.Result()
	hangUp()
	wg.Wait()
	r.Unsettled = unsettled
	return r
}

// live does what the schedule says until the end.
func (s *Sim) live(ctx context.Context, begin func(*person)) {
	offset := s.now() // making many people takes a while
	for i := range s.people {
		at := offset + time.Duration(float64(i)/s.cfg.Joins*float64(time.Second))
		s.people[i].lived = at
		s.plan.add(at, int32(i), join)
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	s.lastRun = offset
	for {
		now := s.now()
		if s.cfg.For > 0 && now-offset >= s.cfg.For {
			return
		}
		for d, ok := s.plan.next(now); ok; d, ok = s.plan.next(now) {
			s.do(d, begin)
		}
		s.judge(now)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// do does one deed and plans what follows from it.
func (s *Sim) do(d due, begin func(*person)) {
	p := s.people[d.person]
	switch d.deed {
	case join:
		p.begun = true
		begin(p)
		s.plan.add(d.at, d.person, speak)
		s.planLoss(d.at, d.person)
	case speak:
		if p.waits() { // a person begins to report once connected
			s.plan.add(s.now()+beat, d.person, speak)
			return
		}
		if p.report(s.now()) {
			s.plan.add(d.at+10*time.Millisecond, d.person, repeat)
		}
		pause := float64(s.cfg.Interval) / s.cfg.TimeScale
		if p.spoke {
			pause *= 0.9 + 0.2*s.random.Float64()
		} else { // those who joined together do not report together for ever
			p.spoke = true
			pause *= 0.2 + 0.8*s.random.Float64()
		}
		s.plan.add(d.at+time.Duration(pause), d.person, speak)
	case repeat:
		p.client.Resend()
		s.tally.duplicates.Add(1)
	case lose:
		lasts := p.lose()
		s.plan.add(d.at+lasts, d.person, regain)
	case regain:
		p.line.lift()
		s.planLoss(d.at, d.person)
	}
}

func (s *Sim) planLoss(now time.Duration, person int32) {
	if s.cfg.Dropouts == 0 {
		return
	}
	mean := float64(time.Hour) / s.cfg.Dropouts / s.cfg.TimeScale
	s.plan.add(now+time.Second+time.Duration(s.random.ExpFloat64()*mean), person, lose)
}

// judge lets the oracle look at some views, in turn. When this goroutine itself
// comes late, messages may have waited as long.
func (s *Sim) judge(now time.Duration) {
	s.oracle.lag.note(now, now-s.lastRun)
	s.lastRun = now
	if !s.cfg.Judge {
		return
	}
	for range s.people {
		s.judgeOne(s.next, false)
		s.next = (s.next + 1) % int32(len(s.people))
		if s.now()-now > judgeFor {
			return
		}
	}
}

func (s *Sim) judgeOne(i int32, rest bool) {
	o := s.oracle
	now := s.now()
	clear(o.view)
	for f := range s.people[i].client.All() {
		if b, known := o.index[f.User]; known {
			o.view[b] = seen{f.TS, spotAt(f.Lat, f.Lng)}
		}
	}
	o.judge(i, o.view, now, rest)
}

// rest waits until everybody is connected and everything acknowledged and
// nothing can be under way any more, and judges every view (M3). It returns how
// many people did not come to rest.
func (s *Sim) rest() (unsettled int) {
	s.resting.Store(true)
	for _, p := range s.people {
		p.line.lift()
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	next := s.now()
	for end := s.now() + restWithin; s.now() < end; <-tick.C {
		if unsettled = s.unsettled(s.now() >= next); unsettled == 0 {
			break
		}
		if s.now() >= next {
			next = s.now() + time.Second
		}
	}
	for quiet := s.now() + s.oracle.lag.allow(s.now()) + beat; s.now() < quiet; <-tick.C {
	}
	for i := range s.people {
		s.judgeOne(int32(i), true)
	}
	return unsettled
}

// unsettled counts the people who have begun and are not connected, have no
// position there, or wait for acknowledgements. With ask, those who have no
// position there report one.
func (s *Sim) unsettled(ask bool) (n int) {
	for _, p := range s.people {
		pending := p.client.Stats().Pending > 0
		p.track.mu.Lock()
		sure := p.track.surely(s.now())
		lost := p.track.open && p.track.located == 0 && !pending
		p.track.mu.Unlock()
		if p.begun && !p.over.Load() && (!sure || pending) {
			n++
		}
		if lost && ask {
			p.report(s.now())
		}
	}
	return n
}

// Result is what has happened so far.
func (s *Sim) Result() Result {
	r := s.tally.result()
	r.Took, r.Users, r.Resting = s.now(), len(s.people), s.resting.Load()
	for _, p := range s.people {
		st := p.client.Stats()
		r.Acked += st.Acked
		r.Refused += st.Refused
		r.Dropped += st.Dropped
		r.Pending += uint64(st.Pending)
		for range p.client.All() {
			r.Near++
		}
		p.track.mu.Lock()
		if p.track.open {
			r.Open++
		}
		p.track.mu.Unlock()
	}
	return r
}
