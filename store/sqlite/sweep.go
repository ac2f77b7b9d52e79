package sqlite

import (
	"context"
	"database/sql"
	"slices"
)

// body is a log entry or a pack that is to lose rows.
type body struct {
	id     int64
	packed []byte
}

// strip returns b without the rows that out picks, and those rows. Without any
// row left there is nothing to keep, and packer is nil.
func (b *body) strip(out func(r *row) bool) (kept *packer, lost []key, err error) {
	var p packer
	u := unpack(b.packed)
	for u.next() {
		if out(&u.row) {
			lost = append(lost, u.row.key())
		} else {
			p.add(&u.row)
		}
	}
	if u.err != nil || p.rows == 0 {
		return nil, lost, u.err
	}
	return &p, lost, nil
}

// sweepPacks is how many are stripped in a step.
const sweepPacks = 32

func bodies(ctx context.Context, tx *sql.Tx, query string, args ...any) (all []body, err error) {
	err = scanAll(ctx, tx, func(rs *sql.Rows) error {
		var b body
		err := rs.Scan(&b.id, &b.packed)
		all = append(all, b)
		return err
	}, query, args...)
	return all, err
}

// stripEntries removes the rows that out picks from log entries.
func stripEntries(ctx context.Context, tx *sql.Tx, entries []body, out func(r *row) bool) (lost []key, err error) {
	for i := range entries {
		kept, gone, err := entries[i].strip(out)
		if err != nil {
			return nil, err
		}
		lost = append(lost, gone...)
		switch {
		case len(gone) == 0:
			continue
		case kept == nil:
			_, err = tx.ExecContext(ctx, "DELETE FROM log WHERE id = ?", entries[i].id)
		default:
			rows, least := kept.rows, kept.span.min
			_, err = tx.ExecContext(ctx, "UPDATE log SET rows = ?, min_ts = ?, body = ? WHERE id = ?",
				rows, int64(least), kept.finish(), entries[i].id)
		}
		if err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// stripPacks removes the rows that out picks from packs; how many it removed.
func stripPacks(ctx context.Context, tx *sql.Tx, packs []body, out func(r *row) bool) (lost int, err error) {
	for i := range packs {
		kept, gone, err := packs[i].strip(out)
		if err != nil {
			return 0, err
		}
		lost += len(gone)
		switch {
		case len(gone) == 0:
			continue
		case kept == nil:
			_, err = tx.ExecContext(ctx, "DELETE FROM pack WHERE id = ?", packs[i].id)
		default:
			rows := kept.rows
			packed := kept.finish()
			_, err = tx.ExecContext(ctx, `UPDATE pack SET first_user = ?, last_user = ?, last_ts = ?,
				min_ts = ?, max_ts = ?, rows = ?, body = ? WHERE id = ?`,
				int64(kept.first.user), int64(kept.last.user), int64(kept.last.ts),
				int64(kept.span.min), int64(kept.span.max), rows, packed, packs[i].id)
		}
		if err != nil {
			return 0, err
		}
	}
	return lost, nil
}

// forgetRows takes rows that are no longer in the log out of recent.
func (h *history) forgetRows(lost []key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range lost {
		for _, t := range h.tables() {
			t.remove(k)
		}
	}
}

// dropEmptyRuns drops live runs that have no pack any more.
func (db *DB) dropEmptyRuns(ctx context.Context) error {
	if err := db.acquire(ctx); err != nil {
		return err
	}
	defer db.unlock()
	var empty []int64
	err := db.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return scanAll(ctx, tx, func(rs *sql.Rows) error {
			var id int64
			err := rs.Scan(&id)
			empty = append(empty, id)
			return err
		}, `UPDATE run SET state = ? WHERE state = ? AND NOT EXISTS (SELECT 1 FROM pack WHERE run = run.id) RETURNING id`, dropped, live)
	})
	if err != nil || len(empty) == 0 {
		return err
	}
	db.history.runs = slices.DeleteFunc(db.history.runs, func(r run) bool { return slices.Contains(empty, r.id) })
	db.keeper.garbage = true
	db.keeper.wake()
	return nil
}
