package gateway

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// fullRow has everything in it, bareRow with as little as there can be.
func fullRow(t testing.TB) HistoryRow {
	return HistoryRow{Device: "=cmd|'/c calc'!A1", Fix: presence.Fix{
		At: point(t, -33.8568, 151.2153), Seq: 7, TS: 1_799_999_990_123, Sent: 1_800_000_090_000,
		Accuracy: 12.5, Altitude: -3, Speed: 1.25, Heading: 359.9, Battery: 0.5, Mock: true,
	}}
}

func bareRow(t testing.TB) HistoryRow {
	u := presence.Unset()
	return HistoryRow{Device: `a"<&>',b`, Fix: presence.Fix{
		At: point(t, 0.0000001, -180), Seq: 8, TS: 1_799_999_991_000, Accuracy: u, Altitude: u, Speed: u, Heading: u, Battery: u,
	}}
}

func historyBench(t testing.TB) *bench {
	b := newBench(t, nil)
	b.history[b.id("ann")] = []HistoryRow{fullRow(t), bareRow(t)}
	return b
}

func TestHistoryAsJSON(t *testing.T) {
	b := historyBench(t)
	for _, w := range []*httptest.ResponseRecorder{
		b.call("ann", "GET", "/v1/history", ""),
		b.call("ann", "GET", "/v1/history?format=json", ""),
		b.call("operator", "GET", "/v1/users/ann/history", ""),
	} {
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.JSONEq(t, `{"fixes":[
			{"device":"=cmd|'/c calc'!A1","seq":7,"ts":1799999990123,"sent":1800000090000,"lat":-33.8568,"lng":151.2153,
			 "acc":12.5,"alt":-3,"speed":1.25,"heading":359.9,"battery":0.5,"mock":true},
			{"device":"a\"<&>',b","seq":8,"ts":1799999991000,"lat":1e-7,"lng":-180}]}`, w.Body.String())
		require.Empty(t, w.Header().Get("Link"))
	}
	require.JSONEq(t, `{"fixes":[]}`, b.call("bob", "GET", "/v1/history", "").Body.String())
}

func TestHistoryAsGeoJSON(t *testing.T) {
	b := historyBench(t)
	w := b.call("ann", "GET", "/v1/history?format=geojson", "")
	require.Equal(t, "application/geo+json", w.Header().Get("Content-Type"))
	require.Contains(t, w.Header().Get("Content-Disposition"), "kith.geojson")
	require.JSONEq(t, `{"type":"FeatureCollection","features":[
		{"type":"Feature","geometry":{"type":"Point","coordinates":[151.2153,-33.8568,-3]},"properties":
			{"device":"=cmd|'/c calc'!A1","seq":7,"ts":1799999990123,"sent":1800000090000,"acc":12.5,"alt":-3,"speed":1.25,"heading":359.9,"battery":0.5,"mock":true}},
		{"type":"Feature","geometry":{"type":"Point","coordinates":[-180,1e-7]},"properties":{"device":"a\"<&>',b","seq":8,"ts":1799999991000}}]}`, w.Body.String())
	require.JSONEq(t, `{"type":"FeatureCollection","features":[]}`, b.call("bob", "GET", "/v1/history?format=geojson", "").Body.String())
}

