package user

import (
	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// Quiet zones (DESIGN.md section 5). For a pair let u, v be what they told each
// other last and R the larger exit radius, grown by the grid's reach for each
// side that is told on the grid only. Beyond R, each may move (d(u,v) - R)/2
// from what it told without a word, and the pair still cannot come within R:
//
//	d(now, v') >= d(u,v) - d(now,u) - d(v',v) >= R
//
// Within R every report is owed ("follows"), and a friend enters a view only
// while it follows, so that nobody enters on an outdated position.

// why says what made a friend's turn come.
type why uint8

const (
	met      why = 0         // they told us something
	reported why = 1 << iota // we have a new report
	asked                    // they want to be told, whatever the quiet zone says
	asking                   // and we want to be told in return
)

// owe tells f what is owed to it, and reports whether anything was.
func (t *turn) owe(f *friend, why why) bool {
	mode := t.modeTo(f)
	switch {
	case t.located && !t.ready:
		return false // U3: whom we share with is not known yet
	case t.ready && mode == presence.None:
		return t.oweNothing(f, why)
	case !t.located || (t.cfg.Mutual && f.has(hides)):
		f.put(hasTold|toldFollows, false)
		t.tidySlot(f)
		if why&asked == 0 {
			return false
		}
		t.send(f, &actors.Told{Kind: actors.NoPosition}, why)
		return true
	}
	at := t.seenAt(mode)
	follow := t.mustFollow(f, at, mode)
	if why&asked == 0 && !t.due(f, at, mode, follow, why) {
		return false
	}
	t.sendPosition(f, mode, follow, why)
	f.told = at
	f.put(hasTold, true)
	f.put(toldHidden, false)
	f.put(toldFollows, follow)
	if follow {
		t.giveSlot(f)
	} else {
		t.tidySlot(f)
		t.narrow(f) // it is far from now on
	}
	return true
}

// oweNothing tells f, once, that we do not share with it.
func (t *turn) oweNothing(f *friend, why why) bool {
	f.put(hasTold|toldFollows, false)
	if t.cfg.Mutual {
		f.put(follows, false) // it stops telling us
	}
	t.tidySlot(f)
	if f.has(toldHidden) && why&asked == 0 {
		return false
	}
	f.put(toldHidden, true)
	t.send(f, &actors.Told{Kind: actors.NotShared}, why)
	return true
}

// due reports whether a position is owed without having been asked for.
func (t *turn) due(f *friend, at geo.Point, mode presence.Mode, follow bool, why why) bool {
	switch {
	case follow:
		return why&reported != 0 || !f.has(toldFollows)
	case f.has(toldFollows): // they must know that it ends
		return true
	case !f.has(knows): // they have no position, and ask as soon as they have
		return false
	case !f.has(hasTold):
		return true
	}
	return geo.Distance(at, f.told) > t.slack(f, mode)
}

// slack is how far we may be from what we told f before it must be told again.
func (t *turn) slack(f *friend, mode presence.Mode) float64 {
	return max(0, (geo.Distance(f.told, f.at)-t.reach(f, mode))/2)
}

// reach is R of the pair.
func (t *turn) reach(f *friend, mode presence.Mode) float64 {
	r := max(float64(presence.ExitRadius(t.radius)), f.exitRadius())
	if mode == presence.Area {
		r += presence.AreaGrid.Reach()
	}
	if f.has(coarseGrid) {
		r += presence.AreaGrid.Reach()
	}
	return r
}

// mustFollow reports whether every report of ours is owed to f.
func (t *turn) mustFollow(f *friend, at geo.Point, mode presence.Mode) bool {
	if !f.has(knows) {
		// Where they are we may not know, but they may see us.
		return f.has(hides) && !t.cfg.Mutual
	}
	if mode == presence.Area {
		return geo.Distance(at, f.at) <= t.reach(f, mode)
	}
	return t.to(f) <= t.reach(f, mode)
}

// modeTo is how we share with f now.
func (s *State) modeTo(f *friend) presence.Mode { return presence.Tighter(s.all, f.mode()) }

// seenAt is what decides for a friend with mode where we are.
func (s *State) seenAt(mode presence.Mode) geo.Point {
	if mode == presence.Area {
		return presence.AreaGrid.Snap(s.at)
	}
	return s.at
}

// sendPosition tells f where we are, with the Told that others in the same case
// got in this turn.
func (t *turn) sendPosition(f *friend, mode presence.Mode, follow bool, why why) {
	form := 0
	if mode == presence.Area {
		form = 1
		t.areas = true
	}
	if follow {
		form |= 2
	}
	if why&asking != 0 {
		form |= 4
	}
	if t.made[form] == nil {
		told := &actors.Told{Kind: actors.AtPosition, Follows: follow, At: t.seenAt(mode), Position: t.positionFor(mode)}
		t.address(told, why)
		t.made[form] = told
	}
	t.out.Send(actors.User(f.id()), t.made[form])
}

// send tells f something that is for it alone.
func (t *turn) send(f *friend, told *actors.Told, why why) {
	t.address(told, why)
	t.out.Send(actors.User(f.id()), told)
}

// address fills in what every Told says.
func (t *turn) address(told *actors.Told, why why) {
	t.version++
	told.From = t.id
	told.Version = t.version
	told.Answer = why&asking != 0
	told.Radius = presence.ExitRadius(t.radius)
	told.Heard = t.heard
}

// positionFor is what a friend with mode is shown.
func (s *State) positionFor(mode presence.Mode) *presence.Position {
	if mode != presence.Area {
		return s.position
	}
	if s.area == nil {
		p := s.position
		s.area = &presence.Position{
			User: p.User, At: presence.AreaGrid.Snap(p.At), TS: p.TS,
			Accuracy: presence.Unset(), Speed: presence.Unset(), Heading: presence.Unset(),
			Battery: p.Battery, State: p.State, Precision: presence.Area, Born: p.Born,
		}
	}
	return s.area
}

// oweReport tells everybody to whom the new report is owed. moved says that at
// has changed: far friends may have to be told too, and the view looks different.
func (t *turn) oweReport(moved bool) {
	sent := 0
	if moved && t.farMatter() {
		sent = t.oweEverybody()
	} else {
		for i := len(t.slots) - 1; i >= 0; i-- { // backwards: the slot may be dropped
			f := t.inSlot(i)
			if t.owe(f, reported) {
				sent++
			}
			if moved {
				t.look(f, true)
			}
		}
	}
	t.out.Count(actors.Owed, sent)
	t.out.Count(actors.Avoided, len(t.friends)-sent)
}

// farMatter reports whether a friend out of range may have to be told: not
// while we are within the smallest of all their quiet zones. Friends on the
// grid see us jump a cell at a time, which the margin does not cover.
func (t *turn) farMatter() bool {
	return t.areas || geo.Distance(t.at, t.anchor) > float64(t.margin)
}

// oweEverybody looks at every friend, and finds the margin anew.
func (t *turn) oweEverybody() (sent int) {
	t.anchor, t.areas = t.at, false
	margin := float64(farthest)
	for i := range t.friends {
		f := &t.friends[i]
		if t.owe(f, reported) {
			sent++
		}
		if f.has(ranged) {
			t.look(f, true)
		}
		margin = min(margin, t.marginOf(f))
	}
	t.margin = narrowed(margin)
	return sent
}

// narrowed is metres as a margin; rounding must not add to it.
func narrowed(metres float64) float32 { return float32(metres) * (1 - 1e-6) }

// lookAtAll makes the next report look at every friend.
func (s *State) lookAtAll() { s.margin = -1 }

// marginOf is how far from the anchor we may go before f, if it is far, could
// have to be told.
func (t *turn) marginOf(f *friend) float64 {
	mode := t.modeTo(f)
	if mode == presence.Area {
		t.areas = true
	}
	if f.has(toldFollows) || !f.has(hasTold) || !f.has(knows) || mode != presence.Exact {
		return farthest // in range, not told anything, or looked at every time
	}
	// A millimetre and a half for rounding, see geo G3. Below 0: always look.
	return t.slack(f, mode) - geo.Distance(t.anchor, f.told) - 0.0015
}

// narrow takes what f just told, or was told, into the margin.
func (t *turn) narrow(f *friend) {
	if t.ready && t.located {
		t.margin = min(t.margin, narrowed(t.marginOf(f)))
	}
}
