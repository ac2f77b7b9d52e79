package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"
)

// keeper is the goroutine that puts history in order. It works in steps, each
// under the writer lock for some milliseconds, so that commits go in between.
type keeper struct {
	woken chan struct{}
	done  sync.WaitGroup

	// What is under way; under the writer lock.
	flush   *build
	merges  []*build // at most one of a level
	garbage bool     // there may be dropped runs or log entries under the floor

	// For those who wait for a flush; under the writer lock.
	turn chan struct{} // closed, and replaced, when a flush ended or a step failed
	err  error         // of the last step; nil = it did not fail
}

// wake says that there may be work.
func (k *keeper) wake() {
	select {
	case k.woken <- struct{}{}:
	default:
	}
}

func (k *keeper) start(ctx context.Context, db *DB) {
	k.woken, k.turn, k.garbage = make(chan struct{}, 1), make(chan struct{}), true
	k.done.Go(func() { k.loop(ctx, db) })
	k.wake()
}

// announce tells those who wait for a flush how it goes.
func (k *keeper) announce(err error) {
	k.err = err
	close(k.turn)
	k.turn = make(chan struct{})
}

// giveUp ends a merge whose run has been dropped.
func (k *keeper) giveUp(b *build) {
	k.end(b)
	k.wake()
}

// end forgets a build that is done or given up, and leaves what it made
// superfluous to be deleted.
func (k *keeper) end(b *build) {
	if k.flush == b {
		k.flush = nil
	}
	k.merges = slices.DeleteFunc(k.merges, func(o *build) bool { return o == b })
	k.garbage = true
}

// keeperPause is how long the keeper rests after an error, such as a full disk.
const keeperPause = time.Second

func (k *keeper) loop(ctx context.Context, db *DB) {
	for {
		worked, err := db.step(ctx)
		if ctx.Err() != nil {
			return
		}
		var rest <-chan time.Time
		if err != nil {
			db.o.Logger.Error("store: history is not put in order; trying again", "err", err)
			rest = time.After(keeperPause)
		} else if worked {
			continue
		}
		select {
		case <-rest:
		case <-k.woken:
		case <-ctx.Done():
			return
		}
	}
}

// behind is how many times the runs that make a merge there may be on level 0
// before merges come before flushes, so that Append in the end waits for them.
const behind = 3

// step does the most urgent piece of work, and says whether there was any.
func (db *DB) step(ctx context.Context) (worked bool, err error) {
	if err := db.acquire(ctx); err != nil {
		return false, err
	}
	defer db.unlock()
	worked, err = db.mostUrgent(ctx)
	if k := &db.keeper; err != nil || k.err != nil {
		k.announce(err)
	}
	return worked, err
}

func (db *DB) mostUrgent(ctx context.Context) (bool, error) {
	k := &db.keeper
	switch {
	case k.flush != nil:
		return true, db.stepFlush(ctx, k.flush)
	case db.history.freezing != nil && len(db.level(0)) < behind*db.o.fanIn:
		return true, db.beginFlush(ctx)
	case k.garbage:
		return true, db.stepGarbage(ctx)
	}
	return db.mergeLowest(ctx)
}

// mergeLowest goes on with the merge of the lowest level that needs one: a long
// one of a high level must not hold up those that Append may have to wait for.
func (db *DB) mergeLowest(ctx context.Context) (bool, error) {
	for level := range db.levels() {
		for _, b := range db.keeper.merges {
			if b.run.level == level+1 {
				return true, db.stepMerge(ctx, b)
			}
		}
		if runs := db.level(level); len(runs) >= db.o.fanIn {
			return true, db.beginMerge(ctx, runs[:db.o.fanIn])
		}
	}
	return false, nil
}

// level returns the live runs of a level, oldest first.
func (db *DB) level(n int) (runs []run) {
	for _, r := range db.history.runs {
		if r.level == n {
			runs = append(runs, r)
		}
	}
	return runs
}

// levels is one more than the highest level that has a live run.
func (db *DB) levels() (n int) {
	for _, r := range db.history.runs {
		n = max(n, r.level+1)
	}
	return n
}
