package store

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// Pruner is the part of History that a Retention needs.
type Pruner interface {
	Prune(ctx context.Context, before presence.Millis, limit int) (int, error)
}

// RetentionConfig tunes a Retention.
type RetentionConfig struct {
	Age   time.Duration // history older than this is removed; 0 = none is
	Every time.Duration // how often it is looked for
	Chunk int           // rows removed in one go
	Pause time.Duration // after each full chunk, so that commits come first
	// Logger hears of failures. Default: nobody.
	Logger *slog.Logger
}

// DefaultRetentionConfig keeps history for ever.
func DefaultRetentionConfig() RetentionConfig {
	return RetentionConfig{Every: time.Hour, Chunk: 10_000, Pause: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
}

// Validate joins all faults.
func (c *RetentionConfig) Validate() error {
	var faults []error
	if c.Age < 0 {
		faults = append(faults, errors.New("retention: age must not be below 0"))
	}
	if c.Age > 0 && c.Every <= 0 {
		faults = append(faults, errors.New("retention: every must be above 0"))
	}
	if c.Age > 0 && c.Chunk < 1 {
		faults = append(faults, errors.New("retention: chunk must be at least 1"))
	}
	return errors.Join(faults...)
}

// Retention removes history that has become too old.
type Retention struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// StartRetention starts removing history from h, at once and then every c.Every.
func StartRetention(h Pruner, c RetentionConfig) (*Retention, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Retention{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for c.Age > 0 {
			c.prune(ctx, h)
			if !pause(ctx, c.Every) {
				return
			}
		}
	}()
	return r, nil
}

// Close stops it; a chunk that is being removed is finished or undone.
func (r *Retention) Close() {
	r.cancel()
	<-r.ended
}

// prune removes all that is too old now.
func (c *RetentionConfig) prune(ctx context.Context, h Pruner) {
	before := presence.Millis(time.Now().Add(-c.Age).UnixMilli())
	for total := 0; ; {
		n, err := h.Prune(ctx, before, c.Chunk)
		total += n
		if err != nil {
			if ctx.Err() == nil {
				c.Logger.Warn("retention: trying again later", "err", err, "removed", total)
			}
			return
		}
		if n < c.Chunk {
			if total > 0 {
				c.Logger.Info("retention: removed old history", "rows", total)
			}
			return
		}
		if !pause(ctx, c.Pause) {
			return
		}
	}
}

// pause waits for d, and says whether ctx still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
