package wire

import "github.com/kith-nearby/kith/presence"

// Type says what a client's frame is.
type Type uint8

// The types of client frames.
const (
	NoType Type = iota
	Connect
	Fix
	Fixes
	Still
	Radius
	Friend
	Share
	Strangers
	Room
	Token
	Pong
	Types // how many there are
)

var typeNames = [Types]string{
	Connect: "connect", Fix: "fix", Fixes: "fixes", Still: "still", Radius: "radius", Friend: "friend",
	Share: "share", Strangers: "strangers", Room: "room", Token: "token", Pong: "pong",
}

// String is the type as clients write it; "" for NoType.
func (t Type) String() string { return typeNames[t] }

func parseType(name []byte) Type {
	for t := Connect; t < Types; t++ {
		if typeNames[t] == string(name) {
			return t
		}
	}
	return NoType
}

// Operations of friend and room frames, and the modes in order of presence.Mode.
var (
	friendOps = []string{"request", "accept", "decline", "remove", "block", "unblock"}
	roomOps   = []string{"create", "join", "leave", "send", "signal", "invite", "kick", "close"}
	modes     = []string{"exact", "area", "none"}
)

// Item is one fix of a report; if its members had wrong types Raw.Bad says so.
// Err is set for an item that is no object at all.
type Item struct {
	Raw RawFix
	Err *Error
}

// Frame is one message of a client, with the members that its Type has. Reuse
// it: Decode overwrites everything.
type Frame struct {
	Type Type
	ID   string // to be echoed; "" = none

	Token   string            // connect, token
	Device  presence.DeviceID // connect
	RadiusM float64           // connect, radius: metres; NaN = not given (connect only)
	Fix     RawFix            // fix; still (Seq only)
	Fixes   []Item            // fixes
	Op      string            // friend, room
	User    presence.PublicID // friend, share ("" = everyone)
	Mode    presence.Mode     // share
	Until   presence.Millis   // share; 0 = no end
	On      bool              // strangers
	ForS    float64           // strangers; NaN = not given

	has, bad member
}

// member is a member that a frame may have.
type member uint32

const (
	mType member = 1 << iota
	mID
	mToken
	mDevice
	mRadius
	mFixes
	mOp
	mUser
	mMode
	mUntil
	mOn
	mFor
	mRoom
)

// memberOf maps names to members; 0 = unknown, or a member of a fix.
func memberOf(name []byte) member {
	switch string(name) {
	case "type":
		return mType
	case "id":
		return mID
	case "token":
		return mToken
	case "device":
		return mDevice
	case "radius_m":
		return mRadius
	case "fixes":
		return mFixes
	case "op":
		return mOp
	case "user":
		return mUser
	case "mode":
		return mMode
	case "until":
		return mUntil
	case "on":
		return mOn
	case "for_s":
		return mFor
	case "room":
		return mRoom
	}
	return 0
}

func fixFieldOf(name []byte) FixField {
	switch string(name) {
	case "lat":
		return FixLat
	case "lng":
		return FixLng
	case "seq":
		return FixSeq
	case "ts":
		return FixTS
	case "acc":
		return FixAcc
	case "alt":
		return FixAlt
	case "speed":
		return FixSpeed
	case "heading":
		return FixHeading
	case "battery":
		return FixBattery
	case "mock":
		return FixMock
	}
	return 0
}
