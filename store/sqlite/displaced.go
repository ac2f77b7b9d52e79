package sqlite

import (
	"context"
	"database/sql"

	"github.com/kith-nearby/kith/presence"
)

// A row whose device has a clock that is ahead stands in runs at the server's
// time, and is named by the device's (S4). Its key does not say where it stands,
// so the table displaced holds the keys of such rows. There are few of them, in
// the history of few users: history.displaced says whose, so that others cost no
// look-up.

// noteDisplaced writes the keys of those rows that are displaced.
func (h *history) noteDisplaced(ctx context.Context, tx *sql.Tx, rows []row) error {
	for i := range rows {
		r := &rows[i]
		if !r.displaced() {
			continue
		}
		h.displaced.add(r.user) // too early if the commit fails, which costs a look-up
		k := r.key()
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO displaced (user, stamp, seq, device, ts) VALUES (?, ?, ?, ?, ?)",
			int64(k.user), int64(k.stamp), int64(k.seq), string(k.device), int64(r.fix.TS)); err != nil {
			return err
		}
	}
	return nil
}

// isDisplaced says whether a displaced row named k is in the store. The caller
// holds the writer lock.
func (db *DB) isDisplaced(ctx context.Context, k key) (there bool, err error) {
	if !db.history.displaced.has(k.user) {
		return false, nil
	}
	err = db.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM displaced WHERE user = ? AND stamp = ? AND seq = ? AND device = ?)",
		int64(k.user), int64(k.stamp), int64(k.seq), string(k.device)).Scan(&there)
	return there, err
}

// forgetDisplaced deletes the keys that where picks, in steps.
func (db *DB) forgetDisplaced(ctx context.Context, where string, arg int64) error {
	for more := true; more; {
		if err := db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
			done, err := tx.ExecContext(ctx, `DELETE FROM displaced WHERE (user, stamp, seq, device) IN (
				SELECT user, stamp, seq, device FROM displaced WHERE `+where+` LIMIT ?)`, arg, stepEntries)
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			more = n == stepEntries
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// loadDisplaced reads whose history has displaced rows.
func (db *DB) loadDisplaced(ctx context.Context) error {
	return scanAll(ctx, db.read, func(rs *sql.Rows) error {
		var id int64
		err := rs.Scan(&id)
		db.history.displaced.add(presence.UserID(id))
		return err
	}, "SELECT DISTINCT user FROM displaced")
}
