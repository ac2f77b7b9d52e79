package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/sdk/go/kith"
)

// Times of a replay.
const (
	replayDial  = 15 * time.Second // for the first connections
	replayFlush = 30 * time.Second // for the last acknowledgements
	liveEvery   = 500 * time.Millisecond
)

// replay is one run of a recording.
type replay struct {
	rec     *recording
	speed   float64
	url     string
	radius  float64
	ttl     time.Duration
	auth    *gateway.Auth
	console *console

	clients []*kith.Client
	began   time.Time

	mu      sync.Mutex
	sent    int
	open    int // tracks whose first connection has come about
	entered int
	gone    map[string]int // by reason
	errors  map[string]int // by code
	lost    []error        // why clients gave up
	changed chan struct{}  // closed and replaced when open or lost change
}

func (r *replay) run(ctx context.Context) error {
	r.gone, r.errors, r.changed = map[string]int{}, map[string]int{}, make(chan struct{})
	clientsCtx, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	var clients sync.WaitGroup
	defer func() {
		hangUp()
		clients.Wait()
	}()
	for _, t := range r.rec.tracks {
		c := r.client(t.user)
		r.clients = append(r.clients, c)
		clients.Go(func() {
			if err := c.Run(clientsCtx); err != nil {
				r.update(func() { r.lost = append(r.lost, fmt.Errorf("%s: %w", t.user, err)) })
			}
		})
	}
	if err := r.connected(ctx); err != nil {
		return err
	}
	r.began = r.console.now()
	showing, stopShowing := context.WithCancel(ctx)
	var live sync.WaitGroup
	live.Go(func() { r.show(showing) })
	var senders sync.WaitGroup
	for i, t := range r.rec.tracks {
		senders.Go(func() { r.send(ctx, r.clients[i], t) })
	}
	senders.Wait()
	flushed := r.flush(ctx)
	stopShowing()
	live.Wait()
	if ctx.Err() != nil {
		flushed = errors.Join(errors.New("stopped by a signal before the end"), flushed)
	}
	return errors.Join(r.report(), flushed)
}

func (r *replay) client(user presence.PublicID) *kith.Client {
	first := true
	return kith.New(kith.Options{
		URL: r.url, Device: "replay", Radius: r.radius,
		Token: func(context.Context) (string, error) { return r.auth.Issue(user, r.ttl, r.console.now()) },
		OnConnected: func(kith.Connected) {
			if first {
				first = false
				r.update(func() { r.open++ })
			}
		},
		OnFriends: func(m kith.Friends) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, n := range m.Near {
				if n.Entered {
					r.entered++
				}
			}
			for _, g := range m.Gone {
				r.gone[g.Reason]++
			}
		},
		OnError: func(e *kith.ServerError) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.errors[e.Code]++
		},
	})
}

func (r *replay) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// connected waits for the first connection of every client.
func (r *replay) connected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, replayDial)
	defer cancel()
	for {
		r.mu.Lock()
		open, lost, changed := r.open, r.lost, r.changed
		r.mu.Unlock()
		switch {
		case len(lost) > 0:
			return fmt.Errorf("a client was refused: %w", lost[0])
		case open == len(r.clients):
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d clients could connect to %s; check that the node runs there (kith status)", open, len(r.clients), r.url)
		}
	}
}

// send sends one track, each position when its time has come.
func (r *replay) send(ctx context.Context, c *kith.Client, t track) {
	for _, p := range t.points {
		due := r.began.Add(time.Duration(float64(p.at) / r.speed))
		timer := time.NewTimer(due.Sub(r.console.now()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		fix := p.fix
		fix.TS = due.UnixMilli()
		if _, err := c.Fix(fix); err == nil {
			r.mu.Lock()
			r.sent++
			r.mu.Unlock()
		}
	}
}

// flush waits for the acknowledgements of all that was sent.
func (r *replay) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replayFlush)
	defer cancel()
	for _, c := range r.clients {
		if c.Flush(ctx) != nil {
			return fmt.Errorf("%d fixes were not acknowledged in %v; check the node's log and its database", r.sum().Pending, replayFlush)
		}
	}
	return nil
}

func (r *replay) sum() kith.Stats {
	var all kith.Stats
	for _, c := range r.clients {
		s := c.Stats()
		all.Connections += s.Connections
		all.Acked += s.Acked
		all.Refused += s.Refused
		all.Dropped += s.Dropped
		all.Pending += s.Pending
	}
	return all
}

// show keeps one line up to date in a terminal.
func (r *replay) show(ctx context.Context) {
	if !terminal(r.console.err) {
		return
	}
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(r.console.err, "\r\x1b[K")
			return
		case <-tick.C:
			fmt.Fprintf(r.console.err, "\r\x1b[K%s", r.line())
		}
	}
}

func (r *replay) line() string {
	total := time.Duration(float64(r.rec.length) / r.speed)
	near := 0
	for _, c := range r.clients {
		near += len(c.View())
	}
	acked := r.sum().Acked
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%v of %v  sent %d  acknowledged %d  near %d  entered %d  gone %d",
		r.console.now().Sub(r.began).Round(time.Second), total.Round(time.Second), r.sent, acked, near, r.entered, totalOf(r.gone))
}

func totalOf(counts map[string]int) int {
	n := 0
	for _, v := range counts {
		n += v
	}
	return n
}

// report prints what happened, and returns an error if not all went well.
func (r *replay) report() error {
	all := r.sum()
	r.mu.Lock()
	defer r.mu.Unlock()
	took := r.console.now().Sub(r.began)
	out := r.console.out
	fmt.Fprintf(out, "users          %d\n", len(r.clients))
	fmt.Fprintf(out, "duration       %v at %v times the speed\n", took.Round(100*time.Millisecond), r.speed)
	fmt.Fprintf(out, "fixes          %d sent, %d acknowledged, %d refused, %d dropped\n", r.sent, all.Acked, all.Refused, all.Dropped)
	if r.rec.outliers > 0 {
		fmt.Fprintf(out, "outliers       %d left out\n", r.rec.outliers)
	}
	fmt.Fprintf(out, "friends near   %d times entered\n", r.entered)
	fmt.Fprintf(out, "friends gone   %d times%s\n", totalOf(r.gone), byName(r.gone))
	fmt.Fprintf(out, "connections    %d%s\n", all.Connections, byName(r.errors))
	switch {
	case len(r.lost) > 0:
		return fmt.Errorf("%d clients gave up: %w", len(r.lost), r.lost[0])
	case all.Refused > 0 || all.Dropped > 0:
		return fmt.Errorf("%d fixes were refused and %d dropped", all.Refused, all.Dropped)
	}
	return nil
}

func byName(counts map[string]int) string {
	if len(counts) == 0 {
		return ""
	}
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
