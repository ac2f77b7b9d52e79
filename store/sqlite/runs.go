package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/kith-nearby/kith/presence"
)

// packCursor goes through the packs of a run from a place on.
type packCursor struct {
	run  int64
	from place
	// The pack read last.
	id   int64
	user presence.UserID
	ts   presence.Millis
}

const (
	selectPack = "SELECT id, last_user, last_ts, body FROM pack WHERE run = ?"
	orderPack  = " ORDER BY last_user, last_ts, id LIMIT 1"
	firstPack  = selectPack + " AND (last_user, last_ts) >= (?, ?)" + orderPack
	nextPack   = selectPack + " AND (last_user, last_ts, id) > (?, ?, ?)" + orderPack
)

// next returns the rows of the next pack, those before from included, and
// whether there was one.
func (c *packCursor) next(ctx context.Context, q queryer) ([]row, bool, error) {
	var found *sql.Row
	if c.id == 0 {
		found = q.QueryRowContext(ctx, firstPack, c.run, int64(c.from.user), int64(c.from.ts))
	} else {
		found = q.QueryRowContext(ctx, nextPack, c.run, int64(c.user), int64(c.ts), c.id)
	}
	var body []byte
	err := found.Scan(&c.id, &c.user, &c.ts, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rows, err := unpackAll(body)
	return rows, err == nil && len(rows) > 0, err
}

func unpackAll(body []byte) ([]row, error) {
	rows := make([]row, 0, 512)
	u := unpack(body)
	for u.next() {
		rows = append(rows, u.row)
	}
	return rows, u.err
}

// stream gives rows in order of place, one after the other.
type stream struct {
	cursor *packCursor // nil: only rows
	rows   []row       // not given yet
	end    *place      // rows from here on are left out; nil = none are
	least  presence.Millis
}

// head returns the next row without taking it, or nil at the end.
func (s *stream) head(ctx context.Context, q queryer) (*row, error) {
	for len(s.rows) == 0 {
		if s.cursor == nil {
			return nil, nil
		}
		rows, more, err := s.cursor.next(ctx, q)
		if err != nil {
			return nil, err
		}
		if !more {
			s.cursor = nil
			return nil, nil
		}
		s.rows = rows[position(rows, s.cursor.from):]
		if s.end != nil {
			if at := position(s.rows, *s.end); at < len(s.rows) {
				s.rows, s.cursor = s.rows[:at], nil
			}
		}
	}
	return &s.rows[0], nil
}

// position returns the index of the first of rows, which are in order, at or
// after p.
func position(rows []row, p place) int {
	at, _ := slices.BinarySearchFunc(rows, p, func(r row, p place) int { return r.place().compare(p) })
	return at
}

// merge gives the rows of all streams in order to each, until it returns false
// or all streams end. A stream's least may be set only where all rows are of
// one user.
func merge(ctx context.Context, q queryer, streams []stream, each func(r *row) bool) error {
	for {
		var best *stream
		var least *row
		for i := range streams {
			s := &streams[i]
			if least != nil && s.least > least.fix.TS {
				continue // all its rows come later, so it is not read yet
			}
			r, err := s.head(ctx, q)
			if err != nil {
				return err
			}
			if r != nil && (least == nil || r.place().compare(least.place()) < 0) {
				best, least = s, r
			}
		}
		if best == nil || !each(least) {
			return nil
		}
		best.rows = best.rows[1:]
	}
}
