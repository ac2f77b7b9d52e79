package sqlite

import (
	"context"
	"database/sql"
	"math"
)

// Entries and packs of a step. Overwriting what they held (secure_delete) costs
// as much as writing it.
const (
	garbagePacks = 64
	stepEntries  = 2048
)

// lastEntry picks the last of the log entries after ?1, up to ?2 and not younger
// than ?5 that make a step: at most ?3 entries and about ?4 rows.
const lastEntry = `SELECT max(id) FROM (
	SELECT id, sum(rows) OVER (ORDER BY id) - rows AS before FROM (
		SELECT id, rows FROM log WHERE id > ?1 AND id <= ?2 AND min_ts <= ?5 ORDER BY id LIMIT ?3))
	WHERE before < ?4`

// stepGarbage deletes some log entries under the floor, or else some packs of a
// dropped run, or else the rows of dropped runs, and then nothing is left.
func (db *DB) stepGarbage(ctx context.Context) error {
	more := false
	err := db.tidy(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		for _, try := range [...]func(context.Context, *sql.Tx) (bool, error){db.deleteEntries, deletePacks} {
			if more, err = try(ctx, tx); more || err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM run WHERE state = ?", dropped)
		return err
	})
	if err == nil {
		db.keeper.garbage = more
	}
	return err
}

func (db *DB) deleteEntries(ctx context.Context, tx *sql.Tx) (bool, error) {
	floor, err := logFloor(ctx, tx)
	if err != nil {
		return false, err
	}
	done, err := tx.ExecContext(ctx, "DELETE FROM log WHERE id <= ("+lastEntry+")", 0, floor, stepEntries, db.o.stepRows, math.MaxInt64)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// logFloor returns the last log entry whose rows are in runs.
func logFloor(ctx context.Context, q queryer) (floor int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT value FROM counter WHERE name = 'log_floor'").Scan(&floor)
	return floor, err
}

// deletePacks goes by run: CROSS JOIN keeps SQLite from going through all packs
// to find those of dropped runs.
func deletePacks(ctx context.Context, tx *sql.Tx) (bool, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM pack WHERE id IN (
		SELECT p.id FROM run r CROSS JOIN pack p ON p.run = r.id WHERE r.state = ? LIMIT ?)`, dropped, garbagePacks)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
