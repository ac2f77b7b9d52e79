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

// note takes in that a device has reported over conn. One that is not attached
// reports over HTTP, and makes the user present until it goes stale.
func (t *turn) note(d *device, conn presence.ConnID) {
	t.byHTTP = conn == 0 || d.conn != conn
	if t.byHTTP && t.conns == 0 {
		t.quitBy(t.now + millis(t.cfg.StaleAfter))
	}
}

func (t *turn) quitBy(at presence.Millis) {
	t.quit = max(t.quit, at)
	t.wakeBy(t.quit)
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
	t.quit = 0
	full := m.Conn
	if m.Radius != 0 && m.Radius != t.radius {
		t.setRadius(m.Radius)
		full = 0 // everybody's view has changed
	}
	t.out.Welcome(m.Conn, &presence.Welcome{Session: t.session, Radius: t.radius, ExitRadius: presence.ExitRadius(t.radius)})
	if t.located && !t.settling {
		t.pushFull(full)
	}
}

// disconnect closes a connection that another takes the place of.
func (t *turn) disconnect(conn presence.ConnID) {
	t.out.Close(conn, presence.Replaced)
	t.gone(conn)
}

// gone takes a connection away from its device.
func (t *turn) gone(conn presence.ConnID) {
	for i := range t.devices {
		if t.devices[i].conn == conn {
			t.devices[i].conn = 0
			t.conns--
		}
	}
}

// onDetach takes a connection away. Friends notice nothing unless it was the
// last one and none comes back within Grace.
func (t *turn) onDetach(m *actors.Detach) {
	t.gone(m.Conn)
	if t.conns > 0 || t.quit != 0 {
		return
	}
	t.quitBy(t.now + millis(t.cfg.Grace))
	if t.byHTTP && t.heard != 0 {
		t.quitBy(t.heard + millis(t.cfg.StaleAfter))
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
	for _, conn := range t.Connections() {
		t.out.Close(conn, presence.Unauthorized)
	}
	t.out.Reply(m.Ask, true)
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
