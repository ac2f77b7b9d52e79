package presence

import "fmt"

// The types that hold a position say what they are and not where. They need
// Format and not only String: for a verb that does not fit, fmt prints a
// pointer's fields raw, geo.Point's too.

// Format prints f without its position, whatever the verb.
func (f Fix) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "fix(seq=%d ts=%d)", f.Seq, f.TS)
}

// Format prints b without its positions, whatever the verb.
func (b *Batch) Format(s fmt.State, _ rune) {
	if b == nil {
		_, _ = fmt.Fprint(s, "batch(nil)")
		return
	}
	_, _ = fmt.Fprintf(s, "batch(user=%d device=%q fixes=%d last=%d)", b.User, b.Device, len(b.Fixes), b.LastSeq())
}

// Format prints p without the place, whatever the verb.
func (p *Position) Format(s fmt.State, _ rune) {
	if p == nil {
		_, _ = fmt.Fprint(s, "position(nil)")
		return
	}
	_, _ = fmt.Fprintf(s, "position(user=%s %s %s)", p.User, p.State, p.Precision)
}
