package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/kith-nearby/kith/cmd/node/config"
)

type serveCommand struct{ settings }

// Help shows examples.
func (serveCommand) Help() string {
	return `Settings come from the file, then from KITH_ variables, then from flags; later ones
win. SIGTERM or SIGINT drains the node; a second one ends it at once.

Examples:

  kith serve --config kith.yaml
  kith serve --config kith.yaml --log.level debug --set presence.offline_grace=10s`
}

// Run serves until a signal or a drain.
func (cmd *serveCommand) Run(c *console) error {
	cfg, _, err := cmd.read(c)
	if err := config.Join(err, cfg.ValidateServe()); err != nil {
		return err
	}
	log := newLogger(c.err, cfg.Log)
	limitMemory(log)
	return runNode(cfg, nodeOptions{Log: log}, func(n *Node) error {
		log.Info("serving", "version", versionName(), "instance", n.instance.String(), "public", n.PublicURL(), "admin", n.AdminURL())
		log.Info("no redis is set: a single node in memory-only mode")
		return nil
	})
}

// limitMemory makes the garbage collector heed the memory limit of the cgroup.
// GOMEMLIMIT, if set, wins.
func limitMemory(log *slog.Logger) {
	before := debug.SetMemoryLimit(-1)
	if _, err := memlimit.Set(memlimit.WithProvider(memlimit.FromCgroup)); err != nil {
		log.Debug("no memory limit from a cgroup", "err", err)
	}
	if limit := debug.SetMemoryLimit(-1); limit != before {
		log.Info("memory limit from the cgroup", "bytes", limit)
	}
}

// forcedExit is how long a node that must end at once may take to put its files
// in order.
const forcedExit = 2 * time.Second

// runNode opens a node, lets started use it, and closes it when a signal, a
// drain or a fault of a listener says so.
func runNode(cfg config.Config, opt nodeOptions, started func(*Node) error) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	n, err := openUntil(signals, cfg, opt)
	if err != nil {
		return err
	}
	failed := started(n)
	if failed == nil {
		select {
		case s := <-signals:
			opt.Log.Info("draining", "signal", s.String(), "within", cfg.Node.DrainWithin)
		case <-n.drainAsked:
			opt.Log.Info("draining", "within", cfg.Node.DrainWithin)
		case failed = <-n.failed:
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), cfg.Node.DrainWithin)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- n.Close(ctx) }()
	select {
	case err = <-closed:
		return errors.Join(failed, err)
	case s := <-signals:
		err = fmt.Errorf("ended at once by a second signal (%v)", s)
	case <-n.forceAsked:
		err = errors.New("ended at once, as asked on the admin port")
	case <-ctx.Done():
		err = fmt.Errorf("the drain took longer than node.drain_within (%v)", cfg.Node.DrainWithin)
	}
	cancel()
	select {
	case <-closed:
	case <-time.After(forcedExit):
	}
	return errors.Join(failed, err)
}

// openUntil opens a node, and gives up if a signal comes first: to read a large
// database takes a while. A signal that comes too late is left in signals.
func openUntil(signals chan os.Signal, cfg config.Config, opt nodeOptions) (*Node, error) {
	ctx, cancel := context.WithCancel(context.Background())
	over, watched := make(chan struct{}), make(chan struct{})
	var early os.Signal
	go func() {
		defer close(watched)
		select {
		case early = <-signals:
			cancel()
		case <-over:
		}
	}()
	n, err := Open(ctx, cfg, opt)
	close(over)
	<-watched
	cancel()
	switch {
	case early == nil:
	case err == nil:
		signals <- early // has room for two
	default:
		err = fmt.Errorf("stopped by a signal (%v) while starting: %w", early, err)
	}
	return n, err
}
