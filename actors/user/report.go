package user

import (
	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// agree is how near two fixes in a row must be for the second to confirm a jump
// that the first made, in metres.
const agree = 500

// onReport records the batch and lets its newest fix move the user.
func (t *turn) onReport(m *actors.Report) {
	b := m.Batch
	t.out.Record(b)
	d := t.device(b.Device)
	t.note(b.Conn)
	newest, last := t.newest(d, b)
	if newest == nil {
		return
	}
	since := presence.Millis(0)
	if d.last != 0 {
		since = last - d.last
	}
	d.last, d.seq, d.sent = last, newest.Seq, newest.Sent
	leap := !newest.Coarse() && t.leaps(newest, max(since, t.now-t.heard))
	t.heard, t.still = t.now, false
	if leap {
		t.hold(newest, b.Received)
	} else {
		t.take(newest, b.Received)
	}
}

// newest returns the fix of b that is newer than all from this device and the
// time that orders it, or nil. Device clocks order the fixes of that device and
// nothing else. One that runs ahead is taken at the server's time; then a fix is
// still not newer if neither its seq nor its own time is (it was sent again). The
// server's clock may have been set back, which must not make all fixes old.
func (t *turn) newest(d *device, b *presence.Batch) (*presence.Fix, presence.Millis) {
	var best *presence.Fix
	last, seq, sent := min(d.last, t.now), d.seq, d.sent
	for i := range b.Fixes {
		fix := &b.Fixes[i]
		order := min(fix.TS, t.now)
		if fix.Sent > t.now {
			t.out.Count(actors.FixFuture, 1)
		}
		again := fix.Sent != 0 && fix.Sent <= sent && fix.Seq <= seq
		switch {
		case again && fix.Sent == sent && fix.Seq == seq, order == last && fix.Seq == seq:
			t.out.Count(actors.FixDuplicate, 1)
		case again, order < last || (order == last && fix.Seq < seq), t.now-order >= millis(t.cfg.StaleAfter):
			t.out.Count(actors.FixLate, 1)
		default:
			if best != nil {
				t.out.Count(actors.FixLate, 1)
			}
			best, last, seq, sent = fix, order, fix.Seq, fix.Sent
		}
	}
	return best, last
}

// leaps reports whether nobody gets from where we are to fix in the time since
// the last report.
func (t *turn) leaps(fix *presence.Fix, since presence.Millis) bool {
	if t.cfg.MaxSpeed == 0 || t.cfg.JumpHold == 0 || !t.located {
		return false
	}
	seconds := max(float64(since)/1000, 1)
	if geo.Distance(t.at, fix.At) <= t.cfg.MaxSpeed*seconds {
		return false
	}
	x := t.extra
	return x == nil || x.held == nil || geo.Distance(x.held.fix.At, fix.At) > agree
}

// hold keeps fix until another agrees or time passes. A new one takes the place
// of one held before, but not more time.
func (t *turn) hold(fix *presence.Fix, born presence.Micros) {
	t.out.Count(actors.FixHeld, 1)
	x := t.more()
	until := t.now + millis(t.cfg.JumpHold)
	if x.held != nil {
		until = x.held.until
	}
	x.held = &held{fix: *fix, born: born, until: until}
	t.wakeBy(until)
}

// believeHeld takes a held fix that nothing has contradicted.
func (t *turn) believeHeld() {
	if x := t.extra; x != nil && x.held != nil && t.now >= x.held.until {
		t.take(&x.held.fix, x.held.born)
	}
}

// take makes fix the user's current one.
func (t *turn) take(fix *presence.Fix, born presence.Micros) {
	name, first := presence.PublicID(""), t.position == nil
	if !first {
		name = t.position.User
	}
	t.position = &presence.Position{
		User: name, At: fix.At, TS: fix.TS, Accuracy: fix.Accuracy, Speed: fix.Speed, Heading: fix.Heading,
		Battery: fix.Battery, State: presence.Live, Precision: presence.Exact, Born: born,
	}
	t.area = nil
	if fix.Coarse() {
		t.out.Count(actors.FixCoarse, 1)
		t.oweReport(false)
		if first {
			t.pushFull(0) // nobody can be near yet, and the client is to know that
		}
		return
	}
	t.out.Count(actors.FixLive, 1)
	if x := t.extra; x != nil && x.held != nil {
		x.held = nil
		t.slim()
	}
	t.moveTo(fix.At)
}

// moveTo sets where the user is, for all decisions.
func (t *turn) moveTo(at geo.Point) {
	moved := at != t.at || !t.located
	t.at, t.from = at, nil
	t.made = [8]*actors.Told{}
	if !t.located {
		t.located = true
		t.beginView()
		return
	}
	t.oweReport(moved)
}

// beginView starts what the first position makes possible: finding friends, and
// showing them once they have answered.
func (t *turn) beginView() {
	t.settling = true
	t.more().settleBy = t.now + millis(t.cfg.Settle)
	t.wakeBy(t.extra.settleBy)
	t.sync()
}

// onRest keeps the user present where they are.
func (t *turn) onRest(m *actors.Rest) {
	t.device(m.Device)
	t.note(m.Conn)
	t.heard = t.now
	if !t.still && t.position != nil {
		t.position = t.position.Copy()
		t.position.State, t.position.Born = presence.Idle, 0
		t.area = nil
	}
	t.still = true
	if t.located {
		t.oweReport(false)
	}
}

// setName puts the user's public id into what friends are shown.
func (t *turn) setName(name presence.PublicID) {
	if t.position == nil || t.position.User == name {
		return
	}
	t.position = t.position.Copy()
	t.position.User = name
	t.area = nil
}
