package host

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/internal/stack"
	"github.com/kith-nearby/kith/presence"
)

// faults reports panics: where, and of what type, never what was said, since a
// panic's text may hold a message. At most one line a second for each kind of
// work, with the number of those left out.
type faults struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[string]*faultLine
}

type faultLine struct {
	last    time.Time
	skipped int
}

const faultEvery = time.Second

// report must be called while the panic is being recovered.
func (f *faults) report(value any, during string, who actors.Address) {
	skipped, speak := f.speak(during + who.Kind.String())
	if !speak {
		return
	}
	f.log.Error("panic", "during", during, "actor", who.String(), "type", fmt.Sprintf("%T", value),
		"stack", stack.OfPanic(), "more", skipped)
}

func (f *faults) speak(key string) (skipped int, speak bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	line := f.seen[key]
	if line == nil {
		line = &faultLine{}
		f.seen[key] = line
	} else if now.Sub(line.last) < faultEvery {
		line.skipped++
		return 0, false
	}
	skipped = line.skipped
	line.last, line.skipped = now, 0
	return skipped, true
}

// panicked is what becomes of a Core that panicked: counted, reported, and its
// clients told to come back. The actor itself is taken away by its owner.
func (h *Host) panicked(value any, core actors.Core, who actors.Address, m actors.Message) {
	h.metrics.panics.WithLabelValues(who.Kind.String()).Inc()
	h.faults.report(value, "step", who)
	if a, ok := m.(*actors.Attach); ok {
		// The Core may not know this connection yet, and nobody else will end it.
		h.closeConnections(who, func() []presence.ConnID { return []presence.ConnID{a.Conn} })
	}
	if c, ok := core.(Connected); ok {
		h.closeConnections(who, c.Connections)
	}
}

// closeConnections ends client connections; what a broken Core or a port does
// meanwhile must not spread.
func (h *Host) closeConnections(who actors.Address, of func() []presence.ConnID) {
	defer func() {
		if v := recover(); v != nil {
			h.faults.report(v, "close", who)
		}
	}()
	for _, conn := range of() {
		h.ports.Clients.Close(conn, presence.Internal)
	}
}
