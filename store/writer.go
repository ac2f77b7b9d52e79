package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/presence"
)

// Acker hears what became of batches. Its methods must not block.
type Acker interface {
	// Durable says that b is in history. Batches come in the order of Record,
	// from one goroutine.
	Durable(b *presence.Batch)
	// Lost says that b was dropped. It is called within Record, or within Close.
	Lost(b *presence.Batch)
	// Recovered says, after some were lost, that history takes batches again. Of
	// each batch that was lost before, Lost has returned.
	Recovered()
}

// Appender is the part of History that a Writer needs.
type Appender interface {
	Append(ctx context.Context, batches []*presence.Batch) error
}

// WriterConfig tunes a Writer.
type WriterConfig struct {
	// QueueRows is how many rows wait at most, those being committed included.
	QueueRows int
	// GroupRows is how many rows make a commit due.
	GroupRows int
	// BacklogRows is how many rows a commit takes at most when more than
	// GroupRows wait. A batch is never split: a larger one is its own group.
	BacklogRows int
	// GroupWait is how long a batch waits at most for others to commit with.
	GroupWait time.Duration
	// RetryMin and RetryMax bound the wait before a failed commit is tried
	// again: random up to RetryMin · 2ⁿ, at most RetryMax ("full jitter").
	RetryMin, RetryMax time.Duration
	// Jitter returns a number in [0, 1). Default: random.
	Jitter func() float64
	// Logger hears of failures and recovery. Default: nobody.
	Logger *slog.Logger
}

// DefaultWriterConfig returns the settings of DESIGN.
func DefaultWriterConfig() WriterConfig {
	return WriterConfig{
		QueueRows: 200_000, GroupRows: 1000, BacklogRows: 10_000, GroupWait: 50 * time.Millisecond,
		RetryMin: 100 * time.Millisecond, RetryMax: 10 * time.Second,
		Jitter: rand.Float64, Logger: slog.New(slog.DiscardHandler),
	}
}

// Validate joins all faults.
func (c *WriterConfig) Validate() error {
	var faults []error
	check := func(ok bool, what string) {
		if !ok {
			faults = append(faults, errors.New("history writer: "+what))
		}
	}
	check(c.GroupRows >= 1, "group rows must be at least 1")
	check(c.BacklogRows >= c.GroupRows, "backlog rows must be at least group rows")
	check(c.QueueRows >= c.BacklogRows, "queue rows must be at least backlog rows")
	check(c.GroupWait > 0, "group wait must be above 0")
	check(c.RetryMin > 0 && c.RetryMax >= c.RetryMin, "retry times must be above 0, the larger one last")
	return errors.Join(faults...)
}

// Writer takes batches into history without making their senders wait: it
// queues them in memory and commits them in groups. While the database is away
// it goes on trying, and what no longer fits into the queue is dropped; the
// clients still have it, since it is not acknowledged.
type Writer struct {
	to      Appender
	acks    Acker
	c       WriterConfig
	metrics *writerMetrics

	woken  chan struct{}
	cancel context.CancelFunc // ends a commit that Close cannot wait for
	ended  chan struct{}

	mu      sync.Mutex
	queue   fifo
	closing bool
	lost    bool // something was, and nobody was told of the recovery yet
	telling int  // calls of Lost under way
	told    sync.Cond
}

