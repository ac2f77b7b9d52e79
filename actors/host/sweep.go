package host

// sweep goes once through a shard's records, spread over a number of ticks.
// Begun again before its end, it goes on from where it is, once round. It has no
// clock. The zero value has nothing to do.
type sweep struct {
	place uint32 // record whose turn is next
	total uint32
	done  uint32
	from  uint64 // tick of the start
	pace  uint64 // ticks for the whole; 0 = at once
}

// begin starts a round over total records.
func (s *sweep) begin(total uint32, now, pace uint64) {
	s.total, s.done, s.from, s.pace = total, 0, now, pace
}

// due is how many records should have had their turn by tick now and have not.
func (s *sweep) due(now uint64) uint32 {
	passed := now - min(now, s.from)
	if passed >= s.pace {
		return s.total - s.done
	}
	return uint32(uint64(s.total)*passed/s.pace) - s.done
}

// step returns the record whose turn it is. Records that came after begin have
// no turn.
func (s *sweep) step() uint32 {
	if s.place >= s.total {
		s.place = 0
	}
	i := s.place
	s.place++
	s.done++
	return i
}

// next is the tick at which due rises again.
func (s *sweep) next() (tick uint64, ok bool) {
	if s.done == s.total {
		return 0, false
	}
	total := uint64(s.total)
	return s.from + (uint64(s.done+1)*s.pace+total-1)/total, true
}
