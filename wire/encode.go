package wire

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// Settings is what `connected` tells a client of the server's configuration.
type Settings struct {
	RadiusM       float64 // metres
	ExitRadiusM   float64 // metres
	FixS          float64 // seconds between fixes
	StaleS        float64 // seconds until a friend without a report disappears
	PingS         float64 // seconds of silence before a ping
	MaxFrameBytes int
}

// Connected answers connect.
type Connected struct {
	ID       string
	User     presence.PublicID
	Node     string
	Session  presence.Session
	Now      presence.Millis
	Settings Settings
}

// AppendConnected appends a `connected` frame; metres and seconds to 0.001.
func AppendConnected(b []byte, c *Connected) []byte {
	b = append(b, `{"type":"connected"`...)
	b = appendID(b, c.ID)
	b = appendPlain(b, `,"user":"`, string(c.User))
	b = append(b, `,"node":`...)
	b = appendString(b, c.Node)
	b = append(b, `,"session":`...)
	b = strconv.AppendUint(b, uint64(c.Session), 10)
	b = append(b, `,"now":`...)
	b = strconv.AppendInt(b, int64(c.Now), 10)
	b = appendNumber(b, `,"config":{"radius_m":`, c.Settings.RadiusM, 3)
	b = appendNumber(b, `,"exit_radius_m":`, c.Settings.ExitRadiusM, 3)
	b = appendNumber(b, `,"fix_s":`, c.Settings.FixS, 3)
	b = appendNumber(b, `,"stale_s":`, c.Settings.StaleS, 3)
	b = appendNumber(b, `,"ping_s":`, c.Settings.PingS, 3)
	b = append(b, `,"max_frame_bytes":`...)
	b = strconv.AppendInt(b, int64(c.Settings.MaxFrameBytes), 10)
	return append(b, `}}`...)
}

// AppendAck appends an `ack`; nextS is in seconds, to 0.001.
func AppendAck(b []byte, seq uint64, nextS float64) []byte {
	b = append(b, `{"type":"ack","seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = appendNumber(b, `,"next_s":`, nextS, 3)
	return append(b, '}')
}

// AppendOK appends an `ok` for the message with this id.
func AppendOK(b []byte, id string) []byte {
	return append(appendID(append(b, `{"type":"ok"`...), id), '}')
}

// AppendError appends an `error`.
func AppendError(b []byte, e *Error) []byte {
	b = appendPlain(b, `{"type":"error","code":"`, e.Code.String())
	b = append(b, `,"message":`...)
	b = appendString(b, e.Message)
	if e.Field != "" {
		b = append(b, `,"field":`...)
		b = appendString(b, e.Field)
	}
	b = appendID(b, e.ID)
	if e.HasSeq {
		b = append(b, `,"seq":`...)
		b = strconv.AppendUint(b, e.Seq, 10)
	}
	b = append(b, `,"temporary":`...)
	b = strconv.AppendBool(b, e.Temporary)
	return append(b, '}')
}

// AppendNotice appends a `request` or `friend` frame.
func AppendNotice(b []byte, n presence.Notice) []byte {
	op := ""
	switch n.Kind {
	case presence.Requested:
		return append(appendPlain(b, `{"type":"request","user":"`, string(n.User)), '}')
	case presence.Accepted:
		op = "accepted"
	case presence.Removed:
		op = "removed"
	}
	b = appendPlain(b, `{"type":"friend","user":"`, string(n.User))
	b = appendPlain(b, `,"op":"`, op)
	return append(b, '}')
}

// AppendPing appends a `ping`.
func AppendPing(b []byte) []byte { return append(b, `{"type":"ping"}`...) }

// AppendExpiring appends an `expiring`.
func AppendExpiring(b []byte) []byte { return append(b, `{"type":"expiring"}`...) }

// AppendDrain appends a `drain`: come back after that many milliseconds.
func AppendDrain(b []byte, retryAfterMS int64, reason string) []byte {
	b = append(b, `{"type":"drain","retry_after_ms":`...)
	b = strconv.AppendInt(b, retryAfterMS, 10)
	b = append(b, `,"reason":`...)
	b = appendString(b, reason)
	return append(b, '}')
}

func appendID(b []byte, id string) []byte {
	if id == "" {
		return b
	}
	return appendString(append(b, `,"id":`...), id)
}

// appendPlain appends a prefix that ends with a quote, then a text that needs
// no escaping (an id, a name of ours), then the closing quote.
func appendPlain(b []byte, prefix, text string) []byte {
	b = append(b, prefix...)
	b = append(b, text...)
	return append(b, '"')
}

func appendNumber(b []byte, prefix string, v float64, decimals int) []byte {
	return appendDecimal(append(b, prefix...), v, decimals)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259, 7). Bytes that are no
// UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}

var pow10 = [...]int64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000}

// appendDecimal appends v rounded to so many decimals, without zeros at the
// end. What no int64 can hold is appended as 0; callers bound their values.
func appendDecimal(b []byte, v float64, decimals int) []byte {
	scaled := math.Round(v * float64(pow10[decimals]))
	if !(math.Abs(scaled) < 1<<62) {
		return append(b, '0')
	}
	return appendScaled(b, int64(scaled), decimals)
}

// appendScaled appends n / 10^decimals, without zeros at the end.
func appendScaled(b []byte, n int64, decimals int) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	unit := pow10[decimals]
	b = strconv.AppendInt(b, n/unit, 10)
	rest := n % unit
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for unit /= 10; rest > 0; unit /= 10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}

// coordinateDecimals is how many decimals a geo.Point holds.
const coordinateDecimals = 7

var _ = [1]struct{}{}[geo.Units-1e7] // coordinateDecimals follows from geo.Units