// NewWriter starts a Writer. Its metrics go to reg, if not nil.
func NewWriter(to Appender, acks Acker, c WriterConfig, reg prometheus.Registerer) (*Writer, error) {
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	w := &Writer{to: to, acks: acks, c: c, woken: make(chan struct{}, 1), ended: make(chan struct{})}
	w.told.L = &w.mu
	var err error
	if w.metrics, err = newWriterMetrics(reg, w.Lag); err != nil {
		return nil, fmt.Errorf("history writer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go w.run(ctx)
	return w, nil
}

// Record queues b, or drops it and says so to the Acker. It never blocks.
func (w *Writer) Record(b *presence.Batch) {
	w.mu.Lock()
	rows := weight(b)
	if w.closing || w.queue.rows+rows > w.c.QueueRows && w.queue.rows > 0 {
		w.lost = true
		w.telling++
		w.mu.Unlock()
		w.metrics.dropped.Add(float64(rows))
		w.acks.Lost(b)
		w.mu.Lock()
		w.telling--
		w.told.Signal()
		w.mu.Unlock()
		return
	}
	// Waking is needed when waiting begins and when a group is full; between
	// the two the goroutine sleeps until the group is due.
	was := w.queue.rows
	w.queue.push(queued{batch: b, since: time.Now()}, rows)
	wake := was == 0 || was < w.c.GroupRows && w.queue.rows >= w.c.GroupRows
	w.mu.Unlock()
	if wake {
		w.wake()
	}
}

func (w *Writer) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// Lag returns how old the oldest batch is that is not durable yet, and how many
// rows wait.
func (w *Writer) Lag() (age time.Duration, rows int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, ok := w.queue.first(); ok {
		age = time.Since(first.since)
	}
	return age, w.queue.rows
}

// ErrRowsLeft says that Close had no time to make everything durable.
var ErrRowsLeft = errors.New("history rows are not durable")

// Close takes no more batches and makes the queued ones durable. If ctx ends
// first, it gives ErrRowsLeft with their number, and the Acker hears of each.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.wake()
	select {
	case <-w.ended:
	case <-ctx.Done():
		w.cancel()
		<-w.ended
	}
	w.cancel()
	w.metrics.unregister()
	w.mu.Lock()
	left, rows := w.queue.drain(), w.queue.rows
	w.queue.rows = 0
	w.mu.Unlock()
	if rows == 0 {
		return nil
	}
	w.metrics.dropped.Add(float64(rows))
	for _, q := range left {
		w.acks.Lost(q.batch)
	}
	return fmt.Errorf("%d %w: %w", rows, ErrRowsLeft, ctx.Err())
}

// run commits groups until the Writer is closed and empty, or ctx ends.
func (w *Writer) run(ctx context.Context) {
	defer close(w.ended)
	for {
		group := w.nextGroup(ctx)
		if group == nil || !w.commit(ctx, group) {
			return
		}
	}
}

// nextGroup waits until a group is due and returns it. It stays in the queue
// until it is durable. nil: there is none and will be none.
func (w *Writer) nextGroup(ctx context.Context) []*presence.Batch {
	for {
		group, due := w.dueGroup()
		if group != nil {
			return group
		}
		if due < 0 || !w.sleep(ctx, due) {
			return nil
		}
	}
}

// sleep waits for a wake or, if d is not 0, for d. It says whether to go on.
func (w *Writer) sleep(ctx context.Context, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-w.woken:
		return true
	case <-after:
		return true
	case <-ctx.Done():
		return false
	}
}

// dueGroup returns a group if one is due; else when one will be (0 = when
// woken, below 0 = never).
func (w *Writer) dueGroup() ([]*presence.Batch, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, ok := w.queue.first()
	if !ok {
		if w.closing {
			return nil, -1
		}
		return nil, 0
	}
	if wait := w.c.GroupWait - time.Since(first.since); !w.closing && w.queue.rows < w.c.GroupRows && wait > 0 {
		return nil, wait
	}
	most := w.c.GroupRows
	if w.queue.rows > w.c.GroupRows {
		most = w.c.BacklogRows
	}
	return w.queue.head(most), 0
}

// commit appends the group, for as many tries as it takes. It gives false when
// ctx ended first.
func (w *Writer) commit(ctx context.Context, group []*presence.Batch) bool {
	for try := 0; ; try++ {
		start := time.Now()
		err := w.to.Append(ctx, group)
		if err == nil {
			w.metrics.seconds.Observe(time.Since(start).Seconds())
			if try > 0 {
				w.c.Logger.Info("history: writing again", "tries", try+1)
			}
			w.durable(group)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		w.metrics.failures.Inc()
		wait := w.backoff(try)
		w.c.Logger.Warn("history: commit failed, trying again", "err", err, "rows", totalRows(group), "try", try+1, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// backoff is never 0, so that a broken database is not asked in a tight loop.
func (w *Writer) backoff(try int) time.Duration {
	most := w.c.RetryMax
	if try < 30 {
		most = min(most, w.c.RetryMin<<try)
	}
	return max(time.Duration(w.c.Jitter()*float64(most)), w.c.RetryMin/10, 1)
}

// durable takes the group out of the queue and says so.
func (w *Writer) durable(group []*presence.Batch) {
	rows := totalRows(group)
	w.mu.Lock()
	w.queue.pop(len(group))
	// Those who lost batches come back with all of them at once, so they are
	// called when there is room.
	recovered := w.lost && !w.closing && w.queue.rows <= w.c.QueueRows/2
	if recovered {
		w.lost = false
		// Who is still being told of a loss would otherwise never be called back.
		for w.telling > 0 {
			w.told.Wait()
		}
	}
	w.mu.Unlock()
	w.metrics.committed.Add(float64(rows))
	w.metrics.group.Observe(float64(rows))
	for _, b := range group {
		w.acks.Durable(b)
	}
	if recovered {
		w.acks.Recovered()
	}
}

func totalRows(group []*presence.Batch) (rows int) {
	for _, b := range group {
		rows += len(b.Fixes)
	}
	return rows
}
