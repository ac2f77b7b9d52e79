package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// importBatch is how many pairs go into one transaction.
const importBatch = 1000

// ImportFriends implements store.Importer.
func (db *DB) ImportFriends(ctx context.Context, pairs iter.Seq2[store.Pair, error], now presence.Millis, progress func(done int)) (store.ImportStats, error) {
	var total store.ImportStats
	batch := make([]store.Pair, 0, importBatch)
	flush := func() error {
		err := db.importPairs(ctx, batch, now, &total)
		batch = batch[:0]
		if err == nil && progress != nil {
			progress(total.Pairs)
		}
		return err
	}
	for pair, err := range pairs {
		if err != nil {
			return total, errors.Join(err, flush())
		}
		if batch = append(batch, pair); len(batch) == importBatch {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

// importPairs imports a batch in one transaction and adds to total what it did.
func (db *DB) importPairs(ctx context.Context, batch []store.Pair, now presence.Millis, total *store.ImportStats) error {
	if len(batch) == 0 {
		return nil
	}
	if err := db.acquire(ctx); err != nil {
		return err
	}
	defer db.unlock()
	var created []presence.UserID
	stats := *total
	if err := db.commit(ctx, func(ctx context.Context, plain *sql.Tx) error {
		tx := &prepared{tx: plain, stmts: make(map[string]*sql.Stmt)}
		known := make(map[presence.PublicID]store.User)
		user := func(public presence.PublicID) (store.User, error) {
			if u, ok := known[public]; ok {
				return u, nil
			}
			if _, err := presence.ParsePublicID(string(public)); err != nil {
				return store.User{}, err
			}
			u, fresh, err := ensure(ctx, tx, public, now)
			if fresh {
				created = append(created, u.ID)
				stats.Users++
			}
			known[public] = u
			return u, err
		}
		for _, names := range batch {
			stats.Pairs++
			if err := importPair(ctx, tx, names, user, &stats); err != nil {
				return fmt.Errorf("pair %d (%q, %q): %w", stats.Pairs, names.A, names.B, err)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range created {
		db.history.exists(id)
	}
	*total = stats
	return nil
}

// importPair makes one pair friends, or counts why not.
func importPair(ctx context.Context, tx execer, names store.Pair, user func(presence.PublicID) (store.User, error), stats *store.ImportStats) (err error) {
	p := pair{ctx: ctx, tx: tx}
	if p.a, err = user(names.A); err != nil {
		return err
	}
	if p.b, err = user(names.B); err != nil {
		return err
	}
	if p.a.ID == p.b.ID {
		stats.Self++
		return nil
	}
	if err := p.load(); err != nil {
		return err
	}
	if p.blocks || p.blocked {
		stats.Blocked++
		return nil
	}
	out, err := p.befriend()
	switch {
	case errors.Is(err, store.ErrTooMany):
		stats.TooMany++
		return nil
	case err != nil:
		return err
	case out.Became:
		stats.Friends++
	default:
		stats.Known++
	}
	return nil
}
