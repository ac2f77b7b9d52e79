package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	driver "modernc.org/sqlite"
)

// SQLite appends commits to a log of its own, the WAL, and must copy them into
// the file now and then. Left to itself it does so within a commit, which then
// waits for tens of milliseconds. Here a goroutine copies beside the commits, on
// its own connection. Only when the WAL has grown long all the same, because
// there never was a pause in which it could begin again, commits are held up
// while the rest is copied.
const (
	checkpointPages = 16 << 20 / pageSize
	restartPages    = 128 << 20 / pageSize
)

// checkpointer is that goroutine.
type checkpointer struct {
	conn  *sql.DB
	pages atomic.Int64 // written since the last checkpoint
	woken chan struct{}
	done  sync.WaitGroup
}

func (c *checkpointer) start(ctx context.Context, db *DB) error {
	conn, err := sql.Open("sqlite", dsn(db.path, db.o, true))
	if err != nil {
		return err
	}
	conn.SetMaxOpenConns(1)
	c.conn, c.woken = conn, make(chan struct{}, 1)
	c.done.Go(func() {
		for {
			select {
			case <-c.woken:
			case <-ctx.Done():
				return
			}
			if err := db.checkpoint(ctx); err != nil && ctx.Err() == nil {
				db.o.Logger.Error("store: checkpoint failed; trying again", "err", err)
				select {
				case <-time.After(keeperPause):
				case <-ctx.Done():
				}
			}
		}
	})
	return nil
}

// wrote counts the pages that the last commit wrote. The caller holds the
// writer lock.
func (db *DB) wrote() {
	var pages int
	if err := db.conn.Raw(func(c any) (err error) {
		pages, _, err = c.(driver.DBStatus).Status(driver.DBStatusCacheWrite, true)
		return err
	}); err != nil {
		pages = checkpointPages // not known: look at once
	}
	if db.checkpoints.pages.Add(int64(pages)) < checkpointPages {
		return
	}
	select {
	case db.checkpoints.woken <- struct{}{}:
	default:
	}
}

func (db *DB) checkpoint(ctx context.Context) error {
	db.checkpoints.pages.Store(0)
	var busy, length, copied int
	if err := db.checkpoints.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &length, &copied); err != nil {
		return err
	}
	if length < restartPages {
		return nil
	}
	return db.restartWAL(ctx, "RESTART")
}

// restartWAL copies all of the WAL into the file, so that the next commit begins
// it anew; TRUNCATE also empties it. While a query is running it may not be able
// to, and does not wait.
func (db *DB) restartWAL(ctx context.Context, how string) error {
	if err := db.acquire(ctx); err != nil {
		return err
	}
	defer db.unlock()
	for _, q := range [...]string{
		"PRAGMA busy_timeout = 20",
		"PRAGMA wal_checkpoint(" + how + ")",
		fmt.Sprintf("PRAGMA busy_timeout = %d", db.o.BusyTimeout.Milliseconds()),
	} {
		if _, err := db.conn.ExecContext(context.WithoutCancel(ctx), q); err != nil {
			return mapped(ctx, err)
		}
	}
	return nil
}
