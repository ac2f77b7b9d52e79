package presence

import (
	"math"

	"github.com/kith-nearby/kith/geo"
)

// Millis is a unix time in milliseconds.
type Millis int64

// Micros is a unix time in microseconds.
type Micros int64

// Fix is one position report as it goes into history: checked, quantised, and
// immutable from then on. Fields that a device did not send are NaN (floats) or
// 0 (Sent).
type Fix struct {
	At       geo.Point
	Seq      uint64  // per device, rising
	TS       Millis  // the time that counts: Sent, or the server's if absent or ahead of it
	Sent     Millis  // the device's own time; 0 = it sent none
	Accuracy float32 // metres, radius of 68 %; NaN or 0 = unknown
	Altitude float32 // metres
	Speed    float32 // m/s
	Heading  float32 // degrees in [0, 360)
	Battery  float32 // 0 to 1
	Mock     bool    // the device says a program made this position up
}

// Stamp is the time that names f in history, together with user, device and Seq:
// the device's own if it sent one, which is the same however often it sends the
// fix, else TS.
func (f *Fix) Stamp() Millis {
	if f.Sent != 0 {
		return f.Sent
	}
	return f.TS
}

// CoarseAccuracy is the accuracy in metres beyond which a fix moves nobody in
// or out of a view.
const CoarseAccuracy = 1000

// Coarse reports whether f is too inaccurate to decide who is near.
func (f *Fix) Coarse() bool { return f.Accuracy > CoarseAccuracy }

// Unset is what a float field of a Fix holds when the device did not send it.
func Unset() float32 { return float32(math.NaN()) }

// IsSet reports whether v was sent.
func IsSet(v float32) bool { return v == v }

// Batch is what one device reported in one message, on its way into history.
// It is immutable; Fixes are in rising Seq.
type Batch struct {
	User     UserID
	Device   DeviceID
	Fixes    []Fix
	Conn     ConnID // told once all of it is durable; 0 = nobody waits
	Received Micros // when it reached the server
}

// LastSeq is the highest Seq of the batch, the one that an ack names.
func (b *Batch) LastSeq() uint64 {
	if len(b.Fixes) == 0 {
		return 0
	}
	return b.Fixes[len(b.Fixes)-1].Seq
}
