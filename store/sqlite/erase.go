package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// Erase implements store.Erasures. The intent to remove the history is noted in
// the same transaction in which the identity goes.
func (db *DB) Erase(ctx context.Context, id presence.UserID) (e store.Erased, err error) {
	if err := db.acquire(ctx); err != nil {
		return e, err
	}
	defer db.unlock()
	if err := db.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		e, err = eraseIdentity(ctx, tx, id)
		return err
	}); err != nil {
		return store.Erased{}, err
	}
	db.history.forget(id)
	db.eraser.wake()
	return e, nil
}

func eraseIdentity(ctx context.Context, tx *sql.Tx, id presence.UserID) (e store.Erased, err error) {
	u, err := byID(ctx, tx, id)
	if err != nil {
		return e, err
	}
	if e.Rev, err = nextRev(ctx, tx); err != nil {
		return e, err
	}
	if err := scanAll(ctx, tx, func(rs *sql.Rows) error {
		var friend presence.UserID
		err := rs.Scan(&friend)
		e.Friends = append(e.Friends, friend)
		return err
	}, "SELECT friend FROM friendship WHERE user = ? ORDER BY friend", int64(id)); err != nil {
		return e, err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO erasing (user, public) VALUES (?, ?)", int64(id), string(u.Public)); err != nil {
		return e, err
	}
	for _, q := range [...]string{
		"DELETE FROM friendship WHERE (user, friend) IN (SELECT friend, user FROM friendship WHERE user = ?1)",
		"DELETE FROM friendship WHERE user = ?1",
		"DELETE FROM request WHERE asker = ?1",
		"DELETE FROM request WHERE asked = ?1",
		"DELETE FROM blocked WHERE user = ?1",
		"DELETE FROM blocked WHERE (user, other) IN (SELECT user, other FROM blocked WHERE other = ?1)",
		"DELETE FROM user WHERE id = ?1",
	} {
		if _, err := tx.ExecContext(ctx, q, int64(id)); err != nil {
			return e, err
		}
	}
	return e, nil
}

// removeHistory removes all rows of users who do not exist any more.
func (db *DB) removeHistory(ctx context.Context, users []presence.UserID) error {
	if err := db.eraseFromLog(ctx, func(r *row) bool { return slices.Contains(users, r.user) }); err != nil {
		return err
	}
	runs, err := db.allRuns(ctx)
	if err != nil {
		return err
	}
	for _, id := range users {
		for _, r := range runs {
			if err := db.eraseFromRun(ctx, id, r); err != nil {
				return err
			}
		}
		if err := db.forgetDisplaced(ctx, "user = ?", int64(id)); err != nil {
			return err
		}
	}
	if err := db.dropEmptyRuns(ctx); err != nil {
		return err
	}
	if err := db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, id := range users {
			db.history.displaced.remove(id)
			if _, err := tx.ExecContext(ctx, "DELETE FROM erasing WHERE user = ?", int64(id)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	// The WAL still holds the pages as they were before.
	return db.restartWAL(ctx, "TRUNCATE")
}

// eraseFromLog strips entries under the floor too: they may wait a while for
// the keeper.
func (db *DB) eraseFromLog(ctx context.Context, out func(r *row) bool) error {
	after, more := int64(0), true
	for more {
		if err := db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
			entries, err := bodies(ctx, tx, "SELECT id, body FROM log WHERE id > ?1 AND id <= ("+lastEntry+") ORDER BY id",
				after, math.MaxInt64, stepEntries, db.o.stepRows, math.MaxInt64)
			more = len(entries) > 0
			if err != nil || !more {
				return err
			}
			after = entries[len(entries)-1].id
			_, err = stripEntries(ctx, tx, entries, out)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// allRuns lists all runs, also those that queries do not see. Runs that begin
// later get no row of an erased user (Q5).
func (db *DB) allRuns(ctx context.Context) (ids []int64, err error) {
	err = scanAll(ctx, db.read, func(rs *sql.Rows) error {
		var id int64
		err := rs.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM run")
	return ids, mapped(ctx, err)
}

func (db *DB) eraseFromRun(ctx context.Context, id presence.UserID, run int64) error {
	for more := true; more; {
		if err := db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
			packs, err := bodies(ctx, tx, `SELECT id, body FROM (
				SELECT id, first_user, body FROM pack WHERE run = ? AND last_user >= ?
				ORDER BY last_user, last_ts, id LIMIT ?) WHERE first_user <= ?`, run, int64(id), sweepPacks, int64(id))
			if err != nil {
				return err
			}
			lost, err := stripPacks(ctx, tx, packs, func(r *row) bool { return r.user == id })
			// A pack may span the user without holding a row of theirs.
			more = lost > 0
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
