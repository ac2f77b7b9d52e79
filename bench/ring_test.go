package bench

import (
	"encoding/binary"
	"math"

	"github.com/kith-nearby/kith/geo"
)

// ring is the last records of 64 bytes for one client. One actor writes to it,
// the client's own: on both sides that is what actors are for.
type ring struct {
	next uint32
	buf  [8][64]byte
}

// put encodes one record.
func (r *ring) put(from uint64, at geo.Point, ts int64, distance, bearing float32) {
	b := &r.buf[r.next%8]
	r.next++
	binary.LittleEndian.PutUint64(b[0:], from)
	binary.LittleEndian.PutUint32(b[8:], uint32(at.Lat))
	binary.LittleEndian.PutUint32(b[12:], uint32(at.Lng))
	binary.LittleEndian.PutUint64(b[16:], uint64(ts))
	binary.LittleEndian.PutUint32(b[24:], math.Float32bits(distance))
	binary.LittleEndian.PutUint32(b[28:], math.Float32bits(bearing))
	clear(b[32:])
}
