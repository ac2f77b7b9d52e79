package storetest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var historyTests = []test{
	{"AllFieldsSurvive", testFields},
	{"S4_EachRowOnceWhateverTheOrder", testOnce},
	{"S4_TheFirstOfTwoStays", testFirstStays},
	{"S4_AClockThatIsAhead", testClockAhead},
	{"S6_RowsOfNobodyAreSkipped", testNobody},
	{"DevicesAndUsersAreApart", testApart},
	{"ManyRowsOfOneMoment", testOneMoment},
	{"AnEmptyAppendIsNoError", testEmptyAppend},
}

// plain is a fix of which the device sent only what it must.
func plain(seq uint64, ts presence.Millis) presence.Fix {
	none := presence.Unset()
	return presence.Fix{
		At: geo.Point{Lat: int32(seq % 900_000_000), Lng: -int32(seq % 1_800_000_000)}, Seq: seq, TS: ts,
		Accuracy: none, Altitude: none, Speed: none, Heading: none, Battery: none,
	}
}

func batch(user presence.UserID, device presence.DeviceID, fixes ...presence.Fix) *presence.Batch {
	return &presence.Batch{User: user, Device: device, Fixes: fixes}
}

func (s *fixture) append(t tb, batches ...*presence.Batch) {
	t.Helper()
	require.NoError(t, s.Append(context.Background(), batches))
}

// page returns one page of a query that must work.
func (s *fixture) page(t tb, q store.HistoryQuery) store.HistoryPage {
	t.Helper()
	page, err := s.Query(context.Background(), q)
	require.NoError(t, err)
	return page
}

// all returns all pages of a query in one.
func (s *fixture) all(t tb, q store.HistoryQuery) (rows []store.HistoryRow) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = store.MaxPage
	}
	for {
		page := s.page(t, q)
		rows = append(rows, page.Rows...)
		require.LessOrEqual(t, len(page.Rows), q.Limit)
		if page.Next == "" {
			return rows
		}
		require.Len(t, page.Rows, q.Limit, "only the last page is short")
		q.Cursor = page.Next
	}
}

// requireRows compares rows bit by bit, so that NaN equals NaN.
func requireRows(t tb, want, got []store.HistoryRow) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, bits(want[i]), bits(got[i]), "row %d", i)
	}
}

type rowBits struct {
	device   presence.DeviceID
	lat, lng int32
	seq      uint64
	ts, sent presence.Millis
	floats   [5]uint32
	mock     bool
}

func bits(r store.HistoryRow) rowBits {
	f := r.Fix
	b := rowBits{
		device: r.Device, lat: f.At.Lat, lng: f.At.Lng, seq: f.Seq, ts: f.TS, sent: f.Sent, mock: f.Mock,
	}
	for i, v := range [...]float32{f.Accuracy, f.Altitude, f.Speed, f.Heading, f.Battery} {
		b.floats[i] = math.Float32bits(v)
		if !presence.IsSet(v) {
			b.floats[i] = math.Float32bits(presence.Unset())
		}
	}
	return b
}

func testFields(t *testing.T, s *fixture) {
	u := s.user(t)
	places := []geo.Point{
		{},
		{Lat: 900_000_000},
		{Lat: -900_000_000},
		{Lng: -1_800_000_000},
		{Lng: 1_799_999_999},
		{Lat: 525_200_000, Lng: 134_050_000},
		{Lat: 1, Lng: -1},
	}
	floats := []float32{presence.Unset(), 0, float32(math.Copysign(0, -1)), 1, -431.5, 0.1, math.MaxFloat32, math.SmallestNonzeroFloat32, 359.99}
	sents := []presence.Millis{0, now, now - 3_600_000, now + 86_400_000, 1, -5, math.MaxInt64}
	var want []store.HistoryRow
	for i := range 200 {
		pick := func(n int) float32 { return floats[(i/n)%len(floats)] }
		want = append(want, store.HistoryRow{Device: "phone", Fix: presence.Fix{
			At: places[i%len(places)], Seq: uint64(i), TS: now + presence.Millis(i), Sent: sents[(i/3)%len(sents)],
			Accuracy: pick(1), Altitude: pick(2), Speed: pick(3), Heading: pick(5), Battery: pick(7), Mock: i%3 == 0,
		}})
	}
	for _, seq := range []uint64{0, 1<<53 - 1, 1 << 53, math.MaxInt64 - 1, math.MaxInt64} {
		want = append(want, store.HistoryRow{Device: "phone", Fix: plain(seq, now+1000)})
	}
	want = append(want, store.HistoryRow{Device: "phone", Fix: plain(math.MaxUint64, now+2000)})
	for _, device := range []presence.DeviceID{"d", "~", presence.DeviceID(strings.Repeat("x", presence.MaxIDLength)), " '\"\\%"} {
		want = append(want, store.HistoryRow{Device: device, Fix: plain(7, now+3000)})
	}
	for _, ts := range []presence.Millis{-1 << 40, 0, 1, 1 << 42} {
		want = append(want, store.HistoryRow{Device: "phone", Fix: plain(9, ts)})
	}
	for _, row := range want {
		s.append(t, batch(u.ID, row.Device, row.Fix))
	}
	slices.SortFunc(want, inOrder)
	requireRows(t, want, s.all(t, store.HistoryQuery{User: u.ID}))
}

