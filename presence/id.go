package presence

import (
	"errors"
	"strconv"
)

// PublicID is how clients name a user: 1 to 64 characters of [A-Za-z0-9._~@-].
type PublicID string

// ErrPublicID says what a PublicID looks like.
var ErrPublicID = errors.New("a user id has 1 to 64 characters of A-Z a-z 0-9 . _ ~ @ -")

// MaxIDLength bounds a PublicID and a DeviceID, in bytes.
const MaxIDLength = 64

// ParsePublicID returns s as a PublicID, or ErrPublicID.
func ParsePublicID(s string) (PublicID, error) {
	if len(s) == 0 || len(s) > MaxIDLength {
		return "", ErrPublicID
	}
	for i := range len(s) {
		if !idByte(s[i]) {
			return "", ErrPublicID
		}
	}
	return PublicID(s), nil
}

func idByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '.', c == '_', c == '~', c == '@', c == '-':
		return true
	}
	return false
}

// UserID is a user's inner id, given once by the store and never used again
// after the user is erased. 0 is nobody.
type UserID uint64

// MaxUserID is the largest UserID that a store may give: a million million. Actors
// pack ids into five bytes.
const MaxUserID UserID = 1<<40 - 1

// DeviceID names one device of a user: 1 to 64 bytes without control characters.
type DeviceID string

// DefaultDevice is the device of a client that names none.
const DefaultDevice DeviceID = "default"

// ErrDeviceID says what a DeviceID looks like.
var ErrDeviceID = errors.New("a device id has 1 to 64 printable ASCII characters")

// ParseDeviceID returns s as a DeviceID, DefaultDevice for "", or ErrDeviceID.
func ParseDeviceID(s string) (DeviceID, error) {
	if s == "" {
		return DefaultDevice, nil
	}
	if len(s) > MaxIDLength {
		return "", ErrDeviceID
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return "", ErrDeviceID
		}
	}
	return DeviceID(s), nil
}

// ConnID names one client connection of this node, or (FirstWaiter and above) a
// request over HTTP that waits for what it reported. It is never used twice in a
// process. 0 is no connection.
type ConnID uint64

// FirstWaiter is the least ConnID of a request over HTTP.
const FirstWaiter ConnID = 1 << 63

// Session numbers the presences of a user: a later one is larger, also after a
// restart. It is the unix time in microseconds at which the session began,
// raised where needed to exceed the last, so it fits a JSON number.
type Session uint64

// Version orders all that is said about one user. It starts at the session's
// number and counts up by one with each thing said; a session would have to
// say more than a million things a second for years to reach the next one.
type Version uint64

// Instance is one run of a node: name and epoch.
type Instance struct {
	Name  string
	Epoch uint64
}

// String gives "name#epoch".
func (i Instance) String() string { return i.Name + "#" + strconv.FormatUint(i.Epoch, 10) }
