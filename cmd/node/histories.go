package main

import (
	"context"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// histories implements gateway.Histories over the store.
type histories struct{ store store.Store }

// History returns a page of a user's fixes.
func (h histories) History(ctx context.Context, user presence.PublicID, q gateway.HistoryQuery) ([]gateway.HistoryRow, string, error) {
	u, err := h.store.User(ctx, user)
	if err != nil {
		return nil, "", edge(err)
	}
	page, err := h.store.Query(ctx, store.HistoryQuery{User: u.ID, From: q.From, To: q.To, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return nil, "", edge(err)
	}
	rows := make([]gateway.HistoryRow, len(page.Rows))
	for i, row := range page.Rows {
		rows[i] = gateway.HistoryRow(row)
	}
	return rows, page.Next, nil
}
