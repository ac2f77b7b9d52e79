package host

import "github.com/kith-nearby/kith/actors"

// record is what a shard knows of one actor beside its Core. It is 32 bytes: with
// its place in the index and its timer some 75 for each user online.
type record struct {
	core        actors.Core // nil = free
	id          uint64
	incarnation uint32 // never 0
	free        uint32 // where core is nil: the next free record, plus one
}

// directory holds a shard's actors under small numbers, which name their timers
// too. Records stand in pages and do not move. The zero value is empty.
type directory struct {
	index map[uint64]uint32
	pages []*[pageSize]record
	used  uint32 // numbers given out so far
	free  uint32 // first free record, plus one
	last  uint32 // incarnation
}

func (d *directory) find(id uint64) (i uint32, r *record) {
	i, ok := d.index[id]
	if !ok {
		return 0, nil
	}
	return i, d.at(i)
}

func (d *directory) at(i uint32) *record { return &d.pages[i>>pageBits][i&(pageSize-1)] }

// add gives core a record. The id must have none.
func (d *directory) add(id uint64, core actors.Core) (i uint32, r *record) {
	if d.index == nil {
		d.index = make(map[uint64]uint32)
	}
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
	d.index[id] = i
	r = d.at(i)
	*r = record{core: core, id: id, incarnation: d.last}
	return i, r
}

func (d *directory) remove(i uint32) {
	r := d.at(i)
	delete(d.index, r.id)
	*r = record{free: d.free}
	d.free = i + 1
}
