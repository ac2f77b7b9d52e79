package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/kith-nearby/kith/sdk/go/kith"
)

// unacknowledged is how many fixes a phone keeps.
const unacknowledged = 500

// person is one simulated person at work. Besides of client, line and track,
// which have locks, it is of the schedule.
type person struct {
	sim    *Sim
	number int32
	phone  *phone
	client *kith.Client
	line   line
	track  *track
	viewer *viewer
	lived  time.Duration // until when the phone's way has been followed
	begun  bool          // it connects
	spoke  bool          // it has reported
	over   atomic.Bool   // the client gave up
	random *rand.Rand
}

func (s *Sim) person(i int32) *person {
	h := &s.cfg.People.People[i]
	random := rand.New(rand.NewPCG(s.cfg.Seed, uint64(i)+2))
	p := &person{sim: s, number: i, track: s.oracle.tracks[i], viewer: newViewer(s.oracle, i), random: random}
	p.phone = newPhone(newWay(s.cfg.Mix.draw(random), h.Lat, h.Lng, random), s.cfg.Flaws, random)
	p.client = kith.New(kith.Options{
		URL: s.cfg.URL, Device: "sim", Radius: s.cfg.Radius, Buffer: unacknowledged, HTTP: p.line.client(),
		Token:       p.token,
		OnConnected: p.onConnected,
		OnFriends:   p.onFriends,
		OnAck:       p.onAck,
		OnError:     p.onError,
		OnClosed:    p.onClosed,
	})
	return p
}

// run connects until ctx ends.
func (p *person) run(ctx context.Context) {
	if err := p.client.Run(ctx); err != nil {
		p.over.Store(true)
		p.sim.tally.gaveUp(fmt.Errorf("%s: %w", p.name(), err))
	}
}

func (p *person) name() string { return p.sim.cfg.People.People[p.number].Name }

// token is asked for at the begin of each attempt to connect, and again while a
// connection lasts.
func (p *person) token(context.Context) (string, error) {
	p.track.mu.Lock()
	if !p.track.open {
		p.track.attempt()
	}
	p.track.mu.Unlock()
	return p.sim.cfg.Token(p.name())
}

func (p *person) onConnected(m kith.Connected) {
	p.sim.tally.connections.Add(1)
	p.track.mu.Lock()
	defer p.track.mu.Unlock()
	p.track.connect(m.Session, m.Config.RadiusM, m.Config.ExitRadiusM, p.sim.now())
}

func (p *person) onClosed(err error) {
	p.track.mu.Lock()
	now := p.sim.now()
	p.track.disconnect(now, now-p.sim.oracle.lag.allow(now), !errors.Is(err, errNoNetwork))
	p.track.mu.Unlock()
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		p.sim.tally.count(p.sim.tally.closes, fmt.Sprint(int(closed.Code)))
	}
}

func (p *person) onAck(m kith.Ack) {
	t := p.sim.tally
	p.track.mu.Lock()
	defer p.track.mu.Unlock()
	now := p.sim.now()
	p.track.ack(m.Seq, now, func(took time.Duration) {
		t.record(t.ack, took)
		p.sim.oracle.lag.note(now, took)
	})
}

func (p *person) onError(e *kith.ServerError) {
	p.sim.tally.count(p.sim.tally.errors, e.Code)
	if e.Seq == nil {
		return
	}
	p.track.mu.Lock()
	defer p.track.mu.Unlock()
	p.track.refuse(*e.Seq)
}

func (p *person) onFriends(m kith.Friends) {
	t := p.sim.tally
	t.pushes.Add(int64(len(m.Near)))
	for i := range m.Near {
		if m.Near[i].Entered {
			t.entered.Add(1)
		}
	}
	for i := range m.Gone {
		t.count(t.gone, m.Gone[i].Reason)
	}
	if p.sim.cfg.Judge {
		now := p.sim.now()
		p.viewer.receive(m, now, func(took time.Duration) {
			t.record(t.push, took)
			p.sim.oracle.lag.note(now, took)
		})
	}
}

// waits reports whether this person's first connection is still to come.
func (p *person) waits() bool {
	p.track.mu.Lock()
	defer p.track.mu.Unlock()
	return !p.track.ever
}

// report sends what the phone has to say, and reports whether it is to be sent
// twice.
func (p *person) report(now time.Duration) (twice bool) {
	s := p.sim
	p.track.mu.Lock()
	defer p.track.mu.Unlock()
	seconds := (now - p.lived).Seconds() * s.cfg.TimeScale
	p.lived = now
	r := p.phone.next(s.wall(now).UnixMilli(), seconds, p.track.located == 0)
	if r.still {
		p.client.Still()
		s.tally.stills.Add(1)
		return false
	}
	is := live
	if r.coarse {
		is = coarse
		s.tally.coarse.Add(1)
	}
	p.send(r.fix, is, now)
	if r.late != nil {
		p.send(*r.late, late, now)
		s.tally.late.Add(1)
	}
	return r.twice
}

// send sends one fix. The track is locked, so that nobody is shown it before it
// stands there.
func (p *person) send(f kith.Fix, is standing, now time.Duration) {
	if f.Speed != nil {
		*f.Speed *= p.sim.cfg.TimeScale
	}
	seq, err := p.client.Fix(f)
	if err != nil {
		panic(err) // it has only numbers
	}
	p.sim.tally.fixes.Add(1)
	p.track.report(mark{seq: seq, ts: f.TS, at: spotAt(f.Lat, f.Lng), is: is, sent: now})
}

// lose loses the network, and returns for how long.
func (p *person) lose() time.Duration {
	o := p.outage()
	p.sim.tally.outages.Add(1)
	if !o.frozen {
		p.line.cut()
		return o.lasts
	}
	p.track.mu.Lock()
	p.track.unsure = true
	p.track.mu.Unlock()
	p.line.freeze()
	return o.lasts
}

// outage draws a change of cells, a lift or a tunnel; some without a word to the
// other end.
func (p *person) outage() outage {
	between := func(least, most float64) time.Duration {
		return time.Duration((least + (most-least)*p.random.Float64()) * float64(time.Second))
	}
	o := outage{frozen: p.random.Float64() < 0.2}
	switch kind := p.random.Float64(); {
	case kind < 0.6:
		o.lasts = between(0, 2)
	case kind < 0.9:
		o.lasts = between(3, 20)
	default:
		o.lasts = between(35, 75)
	}
	return o
}
