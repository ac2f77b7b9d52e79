package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

const trackerNow = presence.Millis(1_800_000_000_000)

func (b *bench) track(body string, headers ...string) *http.Response {
	return b.callAs("tracker", "POST", "/owntracks", body, headers...)
}

func TestHT1_OwnTracksLocation(t *testing.T) {
	b := newBench(t, nil)
	message := `{"_type":"location","BSSID":"x","acc":12,"alt":40,"batt":87,"bs":1,"cog":270,"conn":"w","created_at":1799999991,
		"lat":51.5,"lon":-0.12,"m":1,"t":"p","tid":"nn","topic":"owntracks/ann/pixel","tst":1799999990,"vac":3,"vel":36,"inregions":["home"]}`
	for range 3 { // the apps send again what they do not know to have arrived
		require.Equal(t, 200, b.track(message).StatusCode)
	}
	rows := b.history[b.id("ann")]
	require.Len(t, rows, 1)
	require.EqualValues(t, "pixel", rows[0].Device)
	f := rows[0].Fix
	require.Equal(t, point(t, 51.5, -0.12), f.At)
	require.EqualValues(t, 1_799_999_990, f.Seq)
	require.EqualValues(t, 1_799_999_990_000, f.TS)
	require.InDelta(t, 10, f.Speed, 1e-5, "vel is in km/h")
	require.InDelta(t, 0.87, f.Battery, 1e-6, "batt is in percent")
	require.EqualValues(t, 270, f.Heading)
	require.EqualValues(t, 12, f.Accuracy)
	require.EqualValues(t, 40, f.Altitude)
}

func TestOwnTracksDevice(t *testing.T) {
	for name, tt := range map[string]struct{ topic, header, want string }{
		"neither":         {"", "", "default"},
		"topic":           {"owntracks/ann/pixel", "", "pixel"},
		"header":          {"", "iphone", "iphone"},
		"both":            {"owntracks/ann/pixel", "iphone", "iphone"},
		"short topic":     {"owntracks/ann", "", "default"},
		"long topic":      {"owntracks/ann/pixel/event", "", "pixel"},
		"topic, no name":  {"owntracks/ann/", "", "default"},
		"topic, bad name": {"owntracks/ann/é", "", ""},
		"bad header":      {"", "é", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			message, _ := json.Marshal(map[string]any{"_type": "location", "lat": 1, "lon": 2, "tst": 1799999990, "topic": tt.topic})
			got := b.track(string(message), "X-Limit-D", tt.header)
			if tt.want == "" {
				require.Equal(t, http.StatusBadRequest, got.StatusCode)
				return
			}
			require.Equal(t, 200, got.StatusCode)
			require.EqualValues(t, tt.want, b.history[b.id("ann")][0].Device)
		})
	}
}

