package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/wire"
)

// relay is the floor of a node: the same sockets and frames, and nothing else.
// It sends each fix on to the friends of the same village, acknowledges it at
// once, and keeps, decides and measures nothing.
type relay struct {
	town  *town
	auth  *gateway.Auth
	conns []atomic.Pointer[net.Conn]
}

func playRelay(start json.RawMessage, ask func(any) (json.RawMessage, error)) error {
	var users int
	if err := json.Unmarshal(start, &users); err != nil {
		return err
	}
	r := &relay{town: newTown(users, degree, 4, perVillage), conns: make([]atomic.Pointer[net.Conn], users)}
	var err error
	if r.auth, err = gateway.NewAuth(gateway.AuthConfig{HS256Secret: benchSecret}); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go r.serve(nc)
		}
	}()
	_, _ = ask(ln.Addr().String())
	return nil
}

func (r *relay) serve(nc net.Conn) {
	defer nc.Close()
	if _, err := (ws.Upgrader{Protocol: func([]byte) bool { return true }}).Upgrade(nc); err != nil {
		return
	}
	in, err := wsutil.ReadClientText(nc)
	if err != nil {
		return
	}
	var f wire.Frame
	if wire.Decode(in, &f) != nil {
		return
	}
	claims, err := r.auth.User(f.Token, time.Now())
	if err != nil {
		return
	}
	var me int
	if _, err := fmt.Sscanf(string(claims.User), "user%d", &me); err != nil {
		return
	}
	r.conns[me-1].Store(&nc)
	if relayFrame(nc, []byte(`{"type":"connected"}`)) != nil {
		return
	}
	for {
		in, err := wsutil.ReadClientText(nc)
		if err != nil || r.fix(nc, me, in) != nil {
			return
		}
	}
}

// fix sends one on.
func (r *relay) fix(nc net.Conn, me int, in []byte) error {
	seq, rest, ok := numberAfter(in, seqKey)
	if !ok {
		return nil // a pong
	}
	ts, _, _ := numberAfter(rest, tsKey)
	near := fmt.Appendf(nil, `{"type":"friends","v":7,"full":false,"near":[{"user":"user%06d","lat":47.1234567,"lng":5.1234567,"ts":%d,"acc":8.5,"speed":1.4,"heading":271.5,"battery":0.83,"state":"live","precision":"exact","distance_m":1234.5,"bearing_deg":87.6}],"gone":[]}`, me, ts)
	for _, f := range r.town.friends[me-1] {
		if r.town.village[f-1] != r.town.village[me-1] {
			continue
		}
		if to := r.conns[f-1].Load(); to != nil {
			_ = relayFrame(*to, near)
		}
	}
	return relayFrame(nc, fmt.Appendf(nil, `{"type":"ack","seq":%d,"next_s":30}`, seq))
}

// relayFrame writes a frame with one call, which no other can come between.
func relayFrame(nc net.Conn, payload []byte) error {
	frame, err := ws.CompileFrame(ws.NewTextFrame(payload))
	if err == nil {
		_, err = nc.Write(frame)
	}
	return err
}
