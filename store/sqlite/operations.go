package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// pair is two users and what stands between them, within a transaction. a is
// the one who acts.
type pair struct {
	ctx      context.Context
	tx       execer
	a, b     store.User
	friends  bool
	asked    bool // a asked b
	wasAsked bool // b asked a
	blocks   bool // a blocks b
	blocked  bool // b blocks a
}

const selectPair = `SELECT
	EXISTS (SELECT 1 FROM friendship WHERE user = ?1 AND friend = ?2),
	EXISTS (SELECT 1 FROM request WHERE asker = ?1 AND asked = ?2),
	EXISTS (SELECT 1 FROM request WHERE asker = ?2 AND asked = ?1),
	EXISTS (SELECT 1 FROM blocked WHERE user = ?1 AND other = ?2),
	EXISTS (SELECT 1 FROM blocked WHERE user = ?2 AND other = ?1)`

// load fills in what stands between p.a and p.b.
func (p *pair) load() error {
	return p.tx.QueryRowContext(p.ctx, selectPair, int64(p.a.ID), int64(p.b.ID)).
		Scan(&p.friends, &p.asked, &p.wasAsked, &p.blocks, &p.blocked)
}

// Do implements store.Friendships.
func (db *DB) Do(ctx context.Context, op store.Op, a, b presence.UserID) (out store.Outcome, err error) {
	if a == b {
		return store.Outcome{}, store.ErrSelf
	}
	err = db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		p := pair{ctx: ctx, tx: tx}
		if p.a, err = byID(ctx, tx, a); err != nil {
			return err
		}
		var nobody error
		if p.b, nobody = byID(ctx, tx, b); nobody != nil && !errors.Is(nobody, store.ErrNotFound) {
			return nobody
		}
		// Also of nobody: who blocks must not take longer to be not found (S5).
		p.b.ID = b
		if err := p.load(); err != nil {
			return err
		}
		if nobody != nil || p.blocked && op != store.Befriend {
			return store.ErrNotFound
		}
		out, err = p.do(op)
		return err
	})
	if err != nil {
		return store.Outcome{}, err
	}
	return out, nil
}

func (p *pair) do(op store.Op) (store.Outcome, error) {
	switch op {
	case store.Request:
		return p.request()
	case store.Accept:
		if p.friends || p.wasAsked {
			return p.befriend()
		}
		return store.Outcome{}, store.ErrNotFound
	case store.Decline:
		if !p.wasAsked {
			return store.Outcome{}, store.ErrNotFound
		}
		return store.Outcome{}, p.unask(p.b, p.a)
	case store.Remove:
		if p.friends {
			return p.end()
		}
		return store.Outcome{}, p.unask(p.a, p.b)
	case store.Block:
		return p.block()
	case store.Unblock:
		return store.Outcome{}, p.unblock(p.a, p.b)
	case store.Befriend:
		return p.befriend()
	}
	return store.Outcome{}, fmt.Errorf("sqlite: no such operation: %d", op)
}

// request asks b. Who asks someone they block has changed their mind, so the
// block goes: otherwise b would be asked by somebody who does not exist for b.
func (p *pair) request() (store.Outcome, error) {
	switch {
	case p.wasAsked:
		return p.befriend()
	case p.friends || p.asked:
		return store.Outcome{}, nil
	}
	// What a user has asked for counts, so that requests have a bound as well.
	var n int
	if err := p.tx.QueryRowContext(p.ctx, `SELECT (SELECT count(*) FROM friendship WHERE user = ?1)
		+ (SELECT count(*) FROM request WHERE asker = ?1)`, int64(p.a.ID)).Scan(&n); err != nil {
		return store.Outcome{}, err
	}
	if n >= store.MaxFriends {
		return store.Outcome{}, store.ErrTooMany
	}
	if err := p.unblock(p.a, p.b); err != nil {
		return store.Outcome{}, err
	}
	err := p.exec("INSERT INTO request (asker, asked) VALUES (?, ?)", p.a, p.b)
	return store.Outcome{Requested: true}, err
}

// befriend makes the two friends, whatever stood between them.
func (p *pair) befriend() (store.Outcome, error) {
	if p.friends {
		return store.Outcome{}, nil
	}
	for _, u := range [...]store.User{p.a, p.b} {
		var n int
		if err := p.tx.QueryRowContext(p.ctx, "SELECT count(*) FROM friendship WHERE user = ?", int64(u.ID)).Scan(&n); err != nil {
			return store.Outcome{}, err
		}
		if n >= store.MaxFriends {
			return store.Outcome{}, store.ErrTooMany
		}
	}
	if err := p.clear(); err != nil {
		return store.Outcome{}, err
	}
	rev, err := nextRev(p.ctx, p.tx)
	if err != nil {
		return store.Outcome{}, err
	}
	if _, err := p.tx.ExecContext(p.ctx, "INSERT INTO friendship (user, friend, rev) VALUES (?1, ?2, ?3), (?2, ?1, ?3)",
		int64(p.a.ID), int64(p.b.ID), int64(rev)); err != nil {
		return store.Outcome{}, err
	}
	return store.Outcome{Became: true, A: friendshipWith(p.b, presence.Exact, rev), B: friendshipWith(p.a, presence.Exact, rev)}, nil
}

// friendshipWith is a new or ended friendship with u.
func friendshipWith(u store.User, mode presence.Mode, rev uint64) presence.Friendship {
	return presence.Friendship{Friend: u.ID, Public: u.Public, Mine: presence.Share{Mode: mode}, Rev: rev}
}

// end ends the friendship. What the Outcome shows of it shares nothing.
func (p *pair) end() (store.Outcome, error) {
	rev, err := nextRev(p.ctx, p.tx)
	if err != nil {
		return store.Outcome{}, err
	}
	if err := p.exec("DELETE FROM friendship WHERE user = ?1 AND friend = ?2 OR user = ?2 AND friend = ?1", p.a, p.b); err != nil {
		return store.Outcome{}, err
	}
	return store.Outcome{Ended: true, A: friendshipWith(p.b, presence.None, rev), B: friendshipWith(p.a, presence.None, rev)}, nil
}

func (p *pair) block() (out store.Outcome, err error) {
	if p.blocks {
		return store.Outcome{}, nil
	}
	if p.friends {
		if out, err = p.end(); err != nil {
			return store.Outcome{}, err
		}
	}
	if err := p.clear(); err != nil {
		return store.Outcome{}, err
	}
	return out, p.exec("INSERT INTO blocked (user, other) VALUES (?, ?)", p.a, p.b)
}

// clear removes requests and blocks in both directions.
func (p *pair) clear() error {
	for _, do := range [...]func(from, to store.User) error{p.unask, p.unblock} {
		if err := do(p.a, p.b); err != nil {
			return err
		}
		if err := do(p.b, p.a); err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) unask(asker, asked store.User) error {
	return p.exec("DELETE FROM request WHERE asker = ? AND asked = ?", asker, asked)
}

func (p *pair) unblock(user, other store.User) error {
	return p.exec("DELETE FROM blocked WHERE user = ? AND other = ?", user, other)
}

func (p *pair) exec(query string, one, two store.User) error {
	_, err := p.tx.ExecContext(p.ctx, query, int64(one.ID), int64(two.ID))
	return err
}
