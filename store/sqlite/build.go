package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
)

// build is a run being written, out of recent (a flush) or out of runs (a
// merge). It goes on from a place, and each step reads anew, so rows that an
// erase or a prune removed in between do not come back.
type build struct {
	run   run
	held  []*held // of a flush: what is not written yet, in order
	from  []run   // of a merge
	after *place  // of a merge: the row written last
	marks int     // of a flush: parts of marks that are done
}

// takes says whether the build copies rows of a run.
func (b *build) takes(id int64) bool {
	return slices.ContainsFunc(b.from, func(r run) bool { return r.id == id })
}

func (db *DB) newRun(ctx context.Context, level int) (r run, err error) {
	r = run{level: level, span: span{min: math.MaxInt64, max: math.MinInt64}}
	err = db.tidy(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "INSERT INTO run (level, state, min_ts, max_ts) VALUES (?, ?, 0, 0)", level, building)
		if err != nil {
			return err
		}
		r.id, err = done.LastInsertId()
		return err
	})
	return r, err
}

func (db *DB) beginFlush(ctx context.Context) error {
	r, err := db.newRun(ctx, 0)
	if err != nil {
		return err
	}
	b := &build{run: r}
	db.keeper.flush = b
	// Sorting takes longer than a step may. Rows are only marked as gone
	// meanwhile, and sorting does not look at that.
	frozen := db.history.freezing
	db.unlock()
	b.held = frozen.sorted()
	db.lock <- struct{}{}
	return nil
}

// beginMerge starts to merge runs of one level into one of the next.
func (db *DB) beginMerge(ctx context.Context, from []run) error {
	into, err := db.newRun(ctx, from[0].level+1)
	if err != nil {
		return err
	}
	db.keeper.merges = append(db.keeper.merges, &build{run: into, from: from})
	return nil
}

// stepFlush writes the next rows of recent, or marks, or finishes the run.
func (db *DB) stepFlush(ctx context.Context, b *build) error {
	h := &db.history
	if len(b.held) > 0 {
		n := min(len(b.held), db.o.stepRows)
		if err := db.tidy(ctx, func(ctx context.Context, tx *sql.Tx) error {
			w := db.newRunWriter(ctx, tx, &b.run)
			for _, held := range b.held[:n] {
				if !held.gone {
					w.add(&held.row)
				}
			}
			return w.finish()
		}); err != nil {
			return err
		}
		b.held = b.held[n:]
		return nil
	}
	if b.marks < len(h.marks.dirty) {
		return db.stepMarks(ctx, b)
	}
	floor := h.freezing.lastID
	return db.finishBuild(ctx, b, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE counter SET value = ? WHERE name = 'log_floor'", floor)
		return err
	}, func() {
		h.freezing = nil
		db.keeper.announce(nil)
	})
}

// marksPerStep parts are half a MiB.
const marksPerStep = 8

// stepMarks stores what changed in marks, before the log entries that could
// tell it again are deleted (Q3).
func (db *DB) stepMarks(ctx context.Context, b *build) error {
	m := db.history.marks
	var parts []int
	at := b.marks
	for ; at < len(m.dirty) && len(parts) < marksPerStep; at++ {
		if m.dirty[at] {
			parts = append(parts, at)
		}
	}
	if len(parts) > 0 {
		if err := db.tidy(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for _, part := range parts {
				if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO mark (id, body) VALUES (?, ?)", part, m.encode(part)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, part := range parts {
		m.dirty[part] = false
	}
	b.marks = at
	return nil
}

// stepMerge writes the next rows of the merged runs, or finishes the run.
func (db *DB) stepMerge(ctx context.Context, b *build) error {
	var last *place
	written := 0
	if err := db.tidy(ctx, func(ctx context.Context, tx *sql.Tx) error {
		w := db.newRunWriter(ctx, tx, &b.run)
		streams := make([]stream, len(b.from))
		for i, r := range b.from {
			streams[i] = stream{cursor: &packCursor{run: r.id}, least: math.MinInt64}
			if b.after != nil {
				streams[i].cursor.from = *b.after
			}
		}
		err := merge(ctx, tx, streams, func(r *row) bool {
			p := r.place()
			if b.after != nil && p == *b.after {
				return true
			}
			if written == db.o.stepRows || w.err != nil {
				return false
			}
			w.add(r)
			last = &p
			written++
			return true
		})
		if err != nil {
			return err
		}
		return w.finish()
	}); err != nil {
		return err
	}
	if last != nil {
		b.after = last
	}
	if written == db.o.stepRows {
		return nil
	}
	return db.finishBuild(ctx, b, func(ctx context.Context, tx *sql.Tx) error {
		for _, r := range b.from {
			if _, err := tx.ExecContext(ctx, "UPDATE run SET state = ? WHERE id = ?", dropped, r.id); err != nil {
				return err
			}
		}
		return nil
	}, func() {})
}

// finishBuild makes the run live in the same moment in which its rows stop
// being where they came from (Q1).
func (db *DB) finishBuild(ctx context.Context, b *build, also func(ctx context.Context, tx *sql.Tx) error, then func()) error {
	h := &db.history
	h.mu.Lock()
	defer h.mu.Unlock()
	state := live
	if b.run.span.min > b.run.span.max {
		state = dropped // all its rows were removed meanwhile
	}
	if err := db.tidy(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE run SET state = ?, min_ts = ?, max_ts = ? WHERE id = ?",
			state, int64(b.run.span.min), int64(b.run.span.max), b.run.id); err != nil {
			return err
		}
		return also(ctx, tx)
	}); err != nil {
		return err
	}
	h.runs = slices.DeleteFunc(h.runs, func(r run) bool { return b.takes(r.id) })
	if state == live {
		h.runs = append(h.runs, b.run)
	}
	then()
	db.keeper.end(b)
	return nil
}

// runWriter packs rows, which come in order, into a run.
type runWriter struct {
	db   *DB
	ctx  context.Context
	tx   *sql.Tx
	run  *run
	pack packer
	err  error
}

func (db *DB) newRunWriter(ctx context.Context, tx *sql.Tx, r *run) *runWriter {
	return &runWriter{db: db, ctx: ctx, tx: tx, run: r}
}

// add takes a row, unless its user does not exist (Q5).
func (w *runWriter) add(r *row) {
	if w.err != nil || !w.db.history.users.has(r.user) {
		return
	}
	w.pack.add(r)
	if w.pack.rows == w.db.o.packRows {
		w.flush()
	}
}

func (w *runWriter) flush() {
	p := &w.pack
	rows := p.rows
	body := p.finish()
	_, w.err = w.tx.ExecContext(w.ctx, `INSERT INTO pack (run, first_user, last_user, last_ts, min_ts, max_ts, rows, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, w.run.id, int64(p.first.user), int64(p.last.user), int64(p.last.ts),
		int64(p.span.min), int64(p.span.max), rows, body)
	w.run.span.join(p.span)
}

// finish writes what is left.
func (w *runWriter) finish() error {
	if w.err == nil && w.pack.rows > 0 {
		w.flush()
	}
	return w.err
}
