package sqlite

import (
	"context"
	"database/sql"

	"github.com/kith-nearby/kith/presence"
)

// Append implements store.History.
func (db *DB) Append(ctx context.Context, batches []*presence.Batch) error {
	if err := db.acquireRoom(ctx); err != nil {
		return err
	}
	defer db.unlock()
	h := &db.history
	if err := db.settle(ctx); err != nil {
		return mapped(ctx, err)
	}
	rows, err := db.news(ctx, batches)
	if err != nil {
		return mapped(ctx, err)
	}
	if len(rows) == 0 {
		return nil
	}
	var p packer
	for i := range rows {
		p.add(&rows[i])
	}
	n, least := p.rows, p.span.min
	body := p.finish()
	if err := db.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO log (id, rows, min_ts, body) VALUES (?, ?, ?, ?)", h.nextLog, n, int64(least), body); err != nil {
			return err
		}
		return h.noteDisplaced(ctx, tx, rows)
	}); err != nil {
		h.unsure = true
		return err
	}
	h.take(rows, h.nextLog)
	h.nextLog++
	db.freezeIfFull()
	return nil
}

// acquireRoom takes the writer lock when recent has room for more. While it has
// none the keeper is behind, and Append waits for it.
func (db *DB) acquireRoom(ctx context.Context) error {
	return db.acquireWhen(ctx, func() bool {
		db.freezeIfFull()
		return db.history.active.n < 2*db.o.RecentRows
	})
}

// acquireWhen takes the writer lock when ready, asked under it, says so. While
// it does not, a flush is under way, and its end is waited for; if the keeper
// cannot get on, its error is returned.
func (db *DB) acquireWhen(ctx context.Context, ready func() bool) error {
	for {
		if err := db.acquire(ctx); err != nil {
			return err
		}
		if ready() {
			return nil
		}
		err, turn := db.keeper.err, db.keeper.turn
		db.unlock()
		if err != nil {
			return err
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

func (db *DB) freezeIfFull() {
	h := &db.history
	if h.freezing == nil && h.active.n >= db.o.RecentRows {
		h.freeze()
		db.keeper.wake()
	}
}

// settle finds out, after a commit that failed, whether it is there all the
// same. An error of a commit does not say.
func (db *DB) settle(ctx context.Context) error {
	h := &db.history
	if !h.unsure {
		return nil
	}
	if err := db.replay(ctx, db.conn, h.nextLog-1); err != nil {
		return err
	}
	h.unsure = false
	return nil
}

// replay takes the rows of all log entries after the given one into recent.
func (db *DB) replay(ctx context.Context, q queryer, after int64) error {
	h := &db.history
	h.nextLog = max(h.nextLog, after+1)
	return scanAll(ctx, q, func(rs *sql.Rows) error {
		var id int64
		var body sql.RawBytes
		if err := rs.Scan(&id, &body); err != nil {
			return err
		}
		var rows []row
		u := unpack(body)
		for u.next() {
			rows = append(rows, u.row)
			h.marks.raise(deviceHash(u.row.user, u.row.device), u.row.fix.Stamp())
		}
		if u.err != nil {
			return u.err
		}
		h.take(rows, id)
		h.nextLog = id + 1
		return nil
	}, "SELECT id, body FROM log WHERE id > ? ORDER BY id", after)
}

// news returns the rows of batches that are not in the store, each once, in
// their order.
func (db *DB) news(ctx context.Context, batches []*presence.Batch) ([]row, error) {
	h := &db.history
	total := 0
	for _, b := range batches {
		total += len(b.Fixes)
	}
	rows := make([]row, 0, total)
	// doubtful holds the places of rows that were looked up, so that a row that
	// is in batches twice is found; the first of two is new by its mark or here.
	var look *lookup
	for _, b := range batches {
		if !h.users.has(b.User) {
			continue
		}
		device := deviceHash(b.User, b.Device)
		for i := range b.Fixes {
			f := &b.Fixes[i]
			if !f.At.Valid() {
				continue
			}
			r := row{user: b.User, device: b.Device, fix: *f}
			if !h.marks.raise(device, f.Stamp()) {
				if look == nil {
					look = newLookup(db, rows)
				}
				known, err := look.known(ctx, &r, device)
				if err != nil {
					return nil, err
				}
				if known {
					continue
				}
			}
			if look != nil {
				look.pending.add(&r)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}
