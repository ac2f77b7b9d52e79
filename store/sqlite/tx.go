package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// acquire takes the writer lock, waiting as long as ctx lets it.
func (db *DB) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-db.closing:
		return mapped(ctx, errClosed)
	default:
	}
	select {
	case db.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-db.closing:
		return mapped(ctx, errClosed)
	}
}

func (db *DB) unlock() { <-db.lock }

// commit runs do in a transaction; the caller holds the writer lock. What has
// begun is not cancelled: a transaction is short, and one that was cut off in
// its commit would leave in doubt what became of it.
func (db *DB) commit(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	return db.commitAs(ctx, db.o.Synchronous, do)
}

// tidy is commit for the keeper, which changes where rows are and not which
// there are. It does not wait for the disk: the WAL is in order, so a commit
// that does wait takes with it all that came before, and after a loss of power
// the keeper begins again where the file says.
func (db *DB) tidy(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	return db.commitAs(ctx, "NORMAL", do)
}

func (db *DB) commitAs(ctx context.Context, synchronous string, do func(ctx context.Context, tx *sql.Tx) error) error {
	ctx = context.WithoutCancel(ctx)
	if db.synchronous != synchronous {
		if _, err := db.conn.ExecContext(ctx, "PRAGMA synchronous = "+synchronous); err != nil {
			return mapped(ctx, err)
		}
		db.synchronous = synchronous
	}
	tx, err := db.conn.BeginTx(ctx, nil)
	if err != nil {
		return mapped(ctx, err)
	}
	if err := do(ctx, tx); err != nil {
		if undo := tx.Rollback(); undo != nil {
			err = errors.Join(err, undo)
		}
		return mapped(ctx, err)
	}
	if err := tx.Commit(); err != nil {
		// Some errors of a commit leave the transaction open, and it would be in
		// the way of the next. Where it is not open, this fails and that is right.
		_, _ = db.conn.ExecContext(ctx, "ROLLBACK")
		return mapped(ctx, err)
	}
	db.wrote()
	return nil
}

// change is commit under the writer lock.
func (db *DB) change(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	if err := db.acquire(ctx); err != nil {
		return err
	}
	defer db.unlock()
	return db.commit(ctx, do)
}

// snapshot runs do in a transaction that only reads and sees one state.
func (db *DB) snapshot(ctx context.Context, do func(tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if db.isClosing() {
		return mapped(ctx, errClosed)
	}
	tx, err := db.read.BeginTx(ctx, nil)
	if err != nil {
		return mapped(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	return mapped(ctx, do(tx))
}

// queryer is what *sql.DB and *sql.Tx have in common for reading.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanAll calls scan for each row of a query.
func scanAll(ctx context.Context, q queryer, scan func(rows *sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// nextRev raises the sequence of all Revs.
func nextRev(ctx context.Context, tx execer) (rev uint64, err error) {
	err = tx.QueryRowContext(ctx, "UPDATE counter SET value = value + 1 WHERE name = 'rev' RETURNING value").Scan(&rev)
	return rev, err
}
