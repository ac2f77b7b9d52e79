package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/kith-nearby/kith/presence"
)

// Prune implements store.History. It works in steps and lets commits go between.
func (db *DB) Prune(ctx context.Context, before presence.Millis, limit int) (int, error) {
	if before == math.MinInt64 {
		return 0, nil // nothing is older
	}
	p := pruning{db: db, before: before, limit: limit}
	for _, step := range [...]func(context.Context) (bool, error){p.stepLog, p.stepLive} {
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
	if p.removed < limit { // so nothing older is left
		if err := db.forgetDisplaced(ctx, "ts < ?", int64(before)); err != nil {
			return p.removed, err
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

// stepLive strips some packs of live runs. Merges that have copied rows of them
// are given up, for they would bring them back; they start again later.
func (p *pruning) stepLive(ctx context.Context) (more bool, err error) {
	if err := p.db.acquire(ctx); err != nil {
		return false, err
	}
	defer p.db.unlock()
	lost := 0
	var spoilt []*build
	if err := p.db.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		packs, runs, err := p.livePacks(ctx, tx)
		more = len(packs) > 0
		if err != nil || !more {
			return err
		}
		for _, b := range p.db.keeper.merges {
			if !slices.ContainsFunc(runs, b.takes) {
				continue
			}
			spoilt = append(spoilt, b)
			if _, err := tx.ExecContext(ctx, "UPDATE run SET state = ? WHERE id = ?", dropped, b.run.id); err != nil {
				return err
			}
		}
		lost, err = stripPacks(ctx, tx, packs, p.bounded())
		return err
	}); err != nil {
		return false, err
	}
	for _, b := range spoilt {
		p.db.keeper.giveUp(b)
	}
	p.removed += lost
	return more, nil
}

// livePacks returns some packs that hold old rows, and of which runs they are.
func (p *pruning) livePacks(ctx context.Context, tx *sql.Tx) (packs []body, runs []int64, err error) {
	err = scanAll(ctx, tx, func(rs *sql.Rows) error {
		var b body
		var run int64
		err := rs.Scan(&b.id, &run, &b.packed)
		packs, runs = append(packs, b), append(runs, run)
		return err
	}, `SELECT p.id, p.run, p.body FROM pack p JOIN run r ON r.id = p.run
		WHERE p.min_ts < ? AND r.state = ? LIMIT ?`, int64(p.before), live, sweepPacks)
	return packs, runs, err
}

// stepLog strips some log entries. It waits for a flush to end, which has a
// copy of the rows of many entries.
func (p *pruning) stepLog(ctx context.Context) (more bool, err error) {
	if err := p.db.acquireWhen(ctx, func() bool { return p.db.history.freezing == nil }); err != nil {
		return false, err
	}
	defer p.db.unlock()
	if err := p.db.settle(ctx); err != nil {
		return false, err
	}
	var lost []key
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
