package wire

import (
	"bytes"
	"math"
	"strconv"

	"github.com/kith-nearby/kith/presence"
)

// PageEntries is how many friends one `friends` frame holds at most.
const PageEntries = 100

// AppendFriends appends one `friends` frame. More than PageEntries entries
// belong into several: see Pages.
func AppendFriends(b []byte, v uint64, full bool, near []presence.Near, gone []presence.Gone) []byte {
	b = append(b, `{"type":"friends","v":`...)
	b = strconv.AppendUint(b, v, 10)
	b = append(b, `,"full":`...)
	b = strconv.AppendBool(b, full)
	b = append(b, `,"near":[`...)
	for i := range near {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendNear(b, &near[i])
	}
	b = append(b, `],"gone":[`...)
	for i := range gone {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPlain(b, `{"user":"`, string(gone[i].User))
		b = appendPlain(b, `,"reason":"`, gone[i].Reason.String())
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// Pages calls yield with each frame's worth of c: at most PageEntries entries,
// only the first of a full change full.
func Pages(c *presence.Change, yield func(full bool, near []presence.Near, gone []presence.Gone)) {
	near, gone := c.Near, c.Gone
	for first := true; first || len(near)+len(gone) > 0; first = false {
		n := min(len(near), PageEntries)
		g := min(len(gone), PageEntries-n)
		yield(c.Full && first, near[:n], gone[:g])
		near, gone = near[n:], gone[g:]
	}
}

// AppendNear appends one entry of a view: distance to 0.1 m, bearing and
// heading to 0.1°, accuracy to 0.1 m, speed and battery to 0.01. What is not
// known is left out.
func AppendNear(b []byte, n *presence.Near) []byte {
	b = append(b, shared(n.Position)...)
	b = appendNumber(b, `,"distance_m":`, float64(n.Distance), 1)
	b = appendAngle(b, `,"bearing_deg":`, n.Bearing)
	if n.Entered {
		b = append(b, `,"entered":true`...)
	}
	return append(b, '}')
}

// FirstEncoding reports whether nobody has encoded p so far.
func FirstEncoding(p *presence.Position) bool { return p.Encoded.Load() == nil }

// shared is the beginning of p's entry, the same for every receiver, without
// the closing brace. Two who encode at once do the work twice and store the
// same.
func shared(p *presence.Position) []byte {
	if b := p.Encoded.Load(); b != nil {
		return *b
	}
	var room [256]byte
	b := bytes.Clone(appendPosition(room[:0], p)) // kept for long, so without room to spare
	p.Encoded.Store(&b)
	return b
}

func appendPosition(b []byte, p *presence.Position) []byte {
	b = appendPlain(b, `{"user":"`, string(p.User))
	b = append(b, `,"lat":`...)
	b = appendScaled(b, int64(p.At.Lat), coordinateDecimals)
	b = append(b, `,"lng":`...)
	b = appendScaled(b, int64(p.At.Lng), coordinateDecimals)
	b = append(b, `,"ts":`...)
	b = strconv.AppendInt(b, int64(p.TS), 10)
	if p.Accuracy > 0 {
		b = appendNumber(b, `,"acc":`, float64(min(p.Accuracy, MaxAccuracy)), 1)
	}
	if presence.IsSet(p.Speed) {
		b = appendNumber(b, `,"speed":`, float64(p.Speed), 2)
	}
	if presence.IsSet(p.Heading) {
		b = appendAngle(b, `,"heading":`, p.Heading)
	}
	if presence.IsSet(p.Battery) {
		b = appendNumber(b, `,"battery":`, float64(p.Battery), 2)
	}
	b = appendPlain(b, `,"state":"`, p.State.String())
	return appendPlain(b, `,"precision":"`, p.Precision.String())
}

// appendAngle appends degrees in [0, 360) to 0.1, never 360.
func appendAngle(b []byte, prefix string, deg float32) []byte {
	tenths := math.Round(float64(deg) * 10)
	if tenths >= 3600 {
		tenths = 0
	}
	return appendNumber(b, prefix, tenths/10, 1)
}