// inOrder is the order of history.
func inOrder(a, b store.HistoryRow) int {
	return cmp.Or(
		cmp.Compare(a.Fix.TS, b.Fix.TS),
		strings.Compare(string(a.Device), string(b.Device)),
		cmp.Compare(a.Fix.Seq, b.Fix.Seq),
		cmp.Compare(a.Fix.Stamp(), b.Fix.Stamp()),
	)
}

// identity is what makes two rows the same.
type identity struct {
	user   presence.UserID
	device presence.DeviceID
	seq    uint64
	stamp  presence.Millis
}

// twin is history that is too simple to be wrong.
type twin struct {
	rows map[identity]presence.Fix
}

func (w *twin) append(batches []*presence.Batch) {
	for _, b := range batches {
		for _, f := range b.Fixes {
			id := identity{b.User, b.Device, f.Seq, f.Stamp()}
			if _, ok := w.rows[id]; !ok {
				w.rows[id] = f
			}
		}
	}
}

func (w *twin) query(user presence.UserID, from, to presence.Millis) (rows []store.HistoryRow) {
	for id, f := range w.rows {
		if id.user == user && f.TS >= from && (to == 0 || f.TS < to) {
			rows = append(rows, store.HistoryRow{Device: id.device, Fix: f})
		}
	}
	slices.SortFunc(rows, inOrder)
	return rows
}

// drawBatches makes batches of few users, devices, times and seqs, so that most
// rows meet others like them.
func drawBatches(t *rapid.T, users []presence.UserID) (batches []*presence.Batch) {
	for range rapid.IntRange(1, 6).Draw(t, "batches") {
		b := batch(rapid.SampledFrom(users).Draw(t, "user"), rapid.SampledFrom([]presence.DeviceID{"a", "b", "default"}).Draw(t, "device"))
		for range rapid.IntRange(0, 12).Draw(t, "fixes") {
			f := plain(rapid.Uint64Range(0, 6).Draw(t, "seq"), now+presence.Millis(rapid.IntRange(-20, 20).Draw(t, "ts")))
			// The server's time, what the device sent, or both and they differ.
			f.Sent = rapid.SampledFrom([]presence.Millis{0, f.TS, f.TS + 3, now + 15, now}).Draw(t, "sent")
			f.At.Lat = rapid.Int32Range(-900_000_000, 900_000_000).Draw(t, "lat")
			b.Fixes = append(b.Fixes, f)
		}
		batches = append(batches, b)
	}
	return batches
}

func testOnce(t *testing.T, s *fixture) {
	rapid.Check(t, func(t *rapid.T) {
		users := []presence.UserID{s.user(t).ID, s.user(t).ID, s.user(t).ID}
		w := twin{rows: map[identity]presence.Fix{}}
		var sent []*presence.Batch
		for range rapid.IntRange(1, 6).Draw(t, "appends") {
			batches := drawBatches(t, users)
			// A client that got no ack sends again, in other company.
			for range rapid.IntRange(0, 2).Draw(t, "again") {
				if len(sent) > 0 {
					batches = append(batches, rapid.SampledFrom(sent).Draw(t, "sent before"))
				}
			}
			s.append(t, batches...)
			w.append(batches)
			sent = append(sent, batches...)
		}
		for _, u := range users {
			q := store.HistoryQuery{User: u, Limit: rapid.IntRange(1, 40).Draw(t, "limit")}
			requireRows(t, w.query(u, math.MinInt64, 0), s.all(t, q))
			q.From, q.To = now-presence.Millis(rapid.IntRange(0, 20).Draw(t, "from")), now+presence.Millis(rapid.IntRange(0, 20).Draw(t, "to"))
			requireRows(t, w.query(u, q.From, q.To), s.all(t, q))
		}
	})
}

func testFirstStays(t *testing.T, s *fixture) {
	u := s.user(t)
	first, second := plain(1, now), plain(1, now)
	first.Accuracy, second.Accuracy = 10, 20
	s.append(t, batch(u.ID, "d", first, second))
	s.append(t, batch(u.ID, "d", second))
	requireRows(t, []store.HistoryRow{{Device: "d", Fix: first}}, s.all(t, store.HistoryQuery{User: u.ID}))
	// A device whose app was installed anew counts from 1 again.
	later := plain(1, now+1)
	s.append(t, batch(u.ID, "d", later))
	requireRows(t, []store.HistoryRow{{Device: "d", Fix: first}, {Device: "d", Fix: later}}, s.all(t, store.HistoryQuery{User: u.ID}))
}

