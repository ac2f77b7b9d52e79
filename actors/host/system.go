package host

import (
	"context"
	"log/slog"

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

// start makes a an actor called name. The name must be free.
func (h *Host) startActor(name string, a actor.Actor, box *mailbox) (*actor.PID, error) {
	return h.system.Root.SpawnNamed(actor.PropsFromProducer(
		func() actor.Actor { return a },
		actor.WithMailbox(func() actor.Mailbox { return box }),
		actor.WithGuardian(guardian),
		actor.WithDispatcher(dispatcher),
	), name)
}

// spawn starts a shard. Shards are the first actors, so their names are free.
func (h *Host) spawn(name string, a actor.Actor, box *mailbox) *actor.PID {
	pid, err := h.startActor(name, a, box)
	if err != nil {
		panic(err)
	}
	return pid
}

// spawnLone starts an actor that is in the table. Its name was freed before its
// place in the table was.
func (h *Host) spawnLone(o *lone) {
	if _, err := h.startActor(o.String(), o, &o.box); err != nil {
		h.log.Error("actor not started", "actor", o.String(), "err", err)
		o.gone(false)
	}
}