func TestOwnTracksOtherMessages(t *testing.T) {
	b := newBench(t, nil)
	for _, message := range []string{
		``, `{}`, `{"_type":"transition","lat":1,"lon":2,"tst":1799999990}`, `{"_type":"waypoints","waypoints":[]}`, `{"_type":"lwt","tst":1}`,
		`{"_type":"encrypted","data":"AAAA"}`, `{"_type":"card","name":"x"}`, `{"_type":7}`, `{"_type":null}`,
	} {
		r := newRequest("POST", "/owntracks", message)
		r.SetBasicAuth("", b.token("ann"))
		w := b.serve(r)
		require.Equal(t, 200, w.Code, message)
		require.Equal(t, "[]", w.Body.String())
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
	require.Zero(t, b.reports)
}

func TestHT2_OwnTracksRefusals(t *testing.T) {
	b := newBench(t, nil)
	for members, want := range map[string]string{
		`"lat":91,"lon":2,"tst":1799999990`:            "bad_coordinate lat",
		`"lat":1,"lon":181,"tst":1799999990`:           "bad_coordinate lon",
		`"lat":1e999,"lon":1,"tst":1799999990`:         "bad_coordinate lat",
		`"lon":2,"tst":1799999990`:                     "bad_field lat",
		`"lat":1,"tst":1799999990`:                     "bad_field lon",
		`"lat":"1","lon":2,"tst":1799999990`:           "bad_field lat",
		`"lat":1,"lon":[2],"tst":1799999990`:           "bad_field lon",
		`"lat":1,"lon":2,"tst":1799999990000`:          "bad_time tst",
		`"lat":1,"lon":2,"tst":99999999`:               "bad_time tst",
		`"lat":1,"lon":2,"tst":-1`:                     "bad_time tst",
		`"lat":1,"lon":2,"tst":1e999`:                  "bad_time tst",
		`"lat":1,"lon":2,"tst":1800086401`:             "bad_time tst",
		`"lat":1,"lon":2,"tst":"now"`:                  "bad_field tst",
		`"lat":1,"lon":2,"tst":1799999990,"vel":"f"`:   "bad_field vel",
		`"lat":1,"lon":2,"tst":1799999990,"batt":true`: "bad_field batt",
	} {
		r := newRequest("POST", "/owntracks", `{"_type":"location",`+members+`}`)
		r.SetBasicAuth("", b.token("ann"))
		p := problem(t, b.serve(r), http.StatusBadRequest, strings.Fields(want)[0])
		require.Equal(t, strings.Fields(want)[1], p.Field, members)
	}
	for _, broken := range []string{`[]`, `null`, `7`, `{`, `{"_type":"location","lat":NaN}`, `{"_type":"location","_type":"lwt"}`, strings.Repeat(`{"a":`, 12_000)} {
		require.Equal(t, 400, b.track(broken).StatusCode, broken)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, b.track(`{"_type":"`+strings.Repeat("x", maxBody)+`"}`).StatusCode)
	require.Equal(t, http.StatusUnsupportedMediaType, b.track(`{}`, "Content-Type", "text/plain").StatusCode)
	require.Zero(t, b.reports)
}

func TestOwnTracksWithoutTimeIsNow(t *testing.T) {
	f, _, err := trackerFix([]byte(`{"_type":"location","lat":1,"lon":2,"tst":null,"vel":-1,"cog":-1,"acc":0,"batt":-1}`), trackerNow)
	require.NoError(t, err)
	require.Equal(t, trackerNow, f.TS)
	require.EqualValues(t, trackerNow/1000, f.Seq)
	for _, v := range []float32{f.Speed, f.Heading, f.Accuracy, f.Battery} {
		require.False(t, presence.IsSet(v), "what the apps send for unknown is unknown")
	}
}

func TestOwnTracksAnswersWithFriends(t *testing.T) {
	b := newBench(t, nil)
	u := presence.Unset()
	b.near[b.id("ann")] = []presence.Near{
		{Position: &presence.Position{User: "bob", At: point(t, 51.6, -0.0000001), TS: 1_799_999_980_999, Accuracy: 12.4, Speed: 10, Heading: 90, Battery: 0.455}},
		{Position: &presence.Position{User: "a", At: point(t, 1, 2), TS: 1_799_999_981_000, Accuracy: u, Speed: u, Heading: u, Battery: u}},
	}
	r := newRequest("POST", "/owntracks", `{"_type":"location","lat":51.5,"lon":-0.12,"tst":1799999990}`)
	r.SetBasicAuth("", b.token("ann"))
	w := b.serve(r)
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `[
		{"_type":"location","tid":"a","topic":"owntracks/a/kith","lat":1,"lon":2,"tst":1799999981},
		{"_type":"card","tid":"a","name":"a"},
		{"_type":"location","tid":"ob","topic":"owntracks/bob/kith","lat":51.6,"lon":-0.0000001,"tst":1799999980,"acc":12,"vel":36,"cog":90,"batt":46},
		{"_type":"card","tid":"ob","name":"bob"}]`, w.Body.String())
	require.NotContains(t, w.Body.String(), "e-07")
}

func TestTrackerIDsAreDifferentAndLast(t *testing.T) {
	taken := map[string]bool{}
	for i := range 400 {
		tid := trackerID(presence.PublicID(fmt.Sprintf("friend%03d", i)), taken)
		require.Len(t, tid, 2)
	}
	require.Len(t, taken, 400, "all different")
	require.Equal(t, "99", trackerID("friend399", map[string]bool{}))
	require.Equal(t, trackerID("friend399", map[string]bool{"99": true}), trackerID("friend399", map[string]bool{"99": true}))
	for i := range 2000 { // more than there are pairs
		require.Len(t, trackerID(presence.PublicID(fmt.Sprintf("more%04d", i)), taken), 2)
	}
}

func FuzzOwnTracks(f *testing.F) {
	f.Add([]byte(`{"_type":"location","lat":51.5,"lon":-0.12,"tst":1799999990,"acc":5,"vel":3,"cog":359,"batt":100,"topic":"owntracks/a/b"}`))
	f.Add([]byte(`{"_type":"lwt"}`))
	f.Add([]byte(`{"_type":"location","lat":1e400,"lon":null,"tst":"x"}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, body []byte) {
		fix, device, err := trackerFix(body, trackerNow)
		if err != nil {
			if p, ok := err.(*Problem); ok {
				require.Equal(t, http.StatusBadRequest, p.Status)
				require.NotEmpty(t, p.Detail)
			} else {
				require.ErrorIs(t, err, errNoLocation)
			}
			return
		}
		require.True(t, fix.At.Valid())
		require.LessOrEqual(t, fix.TS, trackerNow+60_000)
		require.Positive(t, fix.Seq)
		_, err = presence.ParseDeviceID(string(device))
		require.NoError(t, err)
		require.True(t, json.Valid(trackerAnswer([]presence.Near{{Position: &presence.Position{User: "bob", At: fix.At, Accuracy: fix.Accuracy, Speed: fix.Speed, Heading: fix.Heading, Battery: fix.Battery}}})))
	})
}