func TestHistoryAsGPX(t *testing.T) {
	b := historyBench(t)
	again := fullRow(t)
	again.Fix.TS++
	b.history[b.id("ann")] = append(b.history[b.id("ann")], again)
	w := b.call("ann", "GET", "/v1/history?format=gpx", "")
	require.Equal(t, "application/gpx+xml", w.Header().Get("Content-Type"))
	type point struct {
		Lat  float64 `xml:"lat,attr"`
		Lon  float64 `xml:"lon,attr"`
		Ele  string  `xml:"ele"`
		Time string  `xml:"time"`
	}
	var file struct {
		XMLName xml.Name `xml:"http://www.topografix.com/GPX/1/1 gpx"`
		Version string   `xml:"version,attr"`
		Tracks  []struct {
			Name   string  `xml:"name"`
			Points []point `xml:"trkseg>trkpt"`
		} `xml:"trk"`
	}
	require.NoError(t, xml.Unmarshal(w.Body.Bytes(), &file))
	require.Equal(t, "1.1", file.Version)
	require.Len(t, file.Tracks, 2, "one track for each device")
	require.Equal(t, "=cmd|'/c calc'!A1", file.Tracks[0].Name)
	require.Equal(t, []point{{-33.8568, 151.2153, "-3", "2027-01-15T07:59:50.123Z"}, {-33.8568, 151.2153, "-3", "2027-01-15T07:59:50.124Z"}}, file.Tracks[0].Points)
	require.Equal(t, `a"<&>',b`, file.Tracks[1].Name)
	require.Equal(t, []point{{0.0000001, -180, "", "2027-01-15T07:59:51.000Z"}}, file.Tracks[1].Points)
	require.NotContains(t, w.Body.String(), "e-07", "coordinates have no exponent")

	require.NoError(t, xml.Unmarshal(b.call("bob", "GET", "/v1/history?format=gpx", "").Body.Bytes(), &file))
}

func TestHistoryAsCSV(t *testing.T) {
	b := historyBench(t)
	w := b.call("ann", "GET", "/v1/history?format=csv", "")
	require.Equal(t, "text/csv; charset=utf-8", w.Header().Get("Content-Type"))
	rows, err := csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		csvHeader,
		{"2027-01-15T07:59:50.123Z", "1799999990123", "'=cmd|'/c calc'!A1", "7", "-33.8568", "151.2153", "12.5", "-3", "1.25", "359.9", "0.5", "true", "1800000090000"},
		{"2027-01-15T07:59:51.000Z", "1799999991000", `a"<&>',b`, "8", "0.0000001", "-180", "", "", "", "", "", "false", "0"},
	}, rows)
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)"} {
		require.Equal(t, "'"+text, inert(text))
	}
	require.Equal(t, "plain", inert("plain"))
	require.Empty(t, inert(""))
}

func TestHistoryPages(t *testing.T) {
	b := newBench(t, nil)
	b.history[b.id("ann")] = manyRows(25)
	for _, format := range []string{"json", "geojson", "gpx", "csv"} {
		var seen []string
		target := "/v1/history?limit=10&from=2020-01-01T00:00:00%2B01:00&format=" + format
		for pages := 0; target != ""; pages++ {
			require.Less(t, pages, 3)
			w := b.call("ann", "GET", target, "")
			require.Equal(t, 200, w.Code, w.Body.String())
			seen = append(seen, w.Body.String())
			link := w.Header().Get("Link")
			if format == "json" {
				require.Equal(t, link != "", body[HistoryBody](t, w, 200).Next != "")
			}
			target = ""
			if link != "" {
				end := strings.Index(link, `>; rel="next"`)
				require.Positive(t, end, link)
				target = link[1:end]
				require.Contains(t, target, "from=2020-01-01T00%3A00%3A00%2B01%3A00", "the next page has the same bounds")
			}
		}
		require.Len(t, seen, 3, format)
	}
	w := b.call("operator", "GET", "/v1/users/ann/history?limit=24", "")
	require.True(t, strings.HasPrefix(w.Header().Get("Link"), "</v1/users/ann/history?cursor=at%3A24&"), w.Header().Get("Link"))
	require.Len(t, body[HistoryBody](t, w, 200).Fixes, 24)
}

