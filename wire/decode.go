package wire

import (
	"math"

	"github.com/kith-nearby/kith/presence"
)

// Decode reads one frame of a client into f. Every value of f is a copy: b may
// be used again. The error has the frame's id and seq if they could be read.
func Decode(b []byte, f *Frame) *Error {
	*f = Frame{Fixes: f.Fixes[:0], RadiusM: math.NaN(), ForS: math.NaN()}
	s := scan(b)
	defer s.done()
	f.members(s)
	err := f.check(s)
	if err != nil {
		err.ID = f.ID
		if f.Type != Fixes && f.Fix.Has&FixSeq != 0 {
			err.Seq, err.HasSeq = f.Fix.Seq, true
		}
	}
	return err
}

// member reads one member, whatever the frame's type, which may come last.
func (f *Frame) member(s *scanner) {
	name := s.name()
	if field := fixFieldOf(name); field != 0 {
		f.Fix.read(s, field)
		return
	}
	m := memberOf(name)
	switch {
	case m == 0 || s.null():
		if m == 0 {
			s.skip()
		}
		return
	case f.value(s, m):
		f.has |= m
	default:
		f.bad |= m
	}
}

// value reads the value of m, and reports whether it is one that m can have.
func (f *Frame) value(s *scanner, m member) (ok bool) {
	switch m {
	case mRadius:
		f.RadiusM, ok = s.float()
		return ok && !math.IsInf(f.RadiusM, 0)
	case mFor:
		f.ForS, ok = s.float()
		return ok && f.ForS > 0 && !math.IsInf(f.ForS, 0)
	case mUntil:
		until, ok := s.float()
		if until != 0 { // 0 = none; what is below 1 stays a time, which check refuses
			until = max(until, 1)
		}
		f.Until = presence.Millis(min(until, MaxSeq))
		return ok
	case mOn:
		f.On, ok = s.bool()
		return ok
	case mFixes:
		if !s.open('[') {
			s.skip()
			return false
		}
		f.Fixes = readItems(s, f.Fixes)
		return true
	}
	text, ok := s.text()
	return ok && f.text(m, text)
}

func (f *Frame) text(m member, text []byte) (ok bool) {
	switch m {
	case mType:
		f.Type = parseType(text)
		return true
	case mID:
		if tooLongID(text) {
			return false
		}
		f.ID = string(text)
		return true
	case mToken:
		f.Token = string(text)
		return f.Token != ""
	case mDevice:
		device, err := presence.ParseDeviceID(string(text))
		f.Device = device
		return err == nil && len(text) > 0
	case mUser:
		user, err := presence.ParsePublicID(string(text))
		f.User = user
		return err == nil
	case mMode:
		f.Mode, ok = oneOfModes(text)
		return ok
	case mOp:
		f.Op = oneOf(text, friendOps)
		if f.Op == "" {
			f.Op = oneOf(text, roomOps)
		}
		return f.Op != ""
	}
	return m == mRoom
}

func oneOf(text []byte, list []string) string {
	for _, name := range list {
		if string(text) == name {
			return name
		}
	}
	return ""
}

func oneOfModes(text []byte) (presence.Mode, bool) {
	for m, name := range modes {
		if string(text) == name {
			return presence.Mode(m), true
		}
	}
	return presence.None, false
}

// read reads one member of a fix.
func (r *RawFix) read(s *scanner, field FixField) {
	if s.null() {
		return
	}
	ok := false
	switch field {
	case FixSeq:
		r.Seq, ok = s.whole()
	case FixMock:
		r.Mock, ok = s.bool()
	default:
		*r.number(field), ok = s.float()
	}
	if ok {
		r.Has |= field
	} else {
		r.Bad |= field
	}
}

func (r *RawFix) number(field FixField) *float64 {
	switch field {
	case FixLat:
		return &r.Lat
	case FixLng:
		return &r.Lng
	case FixTS:
		return &r.TS
	case FixAcc:
		return &r.Acc
	case FixAlt:
		return &r.Alt
	case FixSpeed:
		return &r.Speed
	case FixHeading:
		return &r.Heading
	}
	return &r.Battery
}

// readItems reads the rest of an array of fixes. It keeps at most one more than
// MaxFixes, for check to see that there are too many.
func readItems(s *scanner, items []Item) []Item {
	for s.more() {
		if len(items) > MaxFixes {
			s.skip()
			continue
		}
		items = append(items, Item{})
		item := &items[len(items)-1]
		if !s.open('{') {
			s.skip()
			item.Err = NewError(BadField, "fixes", "Each of fixes must be an object.")
			continue
		}
		for s.more() {
			if field := fixFieldOf(s.name()); field != 0 {
				item.Raw.read(s, field)
			} else {
				s.skip()
			}
		}
	}
	return items
}

