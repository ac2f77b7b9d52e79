package sqlite

import (
	"cmp"
	"math"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/kith-nearby/kith/presence"
)

// row is one fix in history with whose it is.
type row struct {
	user   presence.UserID
	device presence.DeviceID
	fix    presence.Fix
}

// key names a row: two rows with one key are the same row (S4).
type key struct {
	user   presence.UserID
	stamp  presence.Millis
	device presence.DeviceID
	seq    uint64
}

func (r *row) key() key {
	return key{user: r.user, stamp: r.fix.Stamp(), device: r.device, seq: r.fix.Seq}
}

// place is where a row stands in the order of a run. No two rows have the same,
// but one row, sent twice, may have two: the server's time is in it.
type place struct {
	user   presence.UserID
	ts     presence.Millis
	device presence.DeviceID
	seq    uint64
	stamp  presence.Millis
}

func (r *row) place() place {
	return place{user: r.user, ts: r.fix.TS, device: r.device, seq: r.fix.Seq, stamp: r.fix.Stamp()}
}

// place is where the row stands, unless it is displaced.
func (k key) place() place {
	return place{user: k.user, ts: k.stamp, device: k.device, seq: k.seq, stamp: k.stamp}
}

// displaced says whether a row stands at another time than its stamp, because the
// clock of its device was ahead.
func (r *row) displaced() bool { return r.fix.Stamp() != r.fix.TS }

// since is before all rows of a user from ts on.
func since(user presence.UserID, ts presence.Millis) place {
	return place{user: user, ts: ts, stamp: math.MinInt64}
}

func (p place) compare(o place) int {
	if c := cmp.Compare(p.user, o.user); c != 0 {
		return c
	}
	if c := cmp.Compare(p.ts, o.ts); c != 0 {
		return c
	}
	if c := strings.Compare(string(p.device), string(o.device)); c != 0 {
		return c
	}
	if c := cmp.Compare(p.seq, o.seq); c != 0 {
		return c
	}
	return cmp.Compare(p.stamp, o.stamp)
}

// deviceHash is the same in every process, since marks are stored by it.
func deviceHash(user presence.UserID, device presence.DeviceID) uint64 {
	return mix(xxhash.Sum64String(string(device)) ^ mix(uint64(user)))
}

// hash spreads keys; device is the deviceHash of its user and device.
func (k key) hash(device uint64) uint64 {
	return mix(device ^ mix(uint64(k.stamp)^mix(k.seq)))
}

// mix is the finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// span is the least and the greatest ts of some rows.
type span struct{ min, max presence.Millis }

func (s *span) add(ts presence.Millis, first bool) {
	if first {
		s.min, s.max = ts, ts
		return
	}
	s.min, s.max = min(s.min, ts), max(s.max, ts)
}

func (s span) holds(ts presence.Millis) bool { return s.min <= ts && ts <= s.max }

func (s *span) join(o span) { s.min, s.max = min(s.min, o.min), max(s.max, o.max) }
