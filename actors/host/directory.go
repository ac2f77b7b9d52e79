package host

import "github.com/kith-nearby/kith/actors"

// record is what a shard knows of one actor beside its Core: 32 bytes. With its
// place in the index and its timer that makes some 60 for each user online.
type record struct {
	core        actors.Core // nil = free
	id          uint64
	incarnation uint32 // never 0
	free        uint32 // where core is nil: the next free record, plus one
}

func (r *record) address() actors.Address {
	return actors.Address{Kind: actors.UserKind, ID: r.id}
}

// directory holds a shard's actors under small numbers, which name their timers
// too. Records stand in pages and do not move. The zero value is empty.
//
// Its index is hash tables of record numbers: the id itself is compared in the
// record, which has to be read anyway, so an entry takes 4 bytes instead of the
// 16 of a Go map, and a delivery one cache miss less. 64 tables, each growing and
// shrinking by itself, so that none takes long to.
type directory struct {
	tables [tables]table
	pages  []*[pageSize]record
	used   uint32 // numbers given out so far
	free   uint32 // first free record, plus one
	last   uint32 // incarnation
}

// table is open addressing with linear probing. A slot holds the record's number
// plus one in its low 24 bits (0 = empty), and 8 bits of the hash above, so that
// hardly any other record is read on the way.
type table struct {
	slots []uint32 // a power of two
	n     int
}

const (
	tableBits  = 6
	tables     = 1 << tableBits
	markBits   = 8
	numberBits = 24
	numberMask = 1<<numberBits - 1
	minSlots   = 8
	maxActors  = numberMask - 1 // of a shard
)

// hashed is the hash of an id in its parts. The shard took the topmost bits.
type hashed struct {
	table int
	mark  uint32
	home  uint64
}

func hash(id uint64) hashed {
	h := mix(id)
	return hashed{
		table: int(h & (tables - 1)),
		mark:  uint32(h>>tableBits) << numberBits,
		home:  h >> (tableBits + markBits),
	}
}

// find returns the number and the record of an id, or nil.
func (d *directory) find(id uint64) (i uint32, r *record) {
	h := hash(id)
	slots := d.tables[h.table].slots
	if len(slots) == 0 {
		return 0, nil
	}
	mask := uint64(len(slots) - 1)
	for at := h.home & mask; ; at = (at + 1) & mask {
		slot := slots[at]
		if slot == 0 {
			return 0, nil
		}
		if slot&^numberMask != h.mark {
			continue
		}
		i := slot&numberMask - 1
		if r := d.at(i); r.id == id {
			return i, r
		}
	}
}

func (d *directory) at(i uint32) *record { return &d.pages[i>>pageBits][i&(pageSize-1)] }

// add gives core a record. The id must have none, and full must be false.
func (d *directory) add(id uint64, core actors.Core) (i uint32, r *record) {
	if d.free != 0 {
		i = d.free - 1
		d.free = d.at(i).free
	} else {
		i = d.used
		d.used++
		if int(i>>pageBits) == len(d.pages) {
			d.pages = append(d.pages, new([pageSize]record))
		}
	}
	if d.last++; d.last == 0 {
		d.last = 1
	}
	r = d.at(i)
	*r = record{core: core, id: id, incarnation: d.last}
	h := hash(id)
	t := &d.tables[h.table]
	if t.n++; t.n*4 > len(t.slots)*3 {
		d.resize(t, max(minSlots, 2*len(t.slots)))
	}
	t.put(h, i)
	return i, r
}

// full says that there are as many actors as a shard can number.
func (d *directory) full() bool { return d.free == 0 && d.used == maxActors }

func (t *table) put(h hashed, i uint32) {
	mask := uint64(len(t.slots) - 1)
	at := h.home & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = h.mark | (i + 1)
}

func (d *directory) resize(t *table, size int) {
	old := t.slots
	t.slots = make([]uint32, size)
	for _, slot := range old {
		if slot != 0 {
			i := slot&numberMask - 1
			t.put(hash(d.at(i).id), i)
		}
	}
}

func (d *directory) remove(i uint32) {
	r := d.at(i)
	t := &d.tables[hash(r.id).table]
	d.unlink(t, i)
	*r = record{free: d.free}
	d.free = i + 1
	if t.n--; len(t.slots) > minSlots && t.n*8 < len(t.slots) {
		d.resize(t, len(t.slots)/2)
	}
}

// unlink takes i out of its table, and moves up what was displaced by it.
func (d *directory) unlink(t *table, i uint32) {
	h := hash(d.at(i).id)
	mask := uint64(len(t.slots) - 1)
	hole := h.home & mask
	for t.slots[hole] != h.mark|(i+1) {
		hole = (hole + 1) & mask
	}
	for at := (hole + 1) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		home := hash(d.at(t.slots[at]&numberMask-1).id).home & mask
		if (at-home)&mask >= (at-hole)&mask {
			t.slots[hole] = t.slots[at]
			hole = at
		}
	}
	t.slots[hole] = 0
}
