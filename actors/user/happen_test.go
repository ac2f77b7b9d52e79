package user_test

import (
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

var devices = []presence.DeviceID{"phone", "watch", "desk"}

// happen lets one random thing happen to p.
func (s *scene) happen(p *person) {
	other := s.people[s.rng.IntN(len(s.people))]
	switch dice := s.rng.IntN(100); {
	case !p.running && dice < 70:
		s.connect(p)
	case dice < 45:
		s.report(p, s.nextPoint(p, other))
	case dice < 50:
		s.rest(p)
	case dice < 56:
		s.connect(p)
	case dice < 64:
		s.disconnect(p)
	case dice < 68:
		s.setRadius(p)
	case dice < 76:
		s.share(p, other)
	case dice < 80:
		s.shareAll(p)
	case dice < 88:
		s.befriend(p, other)
	case dice < 91:
		s.crash(p)
	case dice < 93:
		s.world.Send(actors.User(p.id), &actors.Resync{})
	default:
		s.pass(time.Duration(s.rng.IntN(5000)) * time.Millisecond)
	}
}

// nextPoint is a step of a walk, a visit to somebody, or a place far away.
func (s *scene) nextPoint(p, other *person) geo.Point {
	bearing := s.rng.Float64() * 360
	from := p.at
	if !p.located {
		from = geo.Offset(s.centre, s.rng.Float64()*30_000, bearing)
	}
	switch s.rng.IntN(8) {
	case 0:
		if other.located { // right on the edge of what p sees
			return geo.Offset(other.at, float64(p.radius)+s.rng.Float64()*120-30, bearing)
		}
	case 1:
		return geo.Offset(s.centre, s.rng.Float64()*100_000, bearing)
	case 2:
		return geo.Offset(s.centre, s.rng.Float64()*8000, bearing)
	case 3:
		return from
	}
	return geo.Offset(from, s.rng.ExpFloat64()*900, bearing)
}

func (s *scene) connect(p *person) {
	device := devices[s.rng.IntN(len(devices))]
	s.conns++
	radius := float32(0)
	if s.rng.IntN(3) == 0 {
		radius = min(s.someRadius(), s.cfg.MaxRadius)
	}
	p.started(&s.cfg)
	if radius != 0 {
		p.radius = radius
	}
	if old := p.conns[device]; old != nil {
		delete(p.conns, device)
	}
	c := &client{conn: s.conns, owner: p, view: map[presence.PublicID]presence.Near{}}
	s.clients[c.conn] = c
	s.world.Start(actors.User(p.id), &actors.Attach{Conn: c.conn, Device: device, Radius: radius})
	p.conns[device] = c
}

func (s *scene) disconnect(p *person) {
	for _, device := range devices {
		c := p.conns[device]
		if c == nil {
			continue
		}
		delete(p.conns, device)
		s.world.Send(actors.User(p.id), &actors.Detach{Conn: c.conn})
		if len(p.conns) == 0 {
			p.quit = max(p.quit, s.now()+presence.Millis(s.cfg.Grace.Milliseconds()))
			s.pass(time.Millisecond)
		}
		return
	}
}

// device returns where a report comes from, and notes that it came.
func (s *scene) device(p *person) (presence.DeviceID, presence.ConnID) {
	device := devices[s.rng.IntN(len(devices))]
	conn := presence.ConnID(0)
	if c := p.conns[device]; c != nil {
		conn = c.conn
	} else {
		stale := presence.Millis(s.cfg.StaleAfter.Milliseconds())
		p.quit = max(p.quit, s.now()+stale+stale/32)
	}
	return device, conn
}

func (s *scene) report(p *person, at geo.Point) {
	p.started(&s.cfg)
	device, conn := s.device(p)
	p.seq++
	fix := presence.Fix{At: at, Seq: p.seq, TS: s.now(), Sent: s.now(), Accuracy: 10, Speed: 3, Heading: 90, Battery: 0.5, Altitude: presence.Unset()}
	late := false
	switch s.rng.IntN(12) {
	case 0:
		fix.Accuracy = 1001 + float32(s.rng.IntN(5000))
	case 1: // from the past of this device, or too old for anybody
		fix.TS -= presence.Millis(s.rng.IntN(1_300_000))
		late = fix.TS <= p.last[device] || s.now()-fix.TS >= presence.Millis(s.cfg.StaleAfter.Milliseconds())
		if fix.TS == p.last[device] {
			late = false // a higher seq at the same time is newer
		}
	}
	if !late {
		since := s.now() - p.heard
		if last := p.last[device]; last != 0 {
			since = max(since, fix.TS-last)
		}
		p.last[device] = fix.TS
		s.reported(p, at, fix.Coarse(), since, s.now())
	}
	s.world.Start(actors.User(p.id), &actors.Report{Batch: &presence.Batch{User: p.id, Device: device, Conn: conn, Fixes: []presence.Fix{fix}}})
}

func (s *scene) rest(p *person) {
	p.started(&s.cfg)
	device, conn := s.device(p)
	p.heard = s.now()
	s.world.Start(actors.User(p.id), &actors.Rest{Device: device, Conn: conn})
}

func (s *scene) someRadius() float32 {
	return float32(100 * (1 + s.rng.IntN(1<<s.rng.IntN(10))))
}

func (s *scene) setRadius(p *person) {
	if p.running {
		p.radius = min(s.someRadius(), s.cfg.MaxRadius)
		s.world.Send(actors.User(p.id), &actors.SetRadius{Radius: p.radius})
	}
}

// tell brings a change of settings to an actor: at once, or like one of many
// services would.
func (s *scene) tell(p *person, m actors.Message, now bool) {
	if now {
		s.world.Send(actors.User(p.id), m)
		return
	}
	s.quiet = false
	s.world.Later(actors.User(p.id), m)
}

func (s *scene) someShare(before presence.Share) presence.Share {
	until := presence.Millis(0)
	if s.rng.IntN(3) == 0 {
		until = s.now() + presence.Millis(1+s.rng.IntN(60_000))
	}
	before = presence.Share{Mode: before.At(s.now())}
	return presence.NewShare(presence.Mode(s.rng.IntN(3)), until, before)
}

func (s *scene) share(p, other *person) {
	pair, side := s.pair(p.id, other.id)
	if p == other || !pair.friends {
		return
	}
	s.rev++
	pair.rev++
	pair.share[side] = s.someShare(pair.share[side])
	s.tell(p, &actors.ShareChanged{Friend: other.id, Share: pair.share[side], Rev: pair.rev}, s.rng.IntN(2) == 0 && s.quiet)
}

func (s *scene) shareAll(p *person) {
	p.allRev++
	p.all = s.someShare(p.all)
	if s.rng.IntN(2) == 0 {
		p.all = presence.Share{}
	}
	s.tell(p, &actors.ShareChanged{Share: p.all, Rev: p.allRev}, s.rng.IntN(2) == 0 && s.quiet)
}

func (s *scene) befriend(p, other *person) {
	if p == other {
		return
	}
	pair, _ := s.pair(p.id, other.id)
	pair.rev++
	pair.friends = !pair.friends
	pair.share = [2]presence.Share{}
	now := s.rng.IntN(2) == 0 && s.quiet
	for _, to := range [][2]*person{{p, other}, {other, p}} {
		row, friends := loader{s}.row(to[0].id, to[1].id)
		s.tell(to[0], &actors.FriendChanged{Friendship: row, Friends: friends, Reason: presence.Unfriended}, now)
	}
}

// crash takes an actor away as a panic does. Its clients notice.
func (s *scene) crash(p *person) {
	if !p.running {
		return
	}
	s.world.Crash(actors.User(p.id))
	p.running, p.located, p.ghost, p.quit = false, false, max(p.ghost, p.heard), 0
	p.conns = nil
}
