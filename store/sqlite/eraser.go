package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// eraser is the goroutine that removes the history of erased users, in steps that
// let commits go between, until the table erasing is empty.
type eraser struct {
	woken chan struct{}
	done  sync.WaitGroup

	// For those who wait for the end of an erase.
	mu   sync.Mutex
	turn chan struct{} // closed, and replaced, when some were removed or a try failed
	err  error         // of the last try
}

func (e *eraser) start(ctx context.Context, db *DB) {
	e.woken, e.turn = make(chan struct{}, 1), make(chan struct{})
	e.done.Go(func() { e.loop(ctx, db) })
	e.wake()
}

// wake says that somebody was erased.
func (e *eraser) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

func (e *eraser) announce(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
	close(e.turn)
	e.turn = make(chan struct{})
}

// next returns the channel that is closed with the end of the try under way, or
// of the next one.
func (e *eraser) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.turn
}

func (e *eraser) last() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// eraseTogether is how many users' history is removed in one pass.
const eraseTogether = 64

func (e *eraser) loop(ctx context.Context, db *DB) {
	for {
		users, err := db.erased(ctx)
		if err == nil && len(users) > 0 {
			err = db.removeHistory(ctx, users)
		}
		if ctx.Err() != nil {
			return
		}
		e.announce(err)
		var rest <-chan time.Time
		if err != nil {
			db.o.Logger.Error("store: the history of erased users is not removed; trying again", "err", err)
			rest = time.After(keeperPause)
		} else if len(users) > 0 {
			continue
		}
		select {
		case <-rest:
		case <-e.woken:
		case <-ctx.Done():
			return
		}
	}
}

// erased returns some users whose history is left to be removed.
func (db *DB) erased(ctx context.Context) (ids []presence.UserID, err error) {
	err = scanAll(ctx, db.read, func(rs *sql.Rows) error {
		var id int64
		err := rs.Scan(&id)
		ids = append(ids, presence.UserID(id))
		return err
	}, "SELECT user FROM erasing ORDER BY user LIMIT ?", eraseTogether)
	return ids, mapped(ctx, err)
}

// EraseHistory implements store.Erasures. The eraser does the work; this waits
// for it.
func (db *DB) EraseHistory(ctx context.Context, id presence.UserID) error {
	for tries := 0; ; tries++ {
		turn := db.eraser.next()
		left, err := db.isErasing(ctx, id)
		switch {
		case err != nil || !left:
			return err
		case tries > 0:
			if err := db.eraser.last(); err != nil {
				return err
			}
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ctx.Err()
		case <-db.closing:
			return mapped(ctx, errClosed)
		}
	}
}

func (db *DB) isErasing(ctx context.Context, id presence.UserID) (left bool, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM erasing WHERE user = ?)", int64(id)).Scan(&left)
	})
	return left, err
}

// Erasing implements store.Erasures.
func (db *DB) Erasing(ctx context.Context, public presence.PublicID) (id presence.UserID, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT user FROM erasing WHERE public = ? ORDER BY user DESC LIMIT 1", string(public)).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrNotFound
		}
		return err
	})
	return id, err
}
