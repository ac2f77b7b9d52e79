package e2e

import (
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

func TestE7_CloseCodesOfTokens(t *testing.T) {
	s := serve(t, "auth.auto_create=false")
	s.befriend("ann")
	rejected := func(tok string) (int, string) {
		p := s.dial(nil)
		p.refused(obj{"type": "connect", "token": tok}, "unauthorized", "token")
		code, reason := p.closed()
		require.NotEmpty(t, reason)
		return code, reason
	}
	code, _ := rejected("no token")
	require.Equal(t, 4001, code)
	code, _ = rejected(token(t, "ann", time.Hour) + "x")
	require.Equal(t, 4001, code)
	code, _ = rejected("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjQwMDAwMDAwMDB9.")
	require.Equal(t, 4001, code, "alg none")
	code, _ = rejected(token(t, "nobody", time.Hour))
	require.Equal(t, 4001, code, "users are not made here")
	code, _ = rejected(token(t, "ann", -2*time.Minute))
	require.Equal(t, 4002, code, "ended longer ago than the leeway")
	p := s.dial(nil)
	require.Equal(t, "connected", p.answer(obj{"type": "connect", "token": token(t, "ann", -30*time.Second)}).Type, "within the leeway")
}

func TestE7_TheSameDeviceAgain(t *testing.T) {
	s := serve(t)
	first, other := s.connect("ann", "phone"), s.connect("ann", "watch")
	again := s.connect("ann", "phone")
	code, reason := first.closed()
	require.Equal(t, 4003, code)
	require.NotEmpty(t, reason)
	again.accepted(obj{"type": "radius", "radius_m": 500})
	other.accepted(obj{"type": "radius", "radius_m": 500})
	second := s.connect("bob", "") // two without a device are the same one
	s.connect("bob", "")
	code, _ = second.closed()
	require.Equal(t, 4003, code)
}

func TestE7_NoConnectInTime(t *testing.T) {
	long(t)
	t.Parallel()
	s := serve(t)
	began := time.Now()
	p := s.dial(nil)
	p.refused(obj{"type": "still"}, "not_connected", "")
	code, _ := p.closed()
	require.Equal(t, 4004, code)
	require.InDelta(t, 10, time.Since(began).Seconds(), 2)
}

// A token is renewed on the connection; one that is not ends it.
func TestE7_TokensEnd(t *testing.T) {
	long(t)
	t.Parallel()
	s := serve(t)
	enter := func(user string, ttl time.Duration) *peer {
		p := s.dial(nil)
		p.name = user
		require.Equal(t, "connected", p.answer(obj{"type": "connect", "token": token(t, user, ttl)}).Type)
		return p
	}
	began := time.Now()
	ann, bob := enter("ann", 64*time.Second), enter("bob", 5*time.Second)
	bob.next("expiring") // at once: less than a minute is left
	bob.accepted(obj{"type": "token", "token": token(t, "bob", time.Hour)})
	bob.refused(obj{"type": "token", "token": token(t, "ann", time.Hour)}, "forbidden", "token")
	bob.refused(obj{"type": "token", "token": "none"}, "unauthorized", "token")
	short := enter("cat", 4*time.Second)
	short.next("expiring")
	code, _ := short.closed()
	require.Equal(t, 4002, code)
	require.InDelta(t, 4, time.Since(began).Seconds(), 3)

	ann.next("expiring")
	require.InDelta(t, 4, time.Since(began).Seconds(), 2.5, "60 s before its end")
	ann.accepted(obj{"type": "token", "token": token(t, "ann", 3*time.Second)})
	ann.next("expiring")
	code, _ = ann.closed()
	require.Equal(t, 4002, code)
	bob.accepted(obj{"type": "radius", "radius_m": 500}) // lives on past its first token's end
}

// The server pings who is silent, and closes who does not answer.
func TestE7_Pings(t *testing.T) {
	long(t)
	t.Parallel()
	s := serve(t)
	deaf := s.rawDial(0).hello("ann")
	began := time.Now()
	for {
		op, payload, err := deaf.read(2 * patience)
		require.NoError(t, err)
		if op == opText && string(payload) == `{"type":"ping"}` {
			break
		}
	}
	pinged := time.Now()
	require.LessOrEqual(t, pinged.Sub(began), 27*time.Second)
	require.Equal(t, "close 4102", deaf.outcome())
	require.InDelta(t, 8, time.Since(pinged).Seconds(), 2)
}

func TestE7_FloodsAreClosed(t *testing.T) {
	long(t)
	t.Parallel()
	s := serve(t, "gateway.fixes_per_s=1")
	p := s.connect("ann", "")
	refused := 0
	for k := 0; ; k++ {
		select {
		case <-p.ended:
		case <-time.After(10 * time.Millisecond):
			_ = p.write(obj{"type": "fix", "seq": k, "lat": lat0, "lng": lng0})
			for _, f := range p.taken() {
				if f.Type == "error" {
					require.Equal(t, "too_many", f.Code, f.raw)
					require.True(t, f.Temporary)
					require.NotNil(t, f.Seq)
					refused++
				}
			}
			require.Less(t, k, 2000)
			continue
		}
		break
	}
	code, _ := p.closed()
	require.Equal(t, 4005, code)
	require.Positive(t, refused)
	require.EqualValues(t, websocket.StatusCode(4005), code)
}
