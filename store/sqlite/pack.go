package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// A pack is rows in a few bytes each: about 24 for a row of a random user, 16
// where rows of one device follow each other.
//
//	version   1 byte
//	rows      each: flags, then what differs from the row before
//	checksum  CRC-32C of all before, 4 bytes little endian
//
// A row: flags (1 byte); user, ts, seq as differences (varint); device as
// number in the order of first use (uvarint), the first time followed by its
// length and bytes; lat, lng as differences if the user is the same, else 4 bytes
// each; sent as difference from ts if flagged; then the floats that are set.

const packVersion = 1

// What the flags of a row say.
const (
	hasAccuracy = 1 << iota
	hasAltitude
	hasSpeed
	hasHeading
	hasBattery
	isMock
	hasSent    // Sent is not 0
	sentDiffer // and follows, being not TS
)

var errPack = errors.New("sqlite: a pack of history is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packer builds a pack. Its zero value is ready.
type packer struct {
	body        []byte
	devices     map[presence.DeviceID]uint64
	prev        row
	rows        int
	first, last place
	span        span
}

func (p *packer) add(r *row) {
	if p.rows == 0 {
		p.body = append(p.body[:0], packVersion)
		p.prev = row{}
		if p.devices == nil {
			p.devices = make(map[presence.DeviceID]uint64)
		}
		p.first = r.place()
	}
	f := &r.fix
	p.span.add(f.TS, p.rows == 0)
	p.rows++
	b := append(p.body, flagsOf(f))
	b = binary.AppendVarint(b, int64(r.user-p.prev.user))
	b = binary.AppendVarint(b, int64(f.TS-p.prev.fix.TS))
	b = binary.AppendVarint(b, int64(f.Seq-p.prev.fix.Seq))
	b = p.addDevice(b, r.device)
	if r.user == p.prev.user {
		b = binary.AppendVarint(b, int64(f.At.Lat-p.prev.fix.At.Lat))
		b = binary.AppendVarint(b, int64(f.At.Lng-p.prev.fix.At.Lng))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.At.Lat))
		b = binary.LittleEndian.AppendUint32(b, uint32(f.At.Lng))
	}
	if f.Sent != 0 && f.Sent != f.TS {
		b = binary.AppendVarint(b, int64(f.Sent-f.TS))
	}
	for _, v := range [...]float32{f.Accuracy, f.Altitude, f.Speed, f.Heading, f.Battery} {
		if presence.IsSet(v) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	p.body = b
	p.prev = *r
}

func (p *packer) addDevice(b []byte, d presence.DeviceID) []byte {
	n, known := p.devices[d]
	if !known {
		n = uint64(len(p.devices))
		p.devices[d] = n
	}
	b = binary.AppendUvarint(b, n)
	if !known {
		b = binary.AppendUvarint(b, uint64(len(d)))
		b = append(b, d...)
	}
	return b
}

func flagsOf(f *presence.Fix) byte {
	var flags byte
	for i, v := range [...]float32{f.Accuracy, f.Altitude, f.Speed, f.Heading, f.Battery} {
		if presence.IsSet(v) {
			flags |= hasAccuracy << i
		}
	}
	if f.Mock {
		flags |= isMock
	}
	if f.Sent != 0 {
		flags |= hasSent
		if f.Sent != f.TS {
			flags |= sentDiffer
		}
	}
	return flags
}

// finish returns the pack. It is valid until the next add, which begins anew.
func (p *packer) finish() []byte {
	p.last = p.prev.place()
	body := binary.LittleEndian.AppendUint32(p.body, crc32.Checksum(p.body, castagnoli))
	p.body = body
	p.rows = 0
	clear(p.devices)
	return body
}

// unpacker reads a pack row by row.
type unpacker struct {
	rest    []byte
	devices []presence.DeviceID
	row     row // the row that next read
	err     error
}

// unpack begins to read body.
func unpack(body []byte) unpacker {
	if len(body) < 5 || body[0] != packVersion {
		return unpacker{err: errPack}
	}
	end := len(body) - 4
	if crc32.Checksum(body[:end], castagnoli) != binary.LittleEndian.Uint32(body[end:]) {
		return unpacker{err: errPack}
	}
	return unpacker{rest: body[1:end]}
}

// next reads a row, and says whether there was one. At the end err is nil.
func (u *unpacker) next() bool {
	if u.err != nil || len(u.rest) == 0 {
		return false
	}
	flags := u.rest[0]
	u.rest = u.rest[1:]
	f := &u.row.fix
	user := u.row.user
	u.row.user += presence.UserID(u.varint())
	f.TS += presence.Millis(u.varint())
	f.Seq += uint64(u.varint())
	u.row.device = u.readDevice()
	if u.row.user == user {
		f.At.Lat += int32(u.varint())
		f.At.Lng += int32(u.varint())
	} else {
		f.At = geo.Point{Lat: int32(u.word()), Lng: int32(u.word())}
	}
	f.Sent = 0
	if flags&hasSent != 0 {
		f.Sent = f.TS
	}
	if flags&sentDiffer != 0 {
		f.Sent += presence.Millis(u.varint())
	}
	for i, v := range [...]*float32{&f.Accuracy, &f.Altitude, &f.Speed, &f.Heading, &f.Battery} {
		*v = presence.Unset()
		if flags&(hasAccuracy<<i) != 0 {
			*v = math.Float32frombits(u.word())
		}
	}
	f.Mock = flags&isMock != 0
	if !f.At.Valid() {
		u.err = errPack
	}
	return u.err == nil
}

func (u *unpacker) varint() int64 {
	v, n := binary.Varint(u.rest)
	return int64(u.took(uint64(v), n))
}

func (u *unpacker) uvarint() uint64 {
	v, n := binary.Uvarint(u.rest)
	return u.took(v, n)
}

func (u *unpacker) took(v uint64, n int) uint64 {
	if n <= 0 {
		u.err, u.rest = errPack, nil
		return 0
	}
	u.rest = u.rest[n:]
	return v
}

func (u *unpacker) word() uint32 {
	if len(u.rest) < 4 {
		u.err, u.rest = errPack, nil
		return 0
	}
	v := binary.LittleEndian.Uint32(u.rest)
	u.rest = u.rest[4:]
	return v
}

func (u *unpacker) readDevice() presence.DeviceID {
	n := u.uvarint()
	if n < uint64(len(u.devices)) {
		return u.devices[n]
	}
	length := u.uvarint()
	if n != uint64(len(u.devices)) || length > uint64(len(u.rest)) {
		u.err, u.rest = errPack, nil
		return ""
	}
	d := presence.DeviceID(u.rest[:length])
	u.rest = u.rest[length:]
	u.devices = append(u.devices, d)
	return d
}
