package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var pageTests = []test{
	{"LimitsAndTimes", testLimits},
	{"LateRowsBehindTheCursorDoNotDisturb", testLateRows},
	{"PagesWhileOthersAppend", testPagesTogether},
	{"ForeignCursorsAreRefused", testCursors},
	{"CursorsHoldNoPosition", testCursorSecrets},
}

// fill appends n fixes, one a second from now on.
func (s *fixture) fill(t tb, user presence.UserID, device presence.DeviceID, n int) (rows []store.HistoryRow) {
	t.Helper()
	b := batch(user, device)
	for i := range n {
		b.Fixes = append(b.Fixes, plain(uint64(i+1), now+presence.Millis(1000*i)))
		rows = append(rows, store.HistoryRow{Device: device, Fix: b.Fixes[i]})
	}
	s.append(t, b)
	return rows
}

func testLimits(t *testing.T, s *fixture) {
	u := s.user(t)
	want := s.fill(t, u.ID, "d", 10)
	for limit, rows := range map[int]int{-1: 1, 0: 1, 1: 1, 9: 9, 10: 10, 11: 10, 1 << 40: 10} {
		page := s.page(t, store.HistoryQuery{User: u.ID, Limit: limit})
		requireRows(t, want[:rows], page.Rows)
		require.Equal(t, rows == 10, page.Next == "", "the last page has no cursor, also if it is full")
	}
	for _, c := range []struct{ from, to, first, end int }{
		{0, 10, 0, 10}, {2, 5, 2, 5}, {5, 5, 5, 5}, {7, 3, 7, 7}, {9, 100, 9, 10}, {-5, 1, 0, 1},
	} {
		at := func(i int) presence.Millis { return now + presence.Millis(1000*i) }
		requireRows(t, want[c.first:c.end], s.all(t, store.HistoryQuery{User: u.ID, From: at(c.from), To: at(c.to), Limit: 2}))
	}
}

func testLateRows(t *testing.T, s *fixture) {
	u := s.user(t)
	want := s.fill(t, u.ID, "d", 20)
	q := store.HistoryQuery{User: u.ID, Limit: 5}
	first := s.page(t, q)
	requireRows(t, want[:5], first.Rows)
	late, ahead := plain(100, now+1500), plain(101, now+10_500)
	tie := plain(102, now+4000) // the ts of the cursor, but a later seq
	s.append(t, batch(u.ID, "d", late, ahead, tie), batch(u.ID, "c", tie))
	q.Cursor = first.Next
	rest := s.all(t, q)
	expect := append([]store.HistoryRow{{Device: "d", Fix: tie}}, want[5:11]...)
	expect = append(append(expect, store.HistoryRow{Device: "d", Fix: ahead}), want[11:]...)
	requireRows(t, expect, rest)
}

func testPagesTogether(t *testing.T, s *fixture) {
	u, other := s.user(t), s.user(t)
	want := s.fill(t, u.ID, "d", 300)
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 150 {
				ts := now + presence.Millis(i*7919%300_000)
				device := presence.DeviceID([]string{"late-0", "late-1"}[w])
				err := s.Append(context.Background(), []*presence.Batch{
					batch(u.ID, device, plain(uint64(i), ts)), batch(other.ID, device, plain(uint64(i), ts)),
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		rows := s.all(t, store.HistoryQuery{User: u.ID, Limit: 23})
		var old []store.HistoryRow
		for i, row := range rows {
			if i > 0 {
				require.Negative(t, inOrder(rows[i-1], row), "in order, and none twice")
			}
			if row.Device == "d" {
				old = append(old, row)
			}
		}
		requireRows(t, want, old)
	}
	writers.Wait()
	require.Len(t, s.all(t, store.HistoryQuery{User: u.ID}), 600)
}

func testCursors(t *testing.T, s *fixture) {
	ctx := context.Background()
	u, other := s.user(t), s.user(t)
	s.fill(t, u.ID, "d", 10)
	s.fill(t, other.ID, "d", 10)
	q := store.HistoryQuery{User: u.ID, From: now, To: now + 60_000, Limit: 3}
	next := s.page(t, q).Next
	require.NotEmpty(t, next)
	for name, change := range map[string]func(q *store.HistoryQuery){
		"user":  func(q *store.HistoryQuery) { q.User = other.ID },
		"from":  func(q *store.HistoryQuery) { q.From++ },
		"to":    func(q *store.HistoryQuery) { q.To = 0 },
		"junk":  func(q *store.HistoryQuery) { q.Cursor = "junk" },
		"long":  func(q *store.HistoryQuery) { q.Cursor = strings.Repeat(next, 100) },
		"short": func(q *store.HistoryQuery) { q.Cursor = next[:len(next)-1] },
		"space": func(q *store.HistoryQuery) { q.Cursor = " " + next },
	} {
		asked := q
		asked.Cursor = next
		change(&asked)
		page, err := s.Query(ctx, asked)
		require.ErrorIs(t, err, store.ErrCursor, name)
		require.Empty(t, page.Rows)
	}
	q.Cursor = next
	require.Len(t, s.page(t, q).Rows, 3)
}

func testCursorSecrets(t *testing.T, s *fixture) {
	a := s.user(t)
	here, there := plain(1, now), plain(1, now)
	there.At.Lat, there.At.Lng = 525_200_000, 134_050_000
	q := store.HistoryQuery{User: a.ID, Limit: 1}
	s.append(t, batch(a.ID, "d", here, plain(2, now)))
	one := s.page(t, q).Next
	_, err := s.Prune(context.Background(), now+1, 100)
	require.NoError(t, err)
	s.append(t, batch(a.ID, "d", there, plain(2, now)))
	require.Equal(t, one, s.page(t, q).Next)
}
