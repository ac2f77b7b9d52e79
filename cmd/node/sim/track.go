package sim

import (
	"sync"
	"time"
)

// marksKept is how many reports of one person the oracle remembers.
const marksKept = 48

// standing is what a reported position means for what others are shown.
type standing uint8

const (
	live   standing = iota // it counts
	coarse                 // it is shown, and moves nobody in or out
	late                   // older than one before it: it is never shown
	limbo                  // it may come to be shown, or not
)

// mark is one fix that a person reported. Times count from the start of the run.
type mark struct {
	seq    uint64
	ts     int64 // unix milliseconds
	at     spot
	vector vector
	is     standing
	sent   time.Duration
	acked  time.Duration // 0 = not yet
	socket int           // the number of the connection that was open, 0 = none
}

// track is what the oracle knows of one person. Everything is guarded by mu; no
// call into a client is made, and no other track is locked, with it held, but
// for Fix, which makes no calls back.
type track struct {
	mu    sync.Mutex
	marks [marksKept]mark
	n     int // marks ever made; the i-th is marks[i%marksKept]
	bound int // of n that are acknowledged for sure: all before it

	socket  int // connections so far
	open    bool
	trying  bool
	since   time.Duration // of the last change of open
	ever    bool
	steady  bool // the last connection that ended had lasted
	session uint64
	located time.Duration // since when the server has a position of this session; 0 = it has none
	unsure  bool          // the line is frozen: what the server believes is not known
	radius  float64       // metres
	exit    float64       // metres
}

// first is the oldest mark that is remembered.
func (t *track) first() int { return max(0, t.n-marksKept) }

func (t *track) at(i int) *mark { return &t.marks[i%marksKept] }

// report adds a mark.
func (t *track) report(m mark) {
	m.vector = m.at.vector()
	if t.open {
		m.socket = t.socket
	}
	*t.at(t.n) = m
	t.n++
	t.bound = max(t.bound, t.first())
}

// ack notes that all up to seq is kept, and calls each with the time that each
// one took of which it is meaningful.
func (t *track) ack(seq uint64, now time.Duration, each func(took time.Duration)) {
	for ; t.bound < t.n; t.bound++ {
		m := t.at(t.bound)
		if m.seq > seq {
			return
		}
		if m.acked != 0 || m.is == limbo {
			continue
		}
		m.acked = now
		if m.is == live && t.located == 0 {
			t.located = now
		}
		if m.socket == t.socket && m.socket != 0 {
			each(now - m.sent)
		}
	}
}

// waiting is how long the oldest fix has waited for its acknowledgement that was
// sent on the connection that there is.
func (t *track) waiting(now time.Duration) time.Duration {
	if !t.open || t.unsure {
		return 0
	}
	for i := t.bound; i < t.n; i++ {
		if m := t.at(i); m.acked == 0 && m.is != limbo && m.socket == t.socket {
			return now - m.sent
		}
	}
	return 0
}

// refuse notes that a fix was refused, at least for the moment.
func (t *track) refuse(seq uint64) {
	for i := t.bound; i < t.n; i++ {
		if m := t.at(i); m.seq == seq {
			m.is = limbo
		}
	}
}

// connect notes a connection that works. In a new session the server knows
// nothing of what was before, so what was late may count.
func (t *track) connect(session uint64, radius, exit float64, now time.Duration) {
	t.socket++
	t.open, t.ever, t.trying, t.unsure, t.since = true, true, false, false, now
	t.radius, t.exit = radius, exit
	if session == t.session {
		return
	}
	t.session, t.located = session, 0
	for i := t.bound; i < t.n; i++ {
		if m := t.at(i); m.is == late {
			m.is = limbo
		}
	}
}

// attempt notes that a connection is being made. The server may have it before
// the client knows.
func (t *track) attempt() { t.trying = true }

// disconnect notes the end of a connection, or of an attempt; reached says that
// the server may have seen it. before is when messages may have been sent that
// are under way.
func (t *track) disconnect(now, before time.Duration, reached bool) {
	switch {
	case t.open:
		t.steady = t.surely(before)
		t.since = now
	case reached:
		t.steady, t.since = false, now
	}
	t.open, t.trying = false, false
}

// surely reports whether the server has had this person since before, at
// positions that are remembered.
func (t *track) surely(before time.Duration) bool {
	return t.open && !t.unsure && t.since <= before && t.located != 0 && t.located <= before && t.settled(before, moving) >= 0
}

// absent reports whether the server has had no connection of this person since
// before. What was before the run is not known.
func (t *track) absent(before time.Duration) bool {
	return !t.open && !t.trying && !t.unsure && t.since <= before
}

// settled is the number of the newest mark of a kind that the server had taken in
// before; -1 if there is none.
func (t *track) settled(before time.Duration, kind func(standing) bool) int {
	for i := t.n - 1; i >= t.first(); i-- {
		if m := t.at(i); kind(m.is) && m.acked != 0 && m.acked <= before {
			return i
		}
	}
	return -1
}

// possible appends where the server may have had this person at any time since
// before: at the last mark that it had taken in then, or at any later one.
func (t *track) possible(before time.Duration, to []vector) []vector {
	for i := max(t.settled(before, moving), t.first()); i < t.n; i++ {
		if m := t.at(i); moving(m.is) || m.is == limbo {
			to = append(to, m.vector)
		}
	}
	return to
}

func moving(s standing) bool { return s == live }

func shown(s standing) bool { return s == live || s == coarse }

// find returns the number of the mark that was reported at this place and time,
// or -1; known is false if it may be one that is forgotten. began is when the run
// began, in unix milliseconds: one before it had other people of the same names.
func (t *track) find(ts int64, at spot, began int64) (i int, known bool) {
	for i := t.n - 1; i >= t.first(); i-- {
		if m := t.at(i); m.ts == ts && m.at == at {
			return i, true
		}
	}
	return -1, ts >= began && (t.n <= marksKept || ts >= t.at(t.first()).ts)
}
