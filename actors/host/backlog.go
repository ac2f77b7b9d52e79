package host

// backlog is a shard's own queue: what its Cores send to each other. It lets go
// of its memory when it runs empty after having been long.
type backlog struct {
	items []delivery
	head  int
}

// keepBacklog is the capacity that an empty backlog keeps: 96 KiB.
const keepBacklog = 4096

func (q *backlog) len() int { return len(q.items) - q.head }

func (q *backlog) push(d delivery) {
	if q.head > keepBacklog && q.head > len(q.items)/2 {
		q.compact()
	}
	q.items = append(q.items, d)
}

func (q *backlog) pop() delivery {
	d := q.items[q.head]
	q.items[q.head] = delivery{}
	if q.head++; q.head == len(q.items) {
		q.head = 0
		q.items = q.items[:0]
		if cap(q.items) > keepBacklog {
			q.items = nil
		}
	}
	return d
}

func (q *backlog) compact() {
	n := copy(q.items, q.items[q.head:])
	clear(q.items[n:])
	q.items, q.head = q.items[:n], 0
}
