package sqlite

import (
	"context"
	"database/sql"
	"math"

	"github.com/kith-nearby/kith/presence"
)

// Prune implements store.History. It works in steps and lets commits go between.
func (db *DB) Prune(ctx context.Context, before presence.Millis, limit int) (int, error) {
	if before == math.MinInt64 {
		return 0, nil // nothing is older
	}
	p := pruning{db: db, before: before, limit: limit}
	// Packs of a run that is being written are copies of rows that are counted
	// where they come from. They go first: a row that is left behind in one would
	// come back when that run goes live.
	for _, step := range [...]func(context.Context) (bool, error){p.stepUnseen, p.stepLog, p.stepLive} {
		for p.removed < limit {
			more, err := step(ctx)
			if err != nil {
				return p.removed, err
			}
			if !more {
				break
			}
		}
	}
	return p.removed, db.dropEmptyRuns(ctx)
}

type pruning struct {
	db      *DB
	before  presence.Millis
	limit   int
	removed int
	entry   int64 // log entries up to this one are done
}

func (p *pruning) old(r *row) bool { return r.fix.TS < p.before }

// bounded picks old rows, at most as many as are still allowed.
func (p *pruning) bounded() func(r *row) bool {
	left := p.limit - p.removed
	return func(r *row) bool {
		if left == 0 || !p.old(r) {
			return false
		}
		left--
		return true
	}
}

const oldPacks = `SELECT p.id, p.body FROM pack p JOIN run r ON r.id = p.run
	WHERE p.min_ts < ? AND r.state = ? LIMIT ?`

func (p *pruning) stepUnseen(ctx context.Context) (more bool, err error) {
	err = p.db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		packs, err := bodies(ctx, tx, oldPacks, int64(p.before), building, sweepPacks)
		more = len(packs) > 0
		if err != nil || !more {
			return err
		}
		_, err = stripPacks(ctx, tx, packs, p.old)
		return err
	})
	return more, err
}

func (p *pruning) stepLive(ctx context.Context) (more bool, err error) {
	lost := 0
	err = p.db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		packs, err := bodies(ctx, tx, oldPacks, int64(p.before), live, sweepPacks)
		more = len(packs) > 0
		if err != nil || !more {
			return err
		}
		lost, err = stripPacks(ctx, tx, packs, p.bounded())
		return err
	})
	if err == nil {
		p.removed += lost
	}
	return more, err
}

func (p *pruning) stepLog(ctx context.Context) (more bool, err error) {
	if err := p.db.acquire(ctx); err != nil {
		return false, err
	}
	defer p.db.unlock()
	if err := p.db.settle(ctx); err != nil {
		return false, err
	}
	var lost []place
	last := p.entry
	if err := p.db.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		floor, err := logFloor(ctx, tx)
		if err != nil {
			return err
		}
		entries, err := bodies(ctx, tx, "SELECT id, body FROM log WHERE id > ?1 AND id <= ("+lastEntry+") AND min_ts <= ?5 ORDER BY id",
			max(floor, p.entry), math.MaxInt64, stepEntries, p.db.o.stepRows, int64(p.before)-1)
		more = len(entries) > 0
		if err != nil || !more {
			return err
		}
		last = entries[len(entries)-1].id
		lost, err = stripEntries(ctx, tx, entries, p.bounded())
		return err
	}); err != nil {
		return false, err
	}
	p.db.history.forgetRows(lost)
	p.removed += len(lost)
	p.entry = last
	return more, nil
}
