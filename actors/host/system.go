package host

import (
	"context"
	"log/slog"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// newSystem makes protoactor's side of the host: no metrics of its own, and a
// log that cannot hold a message.
func newSystem(log *slog.Logger) *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(bareHandler{log.Handler()})
	}))
}

// bareHandler passes on warnings and errors without their attributes: protoactor
// puts whole messages there.
type bareHandler struct{ to slog.Handler }

func (b bareHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && b.to.Enabled(ctx, l)
}

func (b bareHandler) Handle(ctx context.Context, r slog.Record) error {
	bare := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	bare.AddAttrs(slog.String("lib", "protoactor"))
	return b.to.Handle(ctx, bare)
}

func (b bareHandler) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b bareHandler) WithGroup(string) slog.Handler      { return b }

// resume is what happens to an actor whose mailbox caught a panic: a fault of
// the host, since Cores are recovered in their turn. Its state is in the shard
// or lone, not in protoactor's hands; it goes on.
type resume struct{}

func (resume) HandleFailure(_ *actor.ActorSystem, by actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	by.ResumeChildren(child)
}

// guardian is one value for all: protoactor keeps one guardian per strategy.
var guardian = resume{}

// dispatcher yields after so many chunks, about half a millisecond of work, so
// that sockets get their turn on a busy node.
var dispatcher = actor.NewDefaultDispatcher(8)

// nursery starts protoactor actors. All share one Props, which would cost each
// 400 bytes; so one is started at a time, and what protoactor asks for meanwhile
// is that one's.
type nursery struct {
	root  *actor.RootContext
	props *actor.Props

	mu  sync.Mutex
	who actor.Actor
	box *mailbox
}

func newNursery(root *actor.RootContext) *nursery {
	n := &nursery{root: root}
	n.props = actor.PropsFromProducer(
		func() actor.Actor { return n.who },
		actor.WithMailbox(func() actor.Mailbox { return n.box }),
		actor.WithGuardian(guardian),
		actor.WithDispatcher(dispatcher),
	)
	return n
}

// start makes who an actor called name. The name must be free.
func (n *nursery) start(name string, who actor.Actor, box *mailbox) (*actor.PID, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.who, n.box = who, box
	pid, err := n.root.SpawnNamed(n.props, name)
	n.who, n.box = nil, nil
	return pid, err
}

// spawnLone starts an actor that is in the table. Its name was freed before its
// place in the table was.
func (h *Host) spawnLone(o *lone) {
	if _, err := h.nursery.start(o.String(), o, &o.box); err != nil {
		h.log.Error("actor not started", "actor", o.String(), "err", err)
		o.gone(false)
	}
}
