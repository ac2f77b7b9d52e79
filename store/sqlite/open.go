package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/kith-nearby/kith/store"
)

// Options tunes a store. The zero value of each field means its default.
type Options struct {
	// Synchronous is how far a commit goes: "FULL" (default, on the disk when
	// Append returns) or "NORMAL" (the last commits can be lost at power loss,
	// never at a crash of the process).
	Synchronous string
	// Readers is how many queries run at once. Default 4.
	Readers int
	// BusyTimeout is how long SQLite waits for a lock. Default 5 s.
	BusyTimeout time.Duration
	// CacheBytes is the page cache of each connection. Default 16 MiB.
	CacheBytes int
	// RecentRows is how many rows of history stand in memory before they are
	// written in user order, about 130 bytes each; there may be three times as
	// many for a moment. Default 262 144.
	RecentRows int
	// Logger hears of failures of background work. Default: nobody.
	Logger *slog.Logger

	packRows  int // rows in a pack
	stepRows  int // rows written under one hold of the writer lock
	fanIn     int // runs of a level that become one of the next
	markParts int // size of the marks, see marks.go
}

func (o Options) withDefaults() Options {
	orInt := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orInt(&o.Readers, 4)
	orInt(&o.CacheBytes, 16<<20)
	orInt(&o.RecentRows, 1<<18)
	orInt(&o.packRows, 512)
	orInt(&o.stepRows, 8192)
	orInt(&o.fanIn, 8)
	orInt(&o.markParts, markParts)
	return o
}

func (o Options) validate() error {
	if o.Synchronous != "FULL" && o.Synchronous != "NORMAL" {
		return fmt.Errorf("synchronous is FULL or NORMAL, not %q", o.Synchronous)
	}
	return nil
}

// DB is a store in one SQLite file.
type DB struct {
	path  string
	o     Options
	owner *owner
	read  *sql.DB
	write *sql.DB // the pool of conn alone

	lock        chan struct{} // holds one token while somebody writes
	conn        *sql.Conn     // all writing; under lock
	synchronous string        // as conn has it; under lock
	closing     chan struct{} // closed when Close begins
	once        sync.Once

	history     history
	keeper      keeper
	eraser      eraser
	checkpoints checkpointer
	cancel      context.CancelFunc // ends the goroutines
}

var (
	_ store.Store    = (*DB)(nil)
	_ store.Importer = (*DB)(nil)
)

// Open opens the database at path, which may be written "sqlite:PATH", and
// creates it if there is none (its folder must exist). What a crash left undone is
// finished, erases in the background. Errors wrap ErrLocked, ErrNotDB, ErrNewer, ErrFull or ErrAccess
// where that is the matter.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	path = strings.TrimPrefix(path, "sqlite:")
	if path == "" || strings.Contains(path, ":memory:") {
		return nil, errors.New("open store: name a file, as in sqlite:kith.db")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db := &DB{
		path: path, o: o,
		lock: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	background, cancel := context.WithCancel(context.Background())
	db.cancel = cancel
	if err := db.open(ctx, background); err != nil {
		_ = db.release()
		return nil, opening(path, err)
	}
	db.keeper.start(background, db)
	db.eraser.start(background, db)
	return db, nil
}

func (db *DB) open(ctx, background context.Context) (err error) {
	if db.owner, err = own(ctx, db.path, min(db.o.BusyTimeout, 2*time.Second)); err != nil {
		return err
	}
	// Only now may the file be touched: closing a file ends all POSIX locks that
	// this process has on it, also those of another DB.
	if err := checkHeader(db.path); err != nil {
		return err
	}
	if db.write, db.read, err = connect(ctx, db.path, db.o); err != nil {
		return err
	}
	if err := migrate(ctx, db.write); err != nil {
		return err
	}
	if db.conn, err = db.write.Conn(ctx); err != nil {
		return err
	}
	db.synchronous = db.o.Synchronous
	if err := db.checkpoints.start(background, db); err != nil {
		return err
	}
	if err := db.loadHistory(ctx); err != nil {
		return fmt.Errorf("load history: %w", err)
	}
	return nil
}

// Close ends background work and closes the file. What Append acknowledged is
// safe with or without it.
func (db *DB) Close() error {
	var err error
	db.once.Do(func() {
		close(db.closing)
		db.cancel()
		db.keeper.done.Wait()
		db.eraser.done.Wait()
		db.lock <- struct{}{} // kept: nobody writes any more
		_, _ = db.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
		err = db.release()
	})
	return err
}

func (db *DB) release() error {
	db.cancel()
	db.keeper.done.Wait()
	db.eraser.done.Wait()
	db.checkpoints.done.Wait()
	var errs []error
	if db.conn != nil {
		errs = append(errs, db.conn.Close())
	}
	for _, pool := range []*sql.DB{db.read, db.checkpoints.conn, db.write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	if db.owner != nil {
		db.owner.release()
	}
	return errors.Join(errs...)
}

// Ping implements store.Store. It reads from the file, so it notices more than
// an open handle would.
func (db *DB) Ping(ctx context.Context) error {
	if db.isClosing() {
		return mapped(ctx, errClosed)
	}
	var n int
	err := db.read.QueryRowContext(ctx, "SELECT count(*) FROM counter").Scan(&n)
	return mapped(ctx, err)
}

func (db *DB) isClosing() bool {
	select {
	case <-db.closing:
		return true
	default:
		return false
	}
}
