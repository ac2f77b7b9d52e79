package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

const selectFriendship = `SELECT f.friend, u.public, f.mode, f.until, f.then_mode, f.rev
	FROM friendship f JOIN user u ON u.id = f.friend WHERE f.user = ?`

type scanner interface{ Scan(dest ...any) error }

func scanFriendship(s scanner) (f presence.Friendship, err error) {
	err = s.Scan(&f.Friend, &f.Public, &f.Mine.Mode, &f.Mine.Until, &f.Mine.Then, &f.Rev)
	return f, err
}

func oneFriendship(ctx context.Context, q queryer, id, friend presence.UserID) (presence.Friendship, error) {
	f, err := scanFriendship(q.QueryRowContext(ctx, selectFriendship+" AND f.friend = ?", int64(id), int64(friend)))
	return f, found(err)
}

// Friends implements store.Friendships.
func (db *DB) Friends(ctx context.Context, id presence.UserID) (u store.User, all []presence.Friendship, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		if u, err = byID(ctx, tx, id); err != nil {
			return err
		}
		return scanAll(ctx, tx, func(rows *sql.Rows) error {
			f, err := scanFriendship(rows)
			all = append(all, f)
			return err
		}, selectFriendship+" ORDER BY f.friend", int64(id))
	})
	if err != nil {
		return store.User{}, nil, err
	}
	return u, all, nil
}

// Friend implements store.Friendships.
func (db *DB) Friend(ctx context.Context, id, friend presence.UserID) (f presence.Friendship, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		f, err = oneFriendship(ctx, tx, id, friend)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		f = presence.Friendship{Friend: friend}
		if err := tx.QueryRowContext(ctx, "SELECT value FROM counter WHERE name = 'rev'").Scan(&f.Rev); err != nil {
			return err
		}
		return store.ErrNotFound
	})
	return f, err
}

// SetShare implements store.Friendships.
func (db *DB) SetShare(ctx context.Context, id, friend presence.UserID, mode presence.Mode, until presence.Millis) (f presence.Friendship, err error) {
	err = db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if f, err = oneFriendship(ctx, tx, id, friend); err != nil {
			return err
		}
		mine := presence.NewShare(mode, until, f.Mine)
		if mine == f.Mine {
			return nil
		}
		f.Mine = mine
		if f.Rev, err = nextRev(ctx, tx); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, "UPDATE friendship SET mode = ?, until = ?, then_mode = ?, rev = ? WHERE user = ? AND friend = ?",
			mine.Mode, int64(mine.Until), mine.Then, int64(f.Rev), int64(id), int64(friend)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE friendship SET rev = ? WHERE user = ? AND friend = ?", int64(f.Rev), int64(friend), int64(id))
		return err
	})
	if err != nil {
		return presence.Friendship{}, err
	}
	return f, nil
}

// Requests implements store.Friendships.
func (db *DB) Requests(ctx context.Context, id presence.UserID, limit int) (all []presence.PublicID, err error) {
	err = db.snapshot(ctx, func(tx *sql.Tx) error {
		return scanAll(ctx, tx, func(rows *sql.Rows) error {
			var public presence.PublicID
			err := rows.Scan(&public)
			all = append(all, public)
			return err
		}, `SELECT u.public FROM request r JOIN user u ON u.id = r.asker
			WHERE r.asked = ? ORDER BY r.id DESC LIMIT ?`, int64(id), max(limit, 0))
	})
	slices.Reverse(all)
	return all, err
}
