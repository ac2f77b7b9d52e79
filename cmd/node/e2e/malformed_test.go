package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// malformed is what no client should send, and what it gets for it.
type malformed struct {
	name, bytes, gets string
}

func text(s string) string { return frameOf(fin|opText, s) }

// fixWith is a fix whose lat is some other text.
func fixWith(lat string) string { return text(`{"type":"fix","seq":7,"lat":` + lat + `,"lng":13.4}`) }

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// fragments cuts a message of n times part into frames of one part each.
func fragments(part string, n int) string {
	var b strings.Builder
	b.WriteString(frameOf(opText, part))
	for range n - 2 {
		b.WriteString(frameOf(opContinue, part))
	}
	b.WriteString(frameOf(fin|opContinue, part))
	return b.String()
}

const limit = 64 << 10 // gateway.max_frame_bytes

// assaults lists them. Those with an error code leave the connection open.
func assaults() []malformed {
	var all []malformed
	add := func(gets, name, bytes string) { all = append(all, malformed{name, bytes, gets}) }
	for _, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		add("close 1002", fmt.Sprintf("opcode %d", op), frameOf(fin|op, "{}"))
	}
	for _, bit := range []byte{0x40, 0x20, 0x10} {
		add("close 1002", fmt.Sprintf("reserved bit %#x", bit), frameOf(fin|bit|opText, "{}"))
	}
	for shift := 17; shift < 63; shift += 5 {
		add("close 1009", fmt.Sprintf("a length of 2^%d", shift), headerOf(fin|opText, 1<<shift, true))
	}
	add("close 1009", "a length of 2^63 - 1", headerOf(fin|opText, 1<<63-1, true))
	add("close 1009", "a length of 2^63", headerOf(fin|opText, 1<<63, true))
	add("close 1009", "a length of 2^64 - 1", headerOf(fin|opText, 1<<64-1, true))
	add("close 1009", "64 KiB and one byte", headerOf(fin|opText, limit+1, true)+masked(repeat(" ", limit+1)))
	add("close 1009", "64 KiB and one byte in fragments", frameOf(opText, repeat(" ", limit))+frameOf(fin|opContinue, " "))
	add("close 1009", "10 MB of digits, announced", headerOf(fin|opText, 10_000_000, true)+masked(repeat("7", 100_000)))
	add("close 1009", "10 MB of digits, in fragments", fragments(repeat("7", 10_000), 1000))
	add("close 1002", "no mask", headerOf(fin|opText, 2, false)+"{}")
	add("close 1002", "a ping of 126 bytes", frameOf(fin|opPing, repeat("x", 126)))
	add("close 1002", "a ping in fragments", frameOf(opPing, "x"))
	add("close 1002", "a continuation of nothing", frameOf(fin|opContinue, "{}"))
	add("close 1002", "a text within a text", frameOf(opText, "{")+text("{}"))
	add("close 1002", "a close of one byte", frameOf(fin|opClose, "x"))
	add("close 1002", "a close with code 1005", frameOf(fin|opClose, "\x03\xed"))
	add("close 1002", "a close with code 999", frameOf(fin|opClose, "\x03\xe7"))
	add("close 1007", "a close whose reason is no UTF-8", frameOf(fin|opClose, "\x03\xe8\xff"))
	add("close 1007", "bad UTF-8", text("{\"type\":\"\xff\"}"))
	add("close 1007", "a surrogate in UTF-8", text("{\"type\":\"\xed\xa0\x80\"}"))
	add("close 1007", "bad UTF-8 in fragments", frameOf(opText, "{\"type\":\"\xc3")+frameOf(fin|opContinue, "\"}"))
	add("close 4000", "binary", frameOf(fin|opBinary, "{}"))
	add("pong twice", "pings between fragments", frameOf(opText, `{"type":"still",`)+frameOf(fin|opPing, "twice")+frameOf(fin|opContinue, `"seq":1}`))

	for name, body := range map[string]string{
		"nothing": "", "no JSON": "hello", "an array": "[]", "a number": "1", "half an object": `{"type":"fix"`,
		"two objects": `{"type":"pong"}{"type":"pong"}`, "a comma too many": `{"type":"pong",}`, "single quotes": `{'type':'pong'}`,
		"a duplicate key": `{"type":"fix","seq":1,"lat":1,"lat":2,"lng":3}`, "a duplicate key of others": `{"type":"pong","x":1,"x":1}`,
		"an escaped duplicate key": `{"type":"fix","seq":1,"lat":1,"l\u0061t":2,"lng":3}`,
		"arrays 10 000 deep":       `{"type":"fix","x":` + repeat("[", 10_000) + repeat("]", 10_000) + "}",
		"objects 1 000 deep":       `{"type":"fix","x":` + repeat(`{"x":`, 1_000) + "1" + repeat("}", 1_000) + "}",
		"60 000 digits":            `{"type":"fix","seq":1,"lat":` + repeat("7", 60_000) + `,"lng":1}`,
		"an exponent of digits":    `{"type":"fix","seq":1,"lat":1e` + repeat("9", 60_000) + `,"lng":1}`,
		"NaN":                      `{"type":"fix","seq":1,"lat":NaN,"lng":1}`, "-Infinity": `{"type":"fix","seq":1,"lat":-Infinity,"lng":1}`,
		"a number with a zero before": `{"type":"fix","seq":1,"lat":01,"lng":1}`, "a NUL byte": "{\"type\":\"pong\"}\x00",
	} {
		add("bad_json", name, text(body))
	}
	add("unknown_type", "an unknown type", text(`{"type":"teleport"}`))
	add("unknown_type", "a type with a NUL", text(`{"type":"fix\u0000"}`))
	add("bad_field", "no type", text(`{"lat":1}`))
	add("bad_field", "a type that is a number", text(`{"type":1}`))
	add("bad_field", "NaN as text", fixWith(`"NaN"`))
	add("bad_field", "a lat that is text", fixWith(`"52.5"`))
	add("bad_field", "a lat that is an object", fixWith(`{"deg":52}`))
	add("bad_field", "a lat that is null", fixWith("null"))
	add("bad_coordinate", "a lat of 1e999", fixWith("1e999"))
	add("bad_coordinate", "a lat of 90.0000001", fixWith("90.0000001"))
	add("bad_field", "a negative seq", text(`{"type":"fix","seq":-1,"lat":1,"lng":1}`))
	add("bad_field", "a seq of 2^53", text(`{"type":"fix","seq":9007199254740992,"lat":1,"lng":1}`))
	add("bad_field", "half a seq", text(`{"type":"fix","seq":1.5,"lat":1,"lng":1}`))
	add("bad_time", "a ts in seconds", text(`{"type":"fix","seq":1,"lat":1,"lng":1,"ts":1700000000}`))
	add("bad_field", "an id of 65 characters", text(`{"type":"pong","id":"`+repeat("x", 65)+`"}`))
	add("bad_field", "fixes that are no array", text(`{"type":"fixes","fixes":{}}`))
	add("bad_field", "a fix that is no object", text(`{"type":"fixes","fixes":[1]}`))
	add("too_large", "1 001 fixes", text(`{"type":"fixes","fixes":[`+repeat("{},", 1000)+"{}]}"))
	add("conflict", "a second connect", text(fmt.Sprintf(`{"type":"connect","token":"%s"}`, "x.y.z")))
	add("unauthorized", "another token that is none", text(`{"type":"token","token":"x.y.z"}`))
	return all
}

