package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

const (
	// traceEvery is how often a live trace says how its user is.
	traceEvery = time.Second
	// traceWrite is how long whoever looks may take nothing.
	traceWrite = 10 * time.Second
	// traceLook bounds the questions for one look.
	traceLook = 5 * time.Second
)

// tracer shows single users. Invariants (cited by tests as TestTR1_…):
//
//	TR1  A trace holds no position, no distance in figures, and nothing of what
//	     is in messages.
//	TR2  Nothing is noted of a user at whom nobody looks; with the last look, or
//	     its request, the noting ends.
//	TR3  At most maxTraces looks at once.
type tracer struct {
	users Inspector
	hub   *Hub
}

// TraceBody is one user at one moment.
type TraceBody struct {
	User        presence.PublicID `json:"user"`
	At          presence.Millis   `json:"at"`
	State       string            `json:"state"` // "live", "idle", "stale", "offline"
	Session     presence.Session  `json:"session"`
	Heard       presence.Millis   `json:"heard"` // the last report; 0 = never
	RadiusM     float32           `json:"radius_m"`
	Connections []ConnLook        `json:"connections"`
	Devices     []DeviceBody      `json:"devices"`
	Friends     StandingsBody     `json:"friends"`
	Messages    []TraceNote       `json:"messages"` // the newest first; since the trace began
}

// DeviceBody is one device of a user.
type DeviceBody struct {
	Device presence.DeviceID `json:"device"`
	Conn   presence.ConnID   `json:"conn"`     // 0 = not connected
	Last   presence.Millis   `json:"last_fix"` // 0 = none
}

// StandingsBody is a user's friends.
type StandingsBody struct {
	Online  int            `json:"online"`
	Offline int            `json:"offline"`
	Unnamed bool           `json:"unnamed"` // the store cannot say who they are
	List    []StandingBody `json:"list"`    // near ones first, at most MostFriendLooks
}

// StandingBody is how a friend stands to the user.
type StandingBody struct {
	User     presence.PublicID `json:"user"`
	Standing string            `json:"standing"`
	Distance string            `json:"distance"` // a word, of those who are far
	Share    string            `json:"share"`    // how the user shares with them
	Heard    presence.Millis   `json:"heard"`    // 0 = not known
}

// trace answers GET /v1/users/{user}/trace: once, or as server-sent events until
// the request or the hub ends.
func (t *tracer) trace(w http.ResponseWriter, r *http.Request) {
	user, err := presence.ParsePublicID(r.PathValue("user"))
	if err != nil {
		badField("user", "%s", err).write(w)
		return
	}
	notes := t.hub.traces.begin(user)
	if notes == nil {
		newProblem(http.StatusTooManyRequests, wire.TooMany, "%d users are being traced; end one of those traces first", maxTraces).write(w)
		return
	}
	defer notes.end()
	body, err := t.look(r.Context(), notes)
	switch {
	case err != nil:
		portProblem(err).write(w)
	case strings.Contains(r.Header.Get("Accept"), eventStream):
		t.stream(w, r, notes, body)
	default:
		writeBody(w, http.StatusOK, body)
	}
}

const eventStream = "text/event-stream"

// stream sends one event for each look. The last one says why there are no more.
func (t *tracer) stream(w http.ResponseWriter, r *http.Request, notes *trace, body TraceBody) {
	w.Header().Set("Content-Type", eventStream)
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the server's is for requests, and this one has been read
	tick := time.NewTicker(traceEvery)
	defer tick.Stop()
	for {
		if send(w, out, "trace", body) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-t.hub.ctx.Done():
			_ = send(w, out, "end", unavailable("The node is stopping."))
			return
		}
		var err error
		if body, err = t.look(r.Context(), notes); err != nil {
			_ = send(w, out, "end", portProblem(err))
			return
		}
	}
}

// send writes one server-sent event.
func send(w http.ResponseWriter, out *http.ResponseController, name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_ = out.SetWriteDeadline(time.Now().Add(traceWrite))
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text); err != nil {
		return err
	}
	return out.Flush()
}

func (t *tracer) look(ctx context.Context, notes *trace) (TraceBody, error) {
	ctx, cancel := context.WithTimeout(ctx, traceLook)
	defer cancel()
	l, err := t.users.Look(ctx, notes.user)
	if err != nil {
		return TraceBody{}, err
	}
	b := TraceBody{
		User: notes.user, At: millis(t.hub.cfg.Now()), State: presence.Offline.String(), Session: l.Session, Heard: l.Heard, RadiusM: l.Radius,
		Connections: t.hub.look(notes, l.Devices), Messages: notes.last(),
		Friends: StandingsBody{Online: l.Online, Offline: l.Offline, Unnamed: l.Unnamed},
	}
	if l.Session != 0 {
		b.State = l.State.String()
	}
	for _, d := range l.Devices {
		b.Devices = append(b.Devices, DeviceBody(d))
	}
	for _, f := range l.Friends[:min(len(l.Friends), MostFriendLooks)] {
		b.Friends.List = append(b.Friends.List, StandingBody{f.User, f.Standing, f.Distance, f.Share.String(), f.Heard})
	}
	return b, nil
}
