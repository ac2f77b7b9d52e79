package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kith-nearby/kith/presence"
)

// loadHistory reads into memory what history keeps there, and drops runs whose
// writing a crash cut off: their rows are still where they came from.
func (db *DB) loadHistory(ctx context.Context) error {
	h := &db.history
	h.active, h.marks = newRecent(), newMarks(db.o.markParts)
	if err := scanAll(ctx, db.read, func(rs *sql.Rows) error {
		var id int64
		err := rs.Scan(&id)
		h.users.add(presence.UserID(id))
		return err
	}, "SELECT id FROM user ORDER BY id"); err != nil {
		return err
	}
	if err := scanAll(ctx, db.read, func(rs *sql.Rows) error {
		var part int64
		var body sql.RawBytes
		if err := rs.Scan(&part, &body); err != nil {
			return err
		}
		return h.marks.decode(part, body)
	}, "SELECT id, body FROM mark"); err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	clear(h.marks.dirty)
	if err := db.loadDisplaced(ctx); err != nil {
		return fmt.Errorf("displaced: %w", err)
	}
	if err := db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE run SET state = ? WHERE state = ?", dropped, building)
		return err
	}); err != nil {
		return err
	}
	if err := scanAll(ctx, db.read, func(rs *sql.Rows) error {
		var r run
		err := rs.Scan(&r.id, &r.level, &r.span.min, &r.span.max)
		h.runs = append(h.runs, r)
		return err
	}, "SELECT id, level, min_ts, max_ts FROM run WHERE state = ? ORDER BY id", live); err != nil {
		return err
	}
	floor, err := logFloor(ctx, db.read)
	if err != nil {
		return err
	}
	return db.replay(ctx, db.read, floor)
}
