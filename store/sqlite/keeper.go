package sqlite

import (
	"context"
	"sync"
	"time"
)

// keeper is the goroutine that puts history in order. It works in steps, each
// under the writer lock for some milliseconds, so that commits go in between.
type keeper struct {
	woken  chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup

	// What is under way; under the writer lock.
	build   *build
	waiting *build // a merge that a flush came before
	garbage bool   // there may be dropped runs or log entries under the floor
}

// wake says that there may be work.
func (k *keeper) wake() {
	select {
	case k.woken <- struct{}{}:
	default:
	}
}

func (k *keeper) start(db *DB) {
	ctx, cancel := context.WithCancel(context.Background())
	k.woken, k.cancel, k.garbage = make(chan struct{}, 1), cancel, true
	k.done.Go(func() { k.loop(ctx, db) })
	k.wake()
}

// wait ends the goroutine. A step that runs is finished.
func (k *keeper) wait() {
	if k.cancel != nil {
		k.cancel()
		k.done.Wait()
	}
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

// step does the most urgent piece of work, and says whether there was any.
func (db *DB) step(ctx context.Context) (bool, error) {
	if err := db.acquire(ctx); err != nil {
		return false, err
	}
	defer db.unlock()
	h, k := &db.history, &db.keeper
	// A full recent comes before a merge, unless merges are far behind.
	if h.freezing != nil && (k.build == nil || !k.build.flush) && db.levelRuns(0) < 3*db.o.fanIn {
		if k.build != nil {
			k.waiting, k.build = k.build, nil
		}
		return true, db.beginFlush(ctx)
	}
	if k.build == nil && k.waiting != nil {
		k.build, k.waiting = k.waiting, nil
	}
	if k.build != nil {
		return true, db.stepBuild(ctx)
	}
	if k.garbage {
		return true, db.stepGarbage(ctx)
	}
	return db.beginMerge(ctx)
}