func testNobody(t *testing.T, s *fixture) {
	ctx := context.Background()
	u, gone := s.user(t), s.user(t)
	_, err := s.Erase(ctx, gone.ID)
	require.NoError(t, err)
	for _, id := range []presence.UserID{0, gone.ID, gone.ID + 1, 1 << 63, math.MaxUint64} {
		s.append(t, batch(id, "d", plain(1, now)), batch(u.ID, "d", plain(uint64(id), now)))
		page := s.page(t, store.HistoryQuery{User: id, Limit: 10})
		require.Empty(t, page.Rows)
		require.Empty(t, page.Next)
	}
	require.Len(t, s.all(t, store.HistoryQuery{User: u.ID}), 5, "the others of the same Append are kept")
	next := s.user(t)
	require.Empty(t, s.all(t, store.HistoryQuery{User: next.ID}), "rows appended before there was a user are not theirs")
}

func testApart(t *testing.T, s *fixture) {
	var users []store.User
	for range 4 {
		users = append(users, s.user(t))
	}
	for i, u := range users {
		for _, device := range []presence.DeviceID{"a", "b", "ab", ""} {
			f := plain(1, now)
			f.Speed = float32(i)
			s.append(t, batch(u.ID, device, f))
		}
	}
	for i, u := range users {
		rows := s.all(t, store.HistoryQuery{User: u.ID})
		require.Len(t, rows, 4)
		for _, row := range rows {
			require.Equal(t, float32(i), row.Fix.Speed)
		}
	}
}

// testOneMoment has far more rows with one ts than any unit of storage holds.
func testOneMoment(t *testing.T, s *fixture) {
	u, other := s.user(t), s.user(t)
	var want []store.HistoryRow
	for _, device := range []presence.DeviceID{"a", "b"} {
		b := batch(u.ID, device)
		for seq := range uint64(1500) {
			b.Fixes = append(b.Fixes, plain(seq, now))
			want = append(want, store.HistoryRow{Device: device, Fix: plain(seq, now)})
		}
		s.append(t, b, batch(other.ID, device, plain(1, now)))
	}
	for _, limit := range []int{700, store.MaxPage} {
		requireRows(t, want, s.all(t, store.HistoryQuery{User: u.ID, Limit: limit}))
	}
	s.append(t, batch(u.ID, "a", plain(3, now), plain(1499, now)), batch(u.ID, "b", plain(0, now)))
	requireRows(t, want, s.all(t, store.HistoryQuery{User: u.ID}))
}

func testEmptyAppend(t *testing.T, s *fixture) {
	u := s.user(t)
	s.append(t)
	s.append(t, batch(u.ID, "d"))
	require.Empty(t, s.all(t, store.HistoryQuery{User: u.ID}))
}

// testClockAhead sends fixes of a device whose clock is ahead, each several times:
// the server's time, at which they stand, is another one each time.
func testClockAhead(t *testing.T, s *fixture) {
	u, other := s.user(t), s.user(t)
	var want []store.HistoryRow
	for seq := range uint64(40) {
		f := plain(seq, now+presence.Millis(seq)*30_000)
		f.Sent = f.TS + 90_000
		want = append(want, store.HistoryRow{Device: "phone", Fix: f})
	}
	for _, row := range want {
		s.append(t, batch(u.ID, "phone", row.Fix), batch(other.ID, "phone", plain(row.Fix.Seq, row.Fix.TS)))
		again := row.Fix
		again.TS += 2000
		s.append(t, batch(u.ID, "phone", again))
	}
	requireRows(t, want, s.all(t, store.HistoryQuery{User: u.ID}))
	// Much later, when the time has come that its clock told.
	for _, row := range want {
		again := row.Fix
		again.TS = again.Sent
		s.append(t, batch(u.ID, "phone", again))
	}
	requireRows(t, want, s.all(t, store.HistoryQuery{User: u.ID}))
	requireRows(t, want, s.all(t, store.HistoryQuery{User: u.ID, Limit: 7}))
	requireRows(t, want[:10], s.all(t, store.HistoryQuery{User: u.ID, To: want[10].Fix.TS}))

	// Two rows of one place in the order, apart only by what the device sent.
	twice := batch(u.ID, "watch", plain(1, now-5), plain(1, now-5), plain(1, now-5))
	for i := range twice.Fixes {
		twice.Fixes[i].Sent = now + presence.Millis(i)*100_000
	}
	s.append(t, twice, twice)
	s.append(t, twice)
	var both []store.HistoryRow
	for _, f := range twice.Fixes {
		both = append(both, store.HistoryRow{Device: "watch", Fix: f})
	}
	requireRows(t, both, s.all(t, store.HistoryQuery{User: u.ID, To: now, Limit: 1}))

	_, err := s.Prune(context.Background(), now, 100)
	require.NoError(t, err)
	s.append(t, twice)
	requireRows(t, both, s.all(t, store.HistoryQuery{User: u.ID, To: now}))
	_, err = s.Erase(context.Background(), u.ID)
	require.NoError(t, err)
	require.NoError(t, s.EraseHistory(context.Background(), u.ID))
	require.Len(t, s.all(t, store.HistoryQuery{User: other.ID}), 40)
}
