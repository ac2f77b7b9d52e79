package wire

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func parse(t require.TestingT, b []byte) map[string]any {
	m := map[string]any{}
	require.NoError(t, json.Unmarshal(b, &m), "%s", b)
	return m
}

func position(user presence.PublicID, lat, lng int32) *presence.Position {
	return &presence.Position{
		User: user, At: geo.Point{Lat: lat, Lng: lng}, TS: 1_790_000_000_123,
		Accuracy: presence.Unset(), Speed: presence.Unset(), Heading: presence.Unset(), Battery: presence.Unset(),
	}
}

func full() *presence.Position {
	p := position("bob@example.org", 593293421, -1800000000)
	p.Accuracy, p.Speed, p.Heading, p.Battery, p.State, p.Precision = 8.54, 1.414, 271.26, 0.834, presence.Idle, presence.Area
	return p
}

func TestW5_GoldenFrames(t *testing.T) {
	e := NewError(BadCoordinate, "lat", "")
	e.ID, e.Seq, e.HasSeq = "m1", 9, true
	frames := map[string][]byte{
		"connected": AppendConnected(nil, &Connected{
			ID: "c", User: "alice", Node: "n1", Session: 1_790_000_000_123_456, Now: 1_790_000_000_123,
			Settings: Settings{RadiusM: 8047, ExitRadiusM: 8449.35, FixS: 30, StaleS: 600, PingS: 25, MaxFrameBytes: 65536},
		}),
		"friends": AppendFriends(nil, 3, true, []presence.Near{
			{Position: full(), Distance: 1234.56, Bearing: 359.97, Entered: true},
			{Position: position("carol", -1, 0), Distance: 0, Bearing: 90},
		}, []presence.Gone{{User: "dave", Reason: presence.Silent}, {User: "eve", Reason: presence.Unfriended}}),
		"friends_empty":   AppendFriends(nil, 4, false, nil, nil),
		"ack":             AppendAck(nil, MaxSeq, 30),
		"error":           AppendError(nil, e),
		"ok":              AppendOK(nil, "a\"b"),
		"ok_without_id":   AppendOK(nil, ""),
		"request":         AppendNotice(nil, presence.Notice{Kind: presence.Requested, User: "bob"}),
		"friend_accepted": AppendNotice(nil, presence.Notice{Kind: presence.Accepted, User: "bob"}),
		"friend_removed":  AppendNotice(nil, presence.Notice{Kind: presence.Removed, User: "bob"}),
		"expiring":        AppendExpiring(nil),
		"ping":            AppendPing(nil),
		"drain":           AppendDrain(nil, 1500, "maintenance"),
	}
	for name, frame := range frames {
		parse(t, frame)
		path := filepath.Join("testdata", name+".json")
		if *rewrite {
			require.NoError(t, os.WriteFile(path, append(frame, '\n'), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(string(want)), string(frame), name)
	}
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(frames))
}

func TestW5_EntriesSayWhatWentIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := position(presence.PublicID(rapid.StringMatching(`[A-Za-z0-9._~@-]{1,64}`).Draw(t, "user")),
			rapid.Int32Range(-900000000, 900000000).Draw(t, "lat"), rapid.Int32Range(-1800000000, 1799999999).Draw(t, "lng"))
		p.TS = presence.Millis(rapid.Int64Range(0, MaxSeq).Draw(t, "ts"))
		p.Heading = float32(rapid.Float64Range(0, 359.9999).Draw(t, "heading"))
		p.Speed = float32(rapid.Float64Range(0, MaxSpeed).Draw(t, "speed"))
		p.Accuracy = float32(rapid.Float64Range(0.1, MaxAccuracy).Draw(t, "acc"))
		n := presence.Near{
			Position: p, Distance: float32(rapid.Float64Range(0, 2.1e7).Draw(t, "distance")),
			Bearing: float32(rapid.Float64Range(0, 359.9999).Draw(t, "bearing")), Entered: rapid.Bool().Draw(t, "entered"),
		}
		m := parse(t, AppendNear(nil, &n))
		at, err := geo.FromDegrees(m["lat"].(float64), m["lng"].(float64))
		require.NoError(t, err)
		require.Equal(t, p.At == at, true, "latitude and longitude are exact")
		require.Equal(t, float64(p.TS), m["ts"])
		require.Equal(t, string(p.User), m["user"])
		require.InDelta(t, float64(n.Distance), m["distance_m"], .0501)
		require.InDelta(t, float64(p.Speed), m["speed"], .00501)
		require.InDelta(t, float64(p.Accuracy), m["acc"], .0501)
		for name, v := range map[string]float32{"bearing_deg": n.Bearing, "heading": p.Heading} {
			got := m[name].(float64)
			require.True(t, got >= 0 && got < 360)
			off := math.Abs(got - float64(v))
			require.LessOrEqual(t, min(off, 360-off), .0501)
		}
		_, entered := m["entered"]
		require.Equal(t, n.Entered, entered)
		require.NotContains(t, m, "battery")
	})
}

func TestW5_StringsAreEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.String().Draw(t, "id")
		if id == "" {
			return
		}
		require.Equal(t, id, parse(t, AppendOK(nil, id))["id"])
	})
	require.Equal(t, "a\ufffdb", parse(t, AppendOK(nil, "a\xffb"))["id"])
	for _, v := range []float64{math.NaN(), math.Inf(1), -math.MaxFloat64} {
		parse(t, AppendAck(nil, 1, v))
	}
}

func TestW6_TheSharedPartIsEncodedOnce(t *testing.T) {
	p := full()
	require.True(t, FirstEncoding(p))
	first := string(AppendNear(nil, &presence.Near{Position: p, Distance: 1}))
	require.False(t, FirstEncoding(p))
	p.Speed = 99 // a real Position is immutable; this shows that it is not looked at again
	require.Equal(t, first, string(AppendNear(nil, &presence.Near{Position: p, Distance: 1})))
}

func TestPages(t *testing.T) {
	for _, row := range []struct {
		near, gone int
		want       [][2]int
	}{
		{0, 0, [][2]int{{0, 0}}},
		{100, 0, [][2]int{{100, 0}}},
		{101, 0, [][2]int{{100, 0}, {1, 0}}},
		{99, 150, [][2]int{{99, 1}, {0, 100}, {0, 49}}},
	} {
		var got [][2]int
		Pages(&presence.Change{Full: true, Near: make([]presence.Near, row.near), Gone: make([]presence.Gone, row.gone)},
			func(full bool, near []presence.Near, gone []presence.Gone) {
				require.Equal(t, len(got) == 0, full)
				got = append(got, [2]int{len(near), len(gone)})
			})
		require.Equal(t, row.want, got)
	}
}

func BenchmarkEncodeFriends40(b *testing.B) {
	near := make([]presence.Near, 40)
	for i := range near {
		near[i] = presence.Near{Position: full(), Distance: float32(i) * 100.3, Bearing: float32(i)}
	}
	buf := AppendFriends(nil, 1, false, near, nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		buf = AppendFriends(buf[:0], 1, false, near, nil)
	}
}

func BenchmarkEncodePosition(b *testing.B) {
	p := full()
	buf := appendPosition(nil, p)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendPosition(buf[:0], p)
	}
}

func BenchmarkEncodeAck(b *testing.B) {
	buf := AppendAck(nil, 48213, 30)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendAck(buf[:0], 48213, 30)
	}
}
