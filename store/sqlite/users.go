package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

const selectUser = "SELECT id, public, created, mode, until, then_mode, rev FROM user WHERE "

// oneUser reads the user that where picks, or gives ErrNotFound.
func oneUser(ctx context.Context, q queryer, where string, arg any) (u store.User, err error) {
	err = q.QueryRowContext(ctx, selectUser+where, arg).
		Scan(&u.ID, &u.Public, &u.Created, &u.All.Mode, &u.All.Until, &u.All.Then, &u.AllRev)
	return u, found(err)
}

func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

func byPublic(ctx context.Context, q queryer, public presence.PublicID) (store.User, error) {
	return oneUser(ctx, q, "public = ?", string(public))
}

func byID(ctx context.Context, q queryer, id presence.UserID) (store.User, error) {
	return oneUser(ctx, q, "id = ?", int64(id))
}

// User implements store.Users.
func (db *DB) User(ctx context.Context, public presence.PublicID) (u store.User, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		u, err = byPublic(ctx, tx, public)
		return err
	})
	return u, err
}

// UserByID implements store.Users.
func (db *DB) UserByID(ctx context.Context, id presence.UserID) (u store.User, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		u, err = byID(ctx, tx, id)
		return err
	})
	return u, err
}

// Ensure implements store.Users.
func (db *DB) Ensure(ctx context.Context, public presence.PublicID, now presence.Millis) (u store.User, created bool, err error) {
	if _, err := presence.ParsePublicID(string(public)); err != nil {
		return store.User{}, false, err
	}
	if u, err = db.User(ctx, public); !errors.Is(err, store.ErrNotFound) {
		return u, false, err
	}
	if err := db.acquire(ctx); err != nil {
		return store.User{}, false, err
	}
	defer db.unlock()
	err = db.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		u, created, err = ensure(ctx, tx, public, now)
		return err
	})
	if err != nil {
		return store.User{}, false, err
	}
	if created {
		db.history.exists(u.ID)
	}
	return u, created, nil
}

func ensure(ctx context.Context, tx execer, public presence.PublicID, now presence.Millis) (store.User, bool, error) {
	u, err := byPublic(ctx, tx, public)
	if !errors.Is(err, store.ErrNotFound) {
		return u, false, err
	}
	done, err := tx.ExecContext(ctx, "INSERT INTO user (public, created) VALUES (?, ?)", string(public), int64(now))
	if err != nil {
		return store.User{}, false, err
	}
	id, err := done.LastInsertId()
	return store.User{ID: presence.UserID(id), Public: public, Created: now}, true, err
}

// SetAll implements store.Users.
func (db *DB) SetAll(ctx context.Context, id presence.UserID, mode presence.Mode, until presence.Millis) (u store.User, err error) {
	err = db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if u, err = byID(ctx, tx, id); err != nil {
			return err
		}
		all := presence.NewShare(mode, until, u.All)
		if all == u.All {
			return nil
		}
		u.All = all
		if u.AllRev, err = nextRev(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE user SET mode = ?, until = ?, then_mode = ?, rev = ? WHERE id = ?",
			all.Mode, int64(all.Until), all.Then, int64(u.AllRev), int64(id))
		return err
	})
	if err != nil {
		return store.User{}, err
	}
	return u, nil
}
