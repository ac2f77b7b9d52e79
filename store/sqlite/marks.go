package sqlite

import (
	"encoding/binary"
	"math"

	"github.com/kith-nearby/kith/presence"
)

// marks says of most rows, without any look-up, that they are new. A slot holds
// an upper bound of the stamps of all rows of the devices that hash to it; a row
// above it cannot be in the store, since its stamp is part of what names it. Sharing a slot, an erase and a prune leave
// bounds that are too high, which costs a look-up and is never wrong.
type marks struct {
	slots []presence.Millis
	dirty []bool // by part
}

// partSlots is how many slots make one row of the table mark: 64 KiB.
const partSlots = 8192

// markParts is how many parts there are: 1 048 576 slots, 8 MiB. A power of
// two. Stored parts depend on it, so a change of it needs a migration.
const markParts = 128

func newMarks(parts int) *marks {
	m := &marks{slots: make([]presence.Millis, parts*partSlots), dirty: make([]bool, parts)}
	for i := range m.slots {
		m.slots[i] = math.MinInt64
	}
	return m
}

// raise makes the bound of a device at least stamp. It says whether stamp was
// above it, so that a row with that stamp is provably new.
func (m *marks) raise(device uint64, stamp presence.Millis) bool {
	i := device & uint64(len(m.slots)-1)
	if stamp <= m.slots[i] {
		return false
	}
	m.slots[i] = stamp
	m.dirty[i/partSlots] = true
	return true
}

func (m *marks) encode(part int) []byte {
	b := make([]byte, 0, partSlots*8)
	for _, stamp := range m.slots[part*partSlots : (part+1)*partSlots] {
		b = binary.LittleEndian.AppendUint64(b, uint64(stamp))
	}
	return b
}

// decode takes a stored part.
func (m *marks) decode(part int64, body []byte) error {
	if part < 0 || part >= int64(len(m.dirty)) || len(body) != partSlots*8 {
		return errPack
	}
	at := uint64(part) * partSlots
	for i := range uint64(partSlots) {
		m.raise(at+i, presence.Millis(binary.LittleEndian.Uint64(body[8*i:])))
	}
	return nil
}