func TestHistoryParameters(t *testing.T) {
	b := newBench(t, nil)
	b.history[b.id("ann")] = manyRows(10)
	count := func(query string) int {
		return len(body[HistoryBody](t, b.call("ann", "GET", "/v1/history?"+query, ""), 200).Fixes)
	}
	require.Equal(t, 10, count(""))
	require.Equal(t, 10, count("from=&to=&cursor="))
	require.Equal(t, 6, count("from=1799999990004"))
	require.Equal(t, 4, count("to=1799999990004"), "to is exclusive")
	require.Equal(t, 2, count("from=1799999990004&to=2027-01-15T07:59:50.006Z"))
	require.Equal(t, 2, count("from=1799999990004&to=2027-01-15T08:59:50.006%2B01:00"))
	require.Equal(t, 2, count("from=1799999990004&to=2027-01-15T08:59:50.006+01:00"), "a + that was not escaped")
	require.Equal(t, 10, count("limit=10000"))

	for query, want := range map[string]string{
		"from=1799999990":                     "bad_time from",
		"to=-5":                               "bad_time to",
		"to=99999999999999999":                "bad_time to",
		"to=999999999999999999999":            "bad_time to",
		"from=yesterday":                      "bad_time from",
		"from=2026-01-01":                     "bad_time from",
		"from=NaN":                            "bad_time from",
		"from=1e13":                           "bad_time from",
		"from=0001-01-01T00:00:00Z":           "bad_time from",
		"from=1799999990004&to=1799999990004": "bad_time to",
		"from=1799999990004&to=1799999990003": "bad_time to",
		"limit=0":                             "bad_field limit",
		"limit=10001":                         "bad_field limit",
		"limit=-1":                            "bad_field limit",
		"limit=ten":                           "bad_field limit",
		"limit=1.5":                           "bad_field limit",
		"format=xml":                          "bad_field format",
		"format=CSV":                          "bad_field format",
		"cursor=nonsense":                     "bad_field cursor",
		"cursor=a%00b":                        "bad_field cursor",
		"cursor=%C3%A4":                       "bad_field cursor",
		"cursor=" + strings.Repeat("a", 513):  "bad_field cursor",
		"cursor=at:1'%20OR%20'1'='1":          "bad_field cursor",
	} {
		p := problem(t, b.call("ann", "GET", "/v1/history?"+query, ""), http.StatusBadRequest, strings.Fields(want)[0])
		require.Equal(t, strings.Fields(want)[1], p.Field, query)
	}
}

func FuzzHistoryQuery(f *testing.F) {
	for _, s := range []string{"", "1799999990000", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00 01:00", "-1", "9223372036854775807", "9999-12-31T23:59:59Z"} {
		f.Add(s, s, "at:5", 10)
	}
	f.Fuzz(func(t *testing.T, from, to, cursor string, limit int) {
		in := HistoryParams{From: from, To: to, Cursor: cursor, Limit: limit, Format: "csv"}
		q, problem := in.query()
		if problem != nil {
			require.Equal(t, http.StatusBadRequest, problem.Status)
			require.NotEmpty(t, problem.Field)
			return
		}
		require.True(t, q.From == 0 || q.From >= 100_000_000_000)
		require.True(t, q.To == 0 || q.To > q.From)
		require.Less(t, q.From, presence.Millis(1)<<58, "a time in microseconds must not overflow")
		again, err := url.ParseQuery(in.following(cursor).Encode())
		require.NoError(t, err)
		require.Equal(t, cursor, again.Get("cursor"))
		require.Equal(t, from, again.Get("from"))
		if from != "" {
			ms, err := time.Parse(time.RFC3339, rfc3339(q.From))
			if err == nil { // years after 9999 have no RFC 3339
				require.EqualValues(t, q.From, ms.UnixMilli())
			}
		}
	})
}

func FuzzExports(f *testing.F) {
	f.Add("phone", int32(515_000_000), int32(-1_200_000), float32(3), uint64(1))
	f.Add("=1\x00\r\n\"", int32(0), int32(1), float32(-1e30), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, device string, lat, lng int32, measured float32, seq uint64) {
		row := bareRow(t)
		row.Device, row.Fix.At.Lat, row.Fix.At.Lng, row.Fix.Seq = presence.DeviceID(device), lat, lng, seq
		if measured-measured == 0 { // the wire lets no other into history
			row.Fix.Accuracy, row.Fix.Altitude = measured, measured
		}
		rows := []HistoryRow{row, fullRow(t)}
		require.True(t, json.Valid(exports["json"].write(rows, device)))
		require.True(t, json.Valid(exports["geojson"].write(rows, device)))
		var file gpxFile
		require.NoError(t, xml.Unmarshal(exports["gpx"].write(rows, device), &file))
		lines, err := csv.NewReader(strings.NewReader(string(exports["csv"].write(rows, device)))).ReadAll()
		require.NoError(t, err)
		require.Len(t, lines, 3)
		require.NotContains(t, "=+-@\t\r", (lines[1][2] + " ")[:1])
	})
}
