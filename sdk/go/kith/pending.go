package kith

import (
	"encoding/json"
	"slices"
)

// pending is the fixes that the server has not acknowledged, in rising Seq. It
// has no lock: the Client has.
type pending struct {
	fixes   []Fix
	sent    int   // how many of them, from the first, went out on this connection
	before  int   // how many, from the first, went out on an earlier one, and may be stored
	later   []Fix // refused for the moment; they need a new Seq, since an ack of a later one covers theirs
	most    int
	dropped uint64
}

// add takes one fix, at the cost of the oldest if there is no room.
func (p *pending) add(f Fix) {
	switch {
	case p.len() < p.most:
	case len(p.later) > 0:
		p.later = slices.Delete(p.later, 0, 1)
		p.dropped++
	default:
		p.fixes = slices.Delete(p.fixes, 0, 1)
		p.sent, p.before = max(p.sent-1, 0), max(p.before-1, 0)
		p.dropped++
	}
	p.fixes = append(p.fixes, f)
}

func (p *pending) unsent() bool { return p.sent < len(p.fixes) }

func (p *pending) len() int { return len(p.fixes) + len(p.later) }

// acked forgets all up to seq.
func (p *pending) acked(seq uint64) {
	n, found := slices.BinarySearchFunc(p.fixes, seq, func(f Fix, seq uint64) int {
		switch {
		case f.Seq < seq:
			return -1
		case f.Seq > seq:
			return 1
		}
		return 0
	})
	if found {
		n++
	}
	p.fixes = slices.Delete(p.fixes, 0, n)
	p.sent, p.before = max(p.sent-n, 0), max(p.before-n, 0)
}

// refused forgets the one fix, or with forNow keeps it for again. It reports
// whether there was such a fix, and whether it must go out under its own Seq on a
// connection to come: it went out on an earlier one and may be stored, so that a
// new Seq would store it twice.
func (p *pending) refused(seq uint64, forNow bool) (found, reconnect bool) {
	i := slices.IndexFunc(p.fixes, func(f Fix) bool { return f.Seq == seq })
	switch {
	case i < 0:
		return false, false
	case forNow && i < p.before:
		return true, true
	case forNow:
		p.later = append(p.later, p.fixes[i])
	}
	p.fixes = slices.Delete(p.fixes, i, i+1)
	if i < p.sent {
		p.sent--
	}
	if i < p.before {
		p.before--
	}
	return true, false
}

// again queues what was refused for the moment, with Seqs above last, and
// returns the last Seq that is used.
func (p *pending) again(last uint64) uint64 {
	for _, f := range p.later {
		last++
		f.Seq = last
		p.fixes = append(p.fixes, f)
	}
	p.later = nil
	return last
}

// rewind makes all of them unsent: the connection is a new one.
func (p *pending) rewind() { p.before, p.sent = max(p.before, p.sent), 0 }

// The most that one `fixes` frame may hold, and room for what stands around them.
const (
	mostFixes = 1000
	envelope  = 64
)

// next returns the frame with the next fixes that are not sent, or nil.
func (p *pending) next(maxFrame int) []byte {
	todo := p.fixes[p.sent:]
	switch len(todo) {
	case 0:
		return nil
	case 1:
		p.sent++
		return encode(struct {
			Type string `json:"type"`
			Fix
		}{"fix", todo[0]})
	}
	var list []json.RawMessage
	size := envelope
	for _, f := range todo {
		one := encode(f)
		if len(list) > 0 && (len(list) >= mostFixes || size+len(one)+1 > maxFrame) {
			break
		}
		list = append(list, one)
		size += len(one) + 1
	}
	p.sent += len(list)
	return encode(struct {
		Type  string            `json:"type"`
		Fixes []json.RawMessage `json:"fixes"`
	}{"fixes", list})
}

// encode never fails: the frames hold no value that JSON has none for, since
// Client.Fix refuses NaN and infinities.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
