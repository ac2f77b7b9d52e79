package host

import (
	"fmt"

	"github.com/kith-nearby/kith/actors"
)

// Warmer is implemented by a Core whose state is spread over memory. Warm reads
// what the next Step will need, and changes nothing.
//
// Among many users nearly every delivery finds the user's state outside the
// processor's caches, and waits for memory several times in a row. Read ahead
// for a few deliveries at once, those waits overlap: a processor has many loads
// under way if none depends on another. That is why there are stages: what a
// stage reads may tell the next where to look. The sum returned only keeps the
// compiler from leaving the reads out.
type Warmer interface {
	Warm(stage int, m actors.Message) uint64
}

const (
	warmAhead  = 8 // deliveries read ahead for
	warmStages = 3
)

// warm reads ahead for the first deliveries of ds. A Warm that panics is a fault,
// but of nobody who could be stopped for it: the shard reads ahead no more.
func (s *shard) warm(ds []delivery) {
	if len(ds) < 2 || s.cold {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.cold = true
			s.h.log.Error("reading ahead panicked; this shard goes on without", "shard", s.number, "type", fmt.Sprintf("%T", v))
		}
	}()
	var cores [warmAhead]Warmer
	var messages [warmAhead]actors.Message
	n := 0
	for i := range min(len(ds), warmAhead) {
		if ds[i].msg == nil {
			continue
		}
		if _, r := s.directory.find(ds[i].id); r != nil {
			if w, ok := r.core.(Warmer); ok {
				cores[n], messages[n] = w, ds[i].msg
				n++
			}
		}
	}
	for stage := range warmStages {
		for i, w := range cores[:n] {
			s.warmed += w.Warm(stage, messages[i])
		}
	}
}
