package wire

import (
	"errors"
	"math"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// Bounds of what a fix may say.
const (
	MaxSeq      = 1<<53 - 1                         // the largest integer that JSON carries safely everywhere
	MinTime     = presence.Millis(100_000_000_000)  // unix ms of 1973; anything less must be seconds
	FarAhead    = presence.Millis(24 * 3600 * 1000) // ms; a time farther ahead is refused
	Ahead       = presence.Millis(60 * 1000)        // ms; a time farther ahead is taken at the server's time
	MaxSpeed    = 340                               // m/s; above it the field is dropped
	MaxAltitude = 1_000_000                         // m, up or down; beyond it the field is dropped
	// MaxAccuracy is half the Earth's circumference in metres. A larger accuracy
	// says no more, so it is lowered to this instead of being dropped: the fix
	// stays one that decides nothing.
	MaxAccuracy = 20_015_115
)

// FixField is a member of a fix.
type FixField uint16

// The members of a fix.
const (
	FixLat FixField = 1 << iota
	FixLng
	FixSeq
	FixTS
	FixAcc
	FixAlt
	FixSpeed
	FixHeading
	FixBattery
	FixMock
)

const numberFields = FixLat | FixLng | FixSeq | FixTS | FixAcc | FixAlt | FixSpeed | FixHeading | FixBattery

// Name is the member's name in JSON.
func (f FixField) Name() string {
	switch f {
	case FixLat:
		return "lat"
	case FixLng:
		return "lng"
	case FixSeq:
		return "seq"
	case FixTS:
		return "ts"
	case FixAcc:
		return "acc"
	case FixAlt:
		return "alt"
	case FixSpeed:
		return "speed"
	case FixHeading:
		return "heading"
	case FixBattery:
		return "battery"
	case FixMock:
		return "mock"
	}
	return ""
}

// RawFix is a fix as somebody sent it, unchecked. Numbers are as sent, with
// ±Inf for what no float64 can hold; only those with their bit in Has count.
// Bad marks members that were there with a wrong type.
type RawFix struct {
	Lat, Lng, Acc, Alt, Speed, Heading, Battery float64
	TS                                          float64 // unix ms
	Seq                                         uint64
	Mock                                        bool
	Has, Bad                                    FixField
}

// Checker turns raw fixes into fixes. It is a value; make one per message.
type Checker struct {
	Now         presence.Millis // the server's clock
	SeqRequired bool            // a fix without seq is bad_field
}

// Fix checks r and returns it as what goes into history, or says why it is
// refused: bad_field, bad_coordinate or bad_time, with the field.
func (c Checker) Fix(r *RawFix) (presence.Fix, *Error) {
	f, err := c.fix(r)
	if err != nil && r.Has&FixSeq != 0 {
		err.Seq, err.HasSeq = r.Seq, true
	}
	return f, err
}

func (c Checker) fix(r *RawFix) (presence.Fix, *Error) {
	var f presence.Fix
	if err := r.wellTyped(c.SeqRequired); err != nil {
		return f, err
	}
	at, err := geo.FromDegrees(r.Lat, r.Lng)
	if err != nil {
		field := FixLat
		if errors.Is(err, geo.ErrLng) {
			field = FixLng
		}
		return f, NewError(BadCoordinate, field.Name(), "")
	}
	f.At, f.Seq, f.Mock = at, r.Seq, r.Mock && r.Has&FixMock != 0
	if err := c.time(r, &f); err != nil {
		return f, err
	}
	r.measurements(&f)
	return f, nil
}

func (r *RawFix) wellTyped(seqRequired bool) *Error {
	if bad := r.Bad; bad != 0 {
		field := bad & -bad
		if field == FixSeq {
			return NewError(BadField, "seq", "seq must be an integer from 0 to 9007199254740991.")
		}
		if field&numberFields != 0 {
			return NewError(BadField, field.Name(), field.Name()+" must be a number.")
		}
		return NewError(BadField, field.Name(), field.Name()+" must be true or false.")
	}
	required := FixLat | FixLng
	if seqRequired {
		required |= FixSeq
	}
	if missing := required &^ r.Has; missing != 0 {
		name := (missing & -missing).Name()
		return NewError(BadField, name, name+" is missing.")
	}
	return nil
}

func (c Checker) time(r *RawFix, f *presence.Fix) *Error {
	if r.Has&FixTS == 0 {
		f.TS = c.Now
		return nil
	}
	switch {
	case !(r.TS >= float64(MinTime)):
		return NewError(BadTime, "ts", "ts looks like seconds; send unix milliseconds.")
	case r.TS > float64(c.Now+FarAhead):
		return NewError(BadTime, "ts", "ts is more than a day ahead; check the clock of the device.")
	}
	f.Sent = presence.Millis(r.TS)
	f.TS = f.Sent
	if f.Sent > c.Now+Ahead {
		f.TS = c.Now
	}
	return nil
}

func (r *RawFix) measurements(f *presence.Fix) {
	f.Accuracy = r.kept(FixAcc, r.Acc, r.Acc > 0)
	if f.Accuracy > MaxAccuracy {
		f.Accuracy = MaxAccuracy
	}
	f.Altitude = r.kept(FixAlt, r.Alt, math.Abs(r.Alt) <= MaxAltitude)
	f.Speed = r.kept(FixSpeed, r.Speed, r.Speed >= 0 && r.Speed <= MaxSpeed)
	f.Battery = r.kept(FixBattery, r.Battery, r.Battery >= 0 && r.Battery <= 1)
	f.Heading = r.kept(FixHeading, math.Mod(r.Heading, 360), r.Heading >= 0 && !math.IsInf(r.Heading, 0))
	if f.Heading >= 360 { // rounded up to it on the way to float32
		f.Heading = 0
	}
}

func (r *RawFix) kept(field FixField, v float64, plausible bool) float32 {
	if r.Has&field == 0 || !plausible {
		return presence.Unset()
	}
	return float32(v)
}
