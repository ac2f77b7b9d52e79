package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

const (
	// maxTraces is how many looks at users may go on at once.
	maxTraces = 8
	// traceNotes is how many messages of a user are remembered while one does.
	traceNotes = 64
)

// traces is who is being looked at. Nothing is noted of anybody else.
type traces struct {
	open  atomic.Int32     // looks; read without the lock by connections that begin
	shown prometheus.Gauge // the same

	mu     sync.Mutex
	byUser map[presence.PublicID]*trace
}

// trace is what is noted of one user while somebody looks: names of messages,
// counts and codes, never what is in them.
type trace struct {
	all   *traces
	user  presence.PublicID
	looks int // guarded by all.mu

	mu    sync.Mutex                // held before the mu of a connection
	conns map[presence.ConnID]*Conn // those that note; each leaves when it ends

	noting sync.Mutex // held after it: guards what follows
	notes  [traceNotes]TraceNote
	n      int // notes so far
}

// TraceNote is one message of a traced user.
type TraceNote struct {
	N    int             `json:"n"` // counts up from 1, with gaps where more came than are kept
	At   presence.Millis `json:"at"`
	Conn presence.ConnID `json:"conn"`
	In   bool            `json:"in"` // from the client
	Type string          `json:"type"`
	Note string          `json:"note"` // how many, or which code; often ""
}

// begin begins to look at a user; nil if too many looks go on.
func (a *traces) begin(user presence.PublicID) *trace {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open.Load() >= maxTraces {
		return nil
	}
	a.shown.Set(float64(a.open.Add(1)))
	t := a.byUser[user]
	if t == nil {
		t = &trace{all: a, user: user, conns: map[presence.ConnID]*Conn{}}
		if a.byUser == nil {
			a.byUser = map[presence.PublicID]*trace{}
		}
		a.byUser[user] = t
	}
	t.looks++
	return t
}

// end ends one look. After the last nothing is noted any more.
func (t *trace) end() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.shown.Set(float64(t.all.open.Add(-1)))
	if t.looks--; t.looks > 0 {
		return
	}
	delete(t.all.byUser, t.user)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.trace.CompareAndSwap(t, nil)
	}
	t.conns = nil
}

// meet makes a connection note, if its user is looked at.
func (a *traces) meet(c *Conn, user presence.PublicID) {
	if a.open.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.byUser[user]; t != nil {
		t.join(c)
	}
}

// join makes c note. One that has ended meanwhile does not stay.
func (t *trace) join(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil || t.conns[c.id] == c {
		return
	}
	t.conns[c.id] = c
	c.trace.Store(t)
	c.mu.Lock()
	over := c.phase == dead
	c.mu.Unlock()
	if over {
		c.trace.Store(nil)
		delete(t.conns, c.id)
	}
}

// leave is the end of a connection.
func (t *trace) leave(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c.id)
}

func (t *trace) note(c *Conn, in bool, kind, note string) {
	at := millis(c.now())
	t.noting.Lock()
	defer t.noting.Unlock()
	t.notes[t.n%traceNotes] = TraceNote{N: t.n + 1, At: at, Conn: c.id, In: in, Type: kind, Note: note}
	t.n++
}

// last returns what was noted, the newest first.
func (t *trace) last() []TraceNote {
	t.noting.Lock()
	defer t.noting.Unlock()
	out := make([]TraceNote, 0, min(t.n, traceNotes))
	for i := range cap(out) {
		out = append(out, t.notes[(t.n-1-i)%traceNotes])
	}
	return out
}

// noteFrame notes what the client has sent.
func (c *Conn) noteFrame(f *wire.Frame, bad *wire.Error) {
	t := c.trace.Load()
	if t == nil {
		return
	}
	kind, note := f.Type.String(), ""
	if f.Type == wire.Fixes {
		note = fmt.Sprintf("%d fixes", len(f.Fixes))
	}
	if bad != nil {
		note = bad.Code.String()
		if f.Type == wire.NoType {
			kind = "bad"
		}
	}
	t.note(c, true, kind, note)
}

// noteText notes a text frame that the client is sent, which is no view: by its
// type, and by its code if it is an error.
func (c *Conn) noteText(frame []byte) {
	t := c.trace.Load()
	if t == nil {
		return
	}
	kind := quoted(frame, `"type":"`)
	if kind == "error" {
		t.note(c, false, kind, quoted(frame, `"code":"`))
		return
	}
	t.note(c, false, kind, "")
}

// quoted is what stands in a frame after a mark, up to the next quote.
func quoted(frame []byte, mark string) string {
	_, rest, _ := bytes.Cut(frame, []byte(mark))
	name, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(name)
}

// noteSent notes that the client is sent something.
func (c *Conn) noteSent(kind string, note func() string) {
	if t := c.trace.Load(); t != nil {
		t.note(c, false, kind, note())
	}
}

func noNote() string { return "" }

// viewNote says how much of a view is sent.
func viewNote(full bool, near, gone int) string {
	note := fmt.Sprintf("%d near", near)
	if gone > 0 {
		note += fmt.Sprintf(", %d gone", gone)
	}
	if full {
		note += ", full"
	}
	return note
}

// ConnLook is one connection of a traced user.
type ConnLook struct {
	Conn      presence.ConnID   `json:"conn"`
	Device    presence.DeviceID `json:"device"`
	Since     presence.Millis   `json:"since"`
	Heard     presence.Millis   `json:"heard"` // the last frame of the client
	FramesIn  uint32            `json:"frames_in"`
	FramesOut uint32            `json:"frames_out"`
	BytesOut  int64             `json:"bytes_out"`
	Queue     int               `json:"queue"`  // what waits to be written: answers, an ack, friends
	Pinged    bool              `json:"pinged"` // a ping waits for its answer
	Closing   bool              `json:"closing"`
}

// look tells about those of a user's devices that are connected, and makes them
// note from now on.
func (h *Hub) look(t *trace, devices []DeviceLook) []ConnLook {
	looks := []ConnLook{}
	for _, d := range devices {
		if c, ok := h.conns.get(d.Conn); ok && d.Conn != 0 {
			t.join(c)
			looks = append(looks, c.look(d.Device))
		}
	}
	slices.SortFunc(looks, func(a, b ConnLook) int { return int(a.Since - b.Since) })
	return looks
}

func (c *Conn) look(device presence.DeviceID) ConnLook {
	hub := c.sockets.hub
	c.mu.Lock()
	defer c.mu.Unlock()
	l := ConnLook{
		Conn: c.id, Device: device,
		Since: millis(hub.began) + presence.Millis(c.since)*1000, Heard: millis(hub.began) + presence.Millis(c.heard.Load()/1e6),
		FramesIn: c.framesIn.Load(), FramesOut: c.framesOut, BytesOut: c.written.Load(),
		Pinged: c.pinged != 0, Closing: c.phase >= closing,
	}
	if p := c.pending; p != nil {
		l.Queue = p.count + p.view.waiting
		if p.acks {
			l.Queue++
		}
	}
	return l
}