// try sends one of them on a connection of its own and returns what it got.
func (m malformed) try(s *server, user string) string {
	c := s.rawDial(0).hello(user)
	defer c.tcp.Close()
	// The server may close before all is written, which is as good.
	_ = c.write(m.bytes)
	got := c.outcome()
	if !strings.HasPrefix(got, "close") {
		// The connection goes on.
		if err := c.write(text(`{"type":"still","seq":1}`)); err != nil {
			return got + ", and then " + err.Error()
		}
		if after := c.outcome(); after != "taken" {
			return got + ", and then " + after
		}
	}
	return got
}

func TestE4_MalformedFramesHurtNobodyElse(t *testing.T) {
	s := serve(t, "presence.offline_grace=100ms")
	pid := s.pid()
	c := newCouple(s, "friend")
	for _, m := range assaults() { // each alone gets its code
		require.Equal(t, m.gets, m.try(s, "mallory"), m.name)
	}
	if testing.Short() {
		return
	}
	peace := c.measure()
	before := s.usage()

	ctx, cancel := context.WithCancel(context.Background())
	var attackers sync.WaitGroup
	var sent, wrong atomic.Int64
	for i := range 4 {
		attackers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 4))
			all := assaults()
			for ctx.Err() == nil {
				m := all[random.IntN(len(all))]
				if m.try(s, fmt.Sprintf("mallory%d", i)) != m.gets {
					wrong.Add(1)
				}
				s.babble(random)
				sent.Add(2)
				wait(10 * time.Millisecond) // else the attackers' own work is what delays
			}
		})
	}
	t.Cleanup(attackers.Wait)
	t.Cleanup(cancel)
	c.unaffected(t, "malformed frames come", peace)
	cancel()
	attackers.Wait()
	t.Logf("%d assaults", sent.Load())
	require.Zero(t, wrong.Load())
	s.alive()
	require.Equal(t, pid, s.pid())
	eventually(s, patience, "all is as before", func() bool {
		now := s.usage()
		return now.goroutines <= before.goroutines+8 && now.files <= before.files+8 && now.heap <= before.heap+8<<20
	})
	require.Less(t, s.usage().resident, before.resident+64<<20)
	require.Zero(t, s.gauges()["kith_socket_panics_total"])
}

// babble sends random bytes after a handshake, and as frames.
func (s *server) babble(random *rand.Rand) {
	c := s.rawDial(0)
	defer c.tcp.Close()
	if random.IntN(2) == 0 {
		_ = c.write(noise(random, 1+random.IntN(2000)))
	} else {
		_ = c.write(frameOf(byte(random.Uint32()), noise(random, random.IntN(300))))
	}
}
