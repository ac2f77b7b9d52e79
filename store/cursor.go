package store

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/kith-nearby/kith/presence"
)

// Cursor is the place in a user's history after which a page begins: the row
// that the page before ended with, in the order of history. It holds no position.
type Cursor struct {
	TS     presence.Millis
	Device presence.DeviceID
	Seq    uint64
	Stamp  presence.Millis
}

// CursorAt returns the cursor behind row.
func CursorAt(row *HistoryRow) Cursor {
	return Cursor{TS: row.Fix.TS, Device: row.Device, Seq: row.Fix.Seq, Stamp: row.Fix.Stamp()}
}

const cursorVersion = 2

// Encode returns c as the text that clients hand back with the same q.
func (c Cursor) Encode(q *HistoryQuery) string {
	b := []byte{cursorVersion}
	b = binary.AppendVarint(b, int64(c.TS))
	b = binary.AppendUvarint(b, c.Seq)
	b = binary.AppendVarint(b, int64(c.Stamp-c.TS))
	b = append(b, c.Device...)
	b = binary.LittleEndian.AppendUint32(b, cursorSum(b, q))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor returns the cursor that Encode made for a query of the same user
// and times, or ErrCursor.
func ParseCursor(text string, q *HistoryQuery) (Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 1+1+1+1+4 || b[0] != cursorVersion {
		return Cursor{}, ErrCursor
	}
	b, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if sum != cursorSum(b, q) {
		return Cursor{}, ErrCursor
	}
	rest := b[1:]
	ts, n := binary.Varint(rest)
	if n <= 0 {
		return Cursor{}, ErrCursor
	}
	rest = rest[n:]
	seq, n := binary.Uvarint(rest)
	if n <= 0 {
		return Cursor{}, ErrCursor
	}
	rest = rest[n:]
	after, n := binary.Varint(rest)
	if n <= 0 {
		return Cursor{}, ErrCursor
	}
	return Cursor{
		TS: presence.Millis(ts), Seq: seq, Stamp: presence.Millis(ts + after), Device: presence.DeviceID(rest[n:]),
	}, nil
}

// cursorSum binds a cursor to its query, so that one handed to another query is
// noticed. It guards against mistakes; a forged cursor shows nobody's history
// but that of the user in the query.
func cursorSum(b []byte, q *HistoryQuery) uint32 {
	var about []byte
	for _, v := range []uint64{uint64(q.User), uint64(q.From), uint64(q.To)} {
		about = binary.LittleEndian.AppendUint64(about, v)
	}
	return crc32.Update(crc32.ChecksumIEEE(about), crc32.IEEETable, b)
}

// MaxPage is the most rows that a query returns.
const MaxPage = 10_000

// PageLimit returns q.Limit within 1 and MaxPage.
func (q *HistoryQuery) PageLimit() int { return min(max(q.Limit, 1), MaxPage) }

// Until returns the exclusive end of q.
func (q *HistoryQuery) Until() presence.Millis {
	if q.To == 0 {
		return math.MaxInt64
	}
	return q.To
}