// need is what the frames of one type must and may have.
type need struct{ must, may member }

var needs = [Types]need{
	Connect:   {must: mToken, may: mDevice | mRadius},
	Fixes:     {must: mFixes},
	Radius:    {must: mRadius},
	Friend:    {must: mOp | mUser},
	Share:     {must: mMode, may: mUser | mUntil},
	Strangers: {must: mOn, may: mFor},
	Room:      {must: mOp, may: mRoom},
	Token:     {must: mToken},
}

func (f *Frame) check(s *scanner) *Error {
	switch {
	case s.err != nil:
		return s.problem()
	case f.bad&mID != 0:
		return badMember(mID)
	case f.bad&mType != 0:
		return badMember(mType)
	case f.has&mType == 0:
		return NewError(BadField, "type", "type is missing.")
	case f.Type == NoType:
		return NewError(UnknownType, "type", "")
	}
	n := needs[f.Type]
	if bad := f.bad & (n.must | n.may); bad != 0 {
		return badMember(bad & -bad)
	}
	if missing := n.must &^ f.has; missing != 0 {
		name := memberNames[missing&-missing].name
		return NewError(BadField, name, name+" is missing.")
	}
	return f.checkType()
}

func (f *Frame) checkType() *Error {
	switch f.Type {
	case Connect:
		if f.has&mDevice == 0 {
			f.Device = presence.DefaultDevice
		}
	case Fixes:
		return checkCount(len(f.Fixes))
	case Still:
		if f.Fix.Bad&FixSeq != 0 {
			return (&RawFix{Bad: FixSeq}).wellTyped(false)
		}
	case Friend:
		if oneOf([]byte(f.Op), friendOps) == "" {
			return badMember(mOp)
		}
	case Room:
		if oneOf([]byte(f.Op), roomOps) == "" {
			return badMember(mOp)
		}
	case Share:
		if f.has&mUntil != 0 && f.Until != 0 && f.Until < MinTime {
			return NewError(BadTime, "until", "until is no time of these days; send unix milliseconds.")
		}
	}
	return nil
}

func checkCount(n int) *Error {
	switch {
	case n == 0:
		return NewError(BadField, "fixes", "fixes must hold at least one fix.")
	case n > MaxFixes:
		return NewError(TooLarge, "fixes", "fixes holds more than 1000 fixes; send them in parts.")
	}
	return nil
}

// memberNames gives each member's name and what it must be.
var memberNames = map[member]struct{ name, must string }{
	mType:   {"type", "must be a string."},
	mID:     {"id", "must be a string of at most 64 characters."},
	mToken:  {"token", "must be a string that is not empty."},
	mDevice: {"device", "must have 1 to 64 printable ASCII characters."},
	mRadius: {"radius_m", "must be a number of metres."},
	mFixes:  {"fixes", "must be an array of fixes."},
	mOp:     {"op", "must be one of the operations of this type of message."},
	mUser:   {"user", "must be a user id: 1 to 64 characters of A-Z a-z 0-9 . _ ~ @ -"},
	mMode:   {"mode", "must be exact, area or none."},
	mUntil:  {"until", "must be a time in unix milliseconds."},
	mOn:     {"on", "must be true or false."},
	mFor:    {"for_s", "must be a number of seconds above 0."},
	mRoom:   {"room", "must be a string."},
}

func badMember(m member) *Error {
	n := memberNames[m]
	return NewError(BadField, n.name, n.name+" "+n.must)
}

// Report is the body of POST /v1/fixes.
type Report struct {
	Device presence.DeviceID
	Fixes  []Item
}

// members reads one object and what it holds, and nothing after it.
func (f *Frame) members(s *scanner) {
	if !s.open('{') {
		s.fail(errNotObject)
	}
	for s.more() {
		f.member(s)
	}
	s.end()
}

// DecodeReport reads a report: device as in connect, fixes as in a fixes frame.
func DecodeReport(b []byte) (Report, *Error) {
	var f Frame
	s := scan(b)
	defer s.done()
	f.members(s)
	switch {
	case s.err != nil:
		return Report{}, s.problem()
	case f.bad&mDevice != 0:
		return Report{}, badMember(mDevice)
	case f.bad&mFixes != 0:
		return Report{}, badMember(mFixes)
	case f.has&mFixes == 0:
		return Report{}, NewError(BadField, "fixes", "fixes is missing.")
	}
	if f.has&mDevice == 0 {
		f.Device = presence.DefaultDevice
	}
	return Report{Device: f.Device, Fixes: f.Fixes}, checkCount(len(f.Fixes))
}
