package user

import (
	"math"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// State is the Core of one user.
type State struct {
	cfg     *Config
	id      presence.UserID
	session presence.Session
	version presence.Version // of what was told last

	position *presence.Position // what friends with `exact` are shown; nil before the first fix
	area     *presence.Position // the same for `area`; nil until somebody needs it
	at       geo.Point          // what decides who is near: the last fix that was not coarse
	anchor   geo.Point          // where all far friends were last looked at…
	margin   float32            // …and how far from there none of them need be told, metres
	radius   float32            // metres
	heard    presence.Millis    // when the user last reported; 0 = never
	wake     presence.Millis    // when the next Tick is due; 0 = none
	quit     presence.Millis    // when to stop if no connection is there then
	allRev   uint64
	all      presence.Mode // how the user shares with everyone
	located  bool          // at is known
	ready    bool          // the store has said who the friends are
	still    bool          // the last report was a still
	settling bool          // the first view waits for friends to answer
	conns    uint8         // connected devices
	areas    bool          // some friend is on `area`, or was since the last full look

	devices []device
	table
	extra *extra // what few users need at a time; nil when they do not
}

// New returns the Core of a user whose session begins now. Nothing is pushed or
// told before an Attach or a Report.
func New(cfg *Config, id presence.UserID, session presence.Session) *State {
	return &State{cfg: cfg, id: id, session: session, version: presence.Version(session), radius: cfg.Radius}
}

var _ actors.Core = (*State)(nil)

// Step handles one message.
func (s *State) Step(now time.Time, m actors.Message, out *actors.Outbox) {
	turn := turn{State: s, now: presence.Millis(now.UnixMilli()), out: out}
	switch m := m.(type) {
	case *actors.Told:
		turn.onTold(m)
	case *actors.Report:
		turn.onReport(m)
	case *actors.Rest:
		turn.onRest(m)
	case *actors.Tick:
		turn.onTick()
	case *actors.Attach:
		turn.onAttach(m)
	case *actors.Detach:
		turn.onDetach(m)
	case *actors.SetRadius:
		turn.onSetRadius(m)
	case *actors.ShareChanged:
		turn.onShareChanged(m)
	case *actors.FriendChanged:
		turn.onFriendChanged(m)
	case *actors.FriendsLoaded:
		turn.onFriendsLoaded(m)
	case *actors.FriendLoaded:
		turn.onFriendLoaded(m)
	case *actors.Located:
		turn.onLocated(m)
	case *actors.Resync:
		turn.onResync()
	case *actors.Noticed:
		turn.onNoticed(m)
	case *actors.Inspect:
		turn.onInspect(m)
	case *actors.Erased:
		turn.onErased(m)
	default:
		out.Count(actors.Unhandled, 1)
	}
	turn.flush()
}

// turn is one Step: the state, the time, and what the step has made so far.
type turn struct {
	*State
	now    presence.Millis
	out    *actors.Outbox
	made   [8]*actors.Told // one Told for all who are owed the same, by form
	change *presence.Change
	muted  bool // a full view follows: changes need not be pushed one by one

	from     *friend // whose distance is…
	distance float64 // …this, in metres; nil = nobody's
}

// to is the distance from the user to f, by what decides.
func (t *turn) to(f *friend) float64 {
	if t.from != f {
		t.from, t.distance = f, geo.Distance(t.at, f.at)
	}
	return t.distance
}

// wakeBy makes sure of a Tick at or before at.
func (t *turn) wakeBy(at presence.Millis) {
	if at <= 0 || (t.wake != 0 && t.wake <= at) {
		return
	}
	t.wake = at
	t.out.Timer(time.UnixMilli(int64(at)))
}

// onTick does all that is due, and finds the next time that something will be.
func (t *turn) onTick() {
	t.wake = 0
	if t.conns == 0 && t.now >= t.quit {
		t.signOff()
		return
	}
	t.expireFriends()
	t.endShares()
	t.believeHeld()
	t.settle()
	t.retryStore()
	t.forgetPartings()
	t.rearm()
}

// rearm asks for the earliest of all Ticks that are needed.
func (t *turn) rearm() {
	next := presence.Millis(math.MaxInt64)
	consider := func(at presence.Millis) {
		if at != 0 && at < next {
			next = at
		}
	}
	if t.conns == 0 {
		consider(t.quit)
	}
	for i := range t.slots {
		if t.inSlot(i).has(near) {
			consider(t.slots[i].heard() + millis(t.cfg.StaleAfter))
		}
	}
	if x := t.extra; x != nil {
		consider(x.settleBy)
		consider(x.retryAt)
		if x.held != nil {
			consider(x.held.until)
		}
		for i := range x.partings {
			consider(x.partings[i].until)
		}
		for _, end := range x.ends {
			consider(end.share.Until)
		}
	}
	if next != math.MaxInt64 {
		t.wakeBy(next)
	}
}

// Warm reads what a message will need, for the host to overlap such reads of
// several users: first this State, then what it points to.
func (s *State) Warm(stage int, m actors.Message) (sum uint64) {
	switch stage {
	case 0:
		sum = uint64(len(s.slots)) + uint64(s.version) + uint64(s.conns)
	case 1:
		const line = 64 / 24 // slots to a cache line
		for i := 0; i < len(s.slots); i += line {
			sum += uint64(s.slots[i].id)
		}
		if len(s.devices) > 0 {
			sum += uint64(s.devices[0].conn)
		}
	case 2:
		if told, ok := m.(*actors.Told); ok {
			if i, ok := s.slotPlace(told.From); ok {
				sum = uint64(s.inSlot(i).bits)
			}
		}
	}
	return sum
}

// Connections lists the user's client connections, for the host to close if
// this Core panics.
func (s *State) Connections() []presence.ConnID {
	var conns []presence.ConnID
	for i := range s.devices {
		if s.devices[i].conn != 0 {
			conns = append(conns, s.devices[i].conn)
		}
	}
	return conns
}
