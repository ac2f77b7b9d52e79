package gateway

// acks decides what one connection may be told is durable. Batches are reported
// in the order in which they came and become durable in that order.
//
// An ack of S says that no fix with a seq up to S that came on this connection
// is still on its way. Usually seqs rise and that is the last durable one. If a
// fix comes with a seq no higher than one before it, nothing from its seq on is
// acknowledged until everything up to that fix is durable.
type acks struct {
	reported, durable uint32 // batches
	seen, any, rests  bool
	lost              bool   // a batch never became durable: no ack ever again
	highest           uint64 // seq reported, if seen
	top               uint64 // seq durable
	sent              uint64 // seq acknowledged, if any
	heldFrom          uint64 // no ack from this seq on
	heldUntil         uint32 // while fewer batches than this are durable
	rest              uint64 // the seq of a still that waits, if rests
	restAfter         uint32 // for so many batches to be durable
}

// report counts a batch with seqs from lowest to highest.
func (a *acks) report(lowest, highest uint64) {
	a.reported++
	if a.seen && lowest <= a.highest {
		if a.durable < a.heldUntil {
			lowest = min(lowest, a.heldFrom)
		}
		a.heldFrom, a.heldUntil = lowest, a.reported
	}
	a.saw(highest)
}

func (a *acks) saw(seq uint64) {
	if !a.seen || seq > a.highest {
		a.seen, a.highest = true, seq
	}
}

// settle counts the oldest batch as durable up to last, and returns what to
// acknowledge.
func (a *acks) settle(last uint64) (seq uint64, ok bool) {
	a.durable++
	a.top = max(a.top, last)
	if a.rests && a.durable >= a.restAfter {
		a.top, a.rests = max(a.top, a.rest), false
	}
	return a.ack()
}

// still acknowledges a seq without a fix, now or once all before it is durable.
func (a *acks) still(seq uint64) (ack uint64, ok bool) {
	a.saw(seq)
	if a.durable >= a.reported {
		a.top = max(a.top, seq)
		return a.ack()
	}
	if a.rests {
		seq = max(seq, a.rest)
	}
	a.rest, a.restAfter, a.rests = seq, a.reported, true
	return 0, false
}

func (a *acks) ack() (uint64, bool) {
	seq := a.top
	if a.lost {
		return 0, false
	}
	if a.durable < a.heldUntil && seq >= a.heldFrom {
		if a.heldFrom == 0 || a.any && a.heldFrom-1 <= a.sent {
			return 0, false
		}
		seq = a.heldFrom - 1
	}
	a.sent, a.any = max(a.sent, seq), true
	return a.sent, true
}

// waiting is how many batches are neither durable nor lost.
func (a *acks) waiting() int {
	if a.lost {
		return 0
	}
	return int(a.reported - a.durable)
}
