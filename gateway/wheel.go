package gateway

// wheel is a hashed timing wheel: spokes lie in slots by the tick at which they
// are due, and one that is due more than a turn later stays in its slot until
// its turn comes. It has no clock and no lock; its owner has both.
type wheel struct {
	slots []*spoke
	tick  int64 // the last that advance was called for
	held  int
}

// spoke is one entry of a wheel. It lies inside what it wakes, so that a wheel
// allocates nothing.
type spoke struct {
	next, prev *spoke
	tick       int64 // when it is due; 0 = in no wheel
	conn       *Conn
}

func newWheel(slots int) wheel { return wheel{slots: make([]*spoke, slots)} }

func (w *wheel) slot(tick int64) **spoke { return &w.slots[tick%int64(len(w.slots))] }

// set makes s due at tick, or at the next one if that is past.
func (w *wheel) set(s *spoke, tick int64) {
	w.clear(s)
	s.tick = max(tick, w.tick+1)
	head := w.slot(s.tick)
	s.next = *head
	if s.next != nil {
		s.next.prev = s
	}
	*head = s
	w.held++
}

// clear takes s out of the wheel, if it is in.
func (w *wheel) clear(s *spoke) {
	if s.tick == 0 {
		return
	}
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		*w.slot(s.tick) = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.next, s.prev, s.tick = nil, nil, 0
	w.held--
}

// advance moves the wheel on to tick and appends what became due, each once. A
// step of more than a turn looks at every slot once.
func (w *wheel) advance(tick int64, due []*Conn) []*Conn {
	from := max(w.tick+1, tick-int64(len(w.slots))+1)
	w.tick = max(w.tick, tick)
	for t := from; t <= tick; t++ {
		for s := *w.slot(t); s != nil; {
			next := s.next
			if s.tick <= tick {
				due = append(due, s.conn)
				w.clear(s)
			}
			s = next
		}
	}
	return due
}
