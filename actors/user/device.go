package user

import (
	"slices"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// Bounds of one user (U13). One more connection closes the oldest; one more
// device makes the one forgotten that has no connection and reported longest ago.
const (
	MaxConns   = 8
	MaxDevices = 16
)

// device is one device of the user, connected or not.
type device struct {
	id   presence.DeviceID
	conn presence.ConnID // 0 = not connected
	last presence.Millis // time of its newest fix; 0 = none
	seq  uint64          // seq of its newest fix
	sent presence.Millis // its own time of its newest fix; 0 = it said none
}

// device returns the device called id, new if it was not known.
func (t *turn) device(id presence.DeviceID) *device {
	for i := range t.devices {
		if t.devices[i].id == id {
			return &t.devices[i]
		}
	}
	if len(t.devices) >= MaxDevices {
		t.forgetDevice()
	}
	t.devices = append(grown(t.devices), device{id: id})
	return &t.devices[len(t.devices)-1]
}

func (t *turn) forgetDevice() {
	oldest := -1
	for i := range t.devices {
		if t.devices[i].conn == 0 && (oldest < 0 || t.devices[i].last < t.devices[oldest].last) {
			oldest = i
		}
	}
	t.devices = slices.Delete(t.devices, oldest, oldest+1) // MaxConns < MaxDevices: there is one
}

// note takes in that the user has reported over conn. A report over HTTP makes
// the user present until it goes stale, and a little longer, so that friends see
// why. The last words of a connection that is closed by now change nothing.
func (t *turn) note(conn presence.ConnID) {
	switch stale := millis(t.cfg.StaleAfter); {
	case conn == 0 || conn >= presence.FirstWaiter:
		t.quitAfter(t.now + stale + stale/32)
	case t.conns == 0:
		t.quitAfter(t.now + millis(t.cfg.Grace))
	}
}

// quitAfter keeps the user present until at, without any connection.
func (t *turn) quitAfter(at presence.Millis) {
	t.quit = max(t.quit, at)
	if t.conns == 0 {
		t.wakeBy(t.quit)
	}
}

// onAttach adds a connection.
func (t *turn) onAttach(m *actors.Attach) {
	d := t.device(m.Device)
	if d.conn != 0 && d.conn != m.Conn {
		t.disconnect(d.conn)
	}
	if d.conn == 0 {
		t.conns++
	}
	d.conn = m.Conn
	if t.conns > MaxConns {
		t.disconnect(slices.Min(t.Connections()))
	}
	full := m.Conn
	if m.Radius != 0 && m.Radius != t.radius {
		t.setRadius(m.Radius)
		full = 0 // everybody's view has changed
	}
	t.out.Welcome(m.Conn, &presence.Welcome{Session: t.session, Radius: t.radius, ExitRadius: presence.ExitRadius(t.radius)})
	if t.position != nil && !t.settling {
		t.pushFull(full)
	}
}

// disconnect closes a connection that another takes the place of.
func (t *turn) disconnect(conn presence.ConnID) {
	t.out.Close(conn, presence.Replaced)
	t.gone(conn)
}

// gone takes a connection away from its device, if it has one.
func (t *turn) gone(conn presence.ConnID) bool {
	for i := range t.devices {
		if t.devices[i].conn == conn && conn != 0 {
			t.devices[i].conn = 0
			t.conns--
			return true
		}
	}
	return false
}

// onDetach takes a connection away. Friends notice nothing unless it was the
// last one and none comes back within Grace.
func (t *turn) onDetach(m *actors.Detach) {
	if t.gone(m.Conn) && t.conns == 0 {
		t.quitAfter(t.now + millis(t.cfg.Grace))
	}
}

// signOff ends the session.
func (t *turn) signOff() {
	told := &actors.Told{Kind: actors.SignedOff}
	t.address(told, met)
	for i := range t.friends {
		t.out.Send(actors.User(t.friends[i].id()), told)
	}
	t.out.Stop()
}

// onErased ends the session of a user who no longer exists.
func (t *turn) onErased(m *actors.Erased) {
	t.out.Reply(m.Ask, true)
	t.vanish()
}

// vanish signs the user off and their clients too.
func (t *turn) vanish() {
	for _, conn := range t.Connections() {
		t.out.Close(conn, presence.Unauthorized)
	}
	t.signOff()
}

// Snapshot is a copy of a user's state.
type Snapshot struct {
	Session     presence.Session
	State       presence.State
	Heard       presence.Millis // 0 = never
	Near        []presence.Near
	Online      int // friends who are online
	InRange     int // of them, those who follow or are followed
	Connections int
	Radius      float32 // metres

	// Only if asked for closely.
	Devices []DeviceState
	Friends []FriendState // who are online, in order of id
}

// onInspect answers with a Snapshot.
func (t *turn) onInspect(m *actors.Inspect) {
	state := presence.Stale
	if t.heard != 0 {
		state = presence.StateAt(t.now, t.heard, t.still, millis(t.cfg.StaleAfter))
	}
	t.expireFriends()
	s := Snapshot{
		Session: t.session, State: state, Heard: t.heard, Near: t.nearby(),
		Online: len(t.friends), InRange: len(t.slots), Connections: int(t.conns), Radius: t.radius,
	}
	if m.Closely {
		s.Devices, s.Friends = t.deviceStates(), t.friendStates()
	}
	t.out.Reply(m.Ask, s)
}
