package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/kith-nearby/kith/store"
)

// Query implements store.History.
func (db *DB) Query(ctx context.Context, q store.HistoryQuery) (store.HistoryPage, error) {
	from, end := since(q.User, math.MinInt64), since(q.User+1, math.MinInt64)
	if q.From != 0 {
		from.ts = q.From
	}
	if q.To != 0 {
		end = since(q.User, q.To)
	}
	var after *place
	if q.Cursor != "" {
		c, err := store.ParseCursor(q.Cursor, &q)
		if err != nil {
			return store.HistoryPage{}, err
		}
		after = &place{user: q.User, ts: c.TS, device: c.Device, seq: c.Seq, stamp: c.Stamp}
		if after.compare(from) > 0 {
			from = *after
		}
	}
	if err := ctx.Err(); err != nil {
		return store.HistoryPage{}, err
	}
	if db.isClosing() {
		return store.HistoryPage{}, mapped(ctx, errClosed)
	}
	page, err := db.page(ctx, &q, from, end, after)
	if err != nil {
		return store.HistoryPage{}, mapped(ctx, err)
	}
	return page, nil
}

// page reads a page from from on, without the row at after.
func (db *DB) page(ctx context.Context, q *store.HistoryQuery, from, end place, after *place) (store.HistoryPage, error) {
	tx, streams, err := db.streams(ctx, from, end)
	if err != nil {
		return store.HistoryPage{}, err
	}
	defer func() { _ = tx.Rollback() }()
	var page store.HistoryPage
	limit := q.PageLimit()
	err = merge(ctx, tx, streams, func(r *row) bool {
		switch {
		case after != nil && r.place() == *after:
			return true
		case len(page.Rows) == limit:
			page.Next = store.CursorAt(&page.Rows[limit-1]).Encode(q)
			return false
		}
		page.Rows = append(page.Rows, store.HistoryRow{Device: r.device, Fix: r.fix})
		return true
	})
	return page, err
}

// streams returns one state of a user's history: a transaction and what to
// merge in it. recent and the snapshot of the file are taken under one lock, so
// that a row that moves from one to the other is seen once (Q1).
func (db *DB) streams(ctx context.Context, from, end place) (*sql.Tx, []stream, error) {
	tx, err := db.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	h := &db.history
	h.mu.RLock()
	if !h.users.has(from.user) {
		h.mu.RUnlock()
		return tx, nil, nil // an erase may not have come to all rows yet
	}
	var rows []row
	for _, t := range h.tables() {
		rows = t.of(rows, from, end)
	}
	streams, err := liveStreams(ctx, tx, from, end)
	h.mu.RUnlock()
	if err != nil {
		_ = tx.Rollback()
		return nil, nil, err
	}
	slices.SortFunc(rows, func(a, b row) int { return a.place().compare(b.place()) })
	return tx, append([]stream{{rows: rows, least: math.MinInt64}}, streams...), nil
}

// liveStreams returns a stream of each run that can have rows between the times.
// Its query is the first of tx and so fixes the snapshot.
func liveStreams(ctx context.Context, tx *sql.Tx, from, end place) (streams []stream, err error) {
	last := int64(math.MaxInt64)
	if end.user == from.user {
		last = int64(end.ts)
	}
	err = scanAll(ctx, tx, func(rs *sql.Rows) error {
		s := stream{cursor: &packCursor{from: from}, end: &end}
		if err := rs.Scan(&s.cursor.run, &s.least); err != nil {
			return err
		}
		streams = append(streams, s)
		return nil
	}, "SELECT id, min_ts FROM run WHERE state = ? AND max_ts >= ? AND min_ts <= ? ORDER BY min_ts", live, int64(from.ts), last)
	return streams, err
}
