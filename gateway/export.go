package gateway

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"strconv"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// export is one way to write a page of history. next is the cursor of the page
// after it, for formats that have a place for it.
type export struct {
	contentType string
	file        string // the name under which a browser saves it; "" = it shows it
	write       func(rows []HistoryRow, next string) []byte
}

var exports = map[string]export{
	"json":    {"application/json", "", writeJSON},
	"geojson": {"application/geo+json", "kith.geojson", writeGeoJSON},
	"gpx":     {"application/gpx+xml", "kith.gpx", writeGPX},
	"csv":     {"text/csv; charset=utf-8", "kith.csv", writeCSV},
}

// RowBody is one fix of history. What the device did not send is absent.
type RowBody struct {
	Device   presence.DeviceID `json:"device"`
	Seq      uint64            `json:"seq" doc:"Rising per device"`
	TS       presence.Millis   `json:"ts" doc:"Unix milliseconds: the time that counts"`
	Sent     presence.Millis   `json:"sent,omitempty" doc:"The device's own time, if it differs from ts"`
	Lat      float64           `json:"lat" doc:"Degrees"`
	Lng      float64           `json:"lng" doc:"Degrees"`
	Accuracy *float32          `json:"acc,omitempty" doc:"Metres, radius of 68 %"`
	Altitude *float32          `json:"alt,omitempty" doc:"Metres"`
	Speed    *float32          `json:"speed,omitempty" doc:"m/s"`
	Heading  *float32          `json:"heading,omitempty" doc:"Degrees in [0, 360)"`
	Battery  *float32          `json:"battery,omitempty" doc:"0 to 1"`
	Mock     bool              `json:"mock,omitempty" doc:"A program made this position up"`
}

// HistoryBody is a page of history.
type HistoryBody struct {
	Fixes []RowBody `json:"fixes"`
	Next  string    `json:"next,omitempty" doc:"The cursor of the next page; absent = this was the last"`
}

func rowBody(r *HistoryRow) RowBody {
	f := &r.Fix
	b := RowBody{
		Device: r.Device, Seq: f.Seq, TS: f.TS, Mock: f.Mock,
		Accuracy: sent(f.Accuracy), Altitude: sent(f.Altitude), Speed: sent(f.Speed), Heading: sent(f.Heading), Battery: sent(f.Battery),
	}
	b.Lat, b.Lng = f.At.Degrees()
	if f.Sent != f.TS {
		b.Sent = f.Sent
	}
	return b
}

func sent(v float32) *float32 {
	if !presence.IsSet(v) {
		return nil
	}
	return &v
}

// mustJSON marshals values that always can be: strings, integers and floats
// that the wire checked to be finite.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func writeJSON(rows []HistoryRow, next string) []byte {
	body := HistoryBody{Fixes: make([]RowBody, len(rows)), Next: next}
	for i := range rows {
		body.Fixes[i] = rowBody(&rows[i])
	}
	return mustJSON(body)
}

// writeGeoJSON gives one Point for each fix (RFC 7946: longitude comes first).
func writeGeoJSON(rows []HistoryRow, _ string) []byte {
	type geometry struct {
		Type        string    `json:"type"`
		Coordinates []float64 `json:"coordinates"`
	}
	type feature struct {
		Type       string   `json:"type"`
		Geometry   geometry `json:"geometry"`
		Properties any      `json:"properties"`
	}
	type properties struct {
		RowBody
		// These stand in the geometry, so they are hidden here.
		Lat *float64 `json:"lat,omitempty"`
		Lng *float64 `json:"lng,omitempty"`
	}
	body := struct {
		Type     string    `json:"type"`
		Features []feature `json:"features"`
	}{"FeatureCollection", make([]feature, len(rows))}
	for i := range rows {
		b := rowBody(&rows[i])
		at := []float64{b.Lng, b.Lat}
		if b.Altitude != nil {
			at = append(at, float64(*b.Altitude))
		}
		body.Features[i] = feature{"Feature", geometry{"Point", at}, properties{RowBody: b}}
	}
	return mustJSON(body)
}

type gpxPoint struct {
	Lat  string   `xml:"lat,attr"`
	Lng  string   `xml:"lon,attr"`
	Alt  *float32 `xml:"ele"`
	Time string   `xml:"time"`
}

type gpxTrack struct {
	Name   string     `xml:"name"`
	Points []gpxPoint `xml:"trkseg>trkpt"`
}

type gpxFile struct {
	XMLName xml.Name   `xml:"http://www.topografix.com/GPX/1/1 gpx"`
	Version string     `xml:"version,attr"`
	Creator string     `xml:"creator,attr"`
	Tracks  []gpxTrack `xml:"trk"`
}

// writeGPX gives one track for each device, in order of first appearance.
// Accuracy has no element in GPX (hdop is another thing), so it is left out.
func writeGPX(rows []HistoryRow, _ string) []byte {
	file := gpxFile{Version: "1.1", Creator: "Kith"}
	track := map[presence.DeviceID]int{}
	for i := range rows {
		r := &rows[i]
		n, ok := track[r.Device]
		if !ok {
			n = len(file.Tracks)
			track[r.Device] = n
			file.Tracks = append(file.Tracks, gpxTrack{Name: string(r.Device)})
		}
		lat, lng := r.Fix.At.Degrees()
		file.Tracks[n].Points = append(file.Tracks[n].Points, gpxPoint{
			Lat: degrees(lat), Lng: degrees(lng), Alt: sent(r.Fix.Altitude), Time: rfc3339(r.Fix.TS),
		})
	}
	body, err := xml.Marshal(file)
	if err != nil {
		panic(err) // only strings and floats
	}
	return append([]byte(xml.Header), body...)
}

var csvHeader = []string{"time", "ts", "device", "seq", "lat", "lng", "acc", "alt", "speed", "heading", "battery", "mock", "sent"}

func writeCSV(rows []HistoryRow, _ string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(csvHeader) // a Buffer takes everything
	for i := range rows {
		f := &rows[i].Fix
		lat, lng := f.At.Degrees()
		_ = w.Write([]string{
			rfc3339(f.TS), strconv.FormatInt(int64(f.TS), 10), inert(string(rows[i].Device)), strconv.FormatUint(f.Seq, 10),
			degrees(lat), degrees(lng), decimal(f.Accuracy), decimal(f.Altitude), decimal(f.Speed), decimal(f.Heading), decimal(f.Battery),
			strconv.FormatBool(f.Mock), strconv.FormatInt(int64(f.Sent), 10),
		})
	}
	w.Flush()
	return b.Bytes()
}

// inert makes text that a spreadsheet would take for a formula plain text, with
// an apostrophe before it. Numbers need none: a minus before digits is no
// formula.
func inert(s string) string {
	if s == "" {
		return s
	}
	switch s[0] {
	case '=', '+', '-', '@', '\t', '\r':
		return "'" + s
	}
	return s
}

func rfc3339(ms presence.Millis) string {
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// degrees has the seven decimals of a geo.Point and no exponent.
func degrees(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func decimal(v float32) string {
	if !presence.IsSet(v) {
		return ""
	}
	return strconv.FormatFloat(float64(v), 'f', -1, 32)
}
