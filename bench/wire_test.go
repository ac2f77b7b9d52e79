package bench

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// jsonFix is a fix frame as encoding/json reads it.
type jsonFix struct {
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Seq     *uint64  `json:"seq"`
	Lat     *float64 `json:"lat"`
	Lng     *float64 `json:"lng"`
	TS      *int64   `json:"ts"`
	Acc     *float64 `json:"acc"`
	Speed   *float64 `json:"speed"`
	Heading *float64 `json:"heading"`
	Battery *float64 `json:"battery"`
}

const fixFrame = `{"type":"fix","seq":81234,"lat":52.5200066,"lng":13.404954,"ts":1800000000123,"acc":8.5,"speed":1.4,"heading":271.5,"battery":0.83}`

// jsonFriends is a friends frame as encoding/json writes it.
type jsonFriends struct {
	Type string     `json:"type"`
	V    uint64     `json:"v"`
	Full bool       `json:"full"`
	Near []jsonNear `json:"near"`
	Gone []struct{} `json:"gone"`
}

type jsonNear struct {
	User      string  `json:"user"`
	Lat       float64 `json:"lat"`
	Lng       float64 `json:"lng"`
	TS        int64   `json:"ts"`
	Acc       float64 `json:"acc"`
	Speed     float64 `json:"speed"`
	Heading   float64 `json:"heading"`
	Battery   float64 `json:"battery"`
	State     string  `json:"state"`
	Precision string  `json:"precision"`
	Distance  float64 `json:"distance_m"`
	Bearing   float64 `json:"bearing_deg"`
	Entered   bool    `json:"entered,omitempty"`
}

// BenchmarkWire is client frames in and out beside encoding/json with structs.
func BenchmarkWire(b *testing.B) {
	pair(b, "decode-fix", benchDecode, benchDecodeJSON)
	for _, n := range []int{1, 100} {
		near, plain := friendsFrame(n)
		// What is the same for every receiver is encoded once per position, so the
		// first of several receivers costs more than the others.
		pair(b, fmt.Sprintf("encode-friends=%d/first", n),
			func(b *testing.B) { benchEncode(b, near, true) }, func(b *testing.B) { benchEncodeJSON(b, plain) })
		pair(b, fmt.Sprintf("encode-friends=%d/next", n),
			func(b *testing.B) { benchEncode(b, near, false) }, func(b *testing.B) { benchEncodeJSON(b, plain) })
	}
}

// pair runs the peer and Kith one after the other and notes the ratio.
func pair(b *testing.B, name string, kith, peer func(*testing.B)) {
	var than float64
	b.Run(name+"/encoding-json", func(b *testing.B) {
		peer(b)
		than = nsPerOp(b)
	})
	b.Run(name+"/kith", func(b *testing.B) {
		kith(b)
		ns := nsPerOp(b)
		if than == 0 {
			return // only this one was asked for
		}
		b.ReportMetric(than/ns, "x-peer")
		results.add(figure{Name: "frame: " + name, Unit: "ns", Value: ns, Peer: "encoding/json", Than: than, Ratio: than / ns})
	})
}

func benchDecode(b *testing.B) {
	in := []byte(fixFrame)
	var f wire.Frame
	checker := wire.Checker{Now: 1_800_000_000_200, SeqRequired: true}
	var fix presence.Fix
	b.ReportAllocs()
	for b.Loop() {
		if err := wire.Decode(in, &f); err != nil {
			b.Fatal(err)
		}
		var err *wire.Error
		if fix, err = checker.Fix(&f.Fix); err != nil {
			b.Fatal(err)
		}
	}
	if fix.Seq != 81234 {
		b.Fatal("the fix is not the one of the frame")
	}
}

func benchDecodeJSON(b *testing.B) {
	in := []byte(fixFrame)
	var at geo.Point
	b.ReportAllocs()
	for b.Loop() {
		var f jsonFix
		if err := json.Unmarshal(in, &f); err != nil {
			b.Fatal(err)
		}
		var err error
		if at, err = geo.FromDegrees(*f.Lat, *f.Lng); err != nil {
			b.Fatal(err)
		}
	}
	if !at.Valid() {
		b.Fatal("the point is not valid")
	}
}

// friendsFrame is n friends, for both sides.
func friendsFrame(n int) ([]presence.Near, *jsonFriends) {
	near, plain := make([]presence.Near, n), &jsonFriends{Type: "friends", V: 7, Gone: []struct{}{}}
	for i := range near {
		at, _ := geo.FromDegrees(52.5+float64(i)*1.2345e-3, 13.4+float64(i)*2.3456e-3)
		lat, lng := at.Degrees()
		p := &presence.Position{
			User: publicID(presence.UserID(i + 1)), At: at, TS: 1_800_000_000_123, Accuracy: 8.5, Speed: 1.4, Heading: 271.5,
			Battery: 0.83, State: presence.Live, Precision: presence.Exact,
		}
		near[i] = presence.Near{Position: p, Distance: 1234.5 + float32(i), Bearing: 87.6}
		plain.Near = append(plain.Near, jsonNear{
			User: string(p.User), Lat: lat, Lng: lng, TS: int64(p.TS), Acc: 8.5, Speed: 1.4, Heading: 271.5, Battery: 0.83,
			State: p.State.String(), Precision: p.Precision.String(), Distance: 1234.5 + float64(i), Bearing: 87.6,
		})
	}
	return near, plain
}

func benchEncode(b *testing.B, near []presence.Near, first bool) {
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if first {
			for i := range near {
				near[i].Position.Encoded.Store(nil)
			}
		}
		buf = wire.AppendFriends(buf[:0], 7, false, near, nil)
	}
	var back jsonFriends
	if err := json.Unmarshal(buf, &back); err != nil || len(back.Near) != len(near) {
		b.Fatalf("%v, %d of %d friends", err, len(back.Near), len(near))
	}
}

func benchEncodeJSON(b *testing.B, frame *jsonFriends) {
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = json.Marshal(frame); err != nil {
			b.Fatal(err)
		}
	}
	if len(buf) == 0 {
		b.Fatal("nothing was encoded")
	}
}
