package wire

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

func TestW3_WhatIsRefused(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	many := strings.Repeat(`{"lat":1,"lng":2,"seq":1},`, 1001)
	for _, row := range []struct{ in, code, field string }{
		{``, "bad_json", ""},
		{`null`, "bad_json", ""},
		{`[]`, "bad_json", ""},
		{`"connect"`, "bad_json", ""},
		{`{"type":"pong"`, "bad_json", ""},
		{`{"type":"pong"} x`, "bad_json", ""},
		{`{"type":"pong"}{}`, "bad_json", ""},
		{`{type:"pong"}`, "bad_json", ""},
		{`{'type':'pong'}`, "bad_json", ""},
		{`{"type":"pong",}`, "bad_json", ""},
		{`{"type":"pong","type":"pong"}`, "bad_json", ""},
		{`{"type":"pong","\u0074ype":"pong"}`, "bad_json", ""},
		{`{"type":"pong","x":{"a":1,"a":2}}`, "bad_json", ""},
		{"{\"type\":\"po\xffng\"}", "bad_json", ""},
		{`{"type":"pong","x":` + deep + `}`, "bad_json", ""},
		{`{"type":"pong","x":` + strings.Repeat("1", 65) + `}`, "bad_json", ""},
		{`{"type":"fix","lat":0.` + strings.Repeat("1", 65) + `,"lng":1,"seq":1}`, "bad_json", ""},
		{`{"type":"fix","lat":NaN,"lng":1,"seq":1}`, "bad_json", ""},
		{`{"type":"fix","lat":Infinity,"lng":1,"seq":1}`, "bad_json", ""},
		{`{"type":"fix","lat":01,"lng":1,"seq":1}`, "bad_json", ""},
		{`{"type":"fix","lat":0x1,"lng":1,"seq":1}`, "bad_json", ""},
		{`{}`, "bad_field", "type"},
		{`{"type":1}`, "bad_field", "type"},
		{`{"type":null}`, "bad_field", "type"},
		{`{"type":{"a":[]}}`, "bad_field", "type"},
		{`{"type":""}`, "unknown_type", "type"},
		{`{"type":"FIX"}`, "unknown_type", "type"},
		{`{"type":"fly"}`, "unknown_type", "type"},
		{`{"type":"pong","id":5}`, "bad_field", "id"},
		{`{"type":"pong","id":"` + strings.Repeat("x", 65) + `"}`, "bad_field", "id"},
		{`{"type":"connect"}`, "bad_field", "token"},
		{`{"type":"connect","token":""}`, "bad_field", "token"},
		{`{"type":"connect","token":7}`, "bad_field", "token"},
		{`{"type":"connect","token":"t","device":""}`, "bad_field", "device"},
		{`{"type":"connect","token":"t","device":"` + strings.Repeat("d", 65) + `"}`, "bad_field", "device"},
		{`{"type":"connect","token":"t","device":"a\nb"}`, "bad_field", "device"},
		{`{"type":"connect","token":"t","radius_m":"5"}`, "bad_field", "radius_m"},
		{`{"type":"connect","token":"t","radius_m":1e999}`, "bad_field", "radius_m"},
		{`{"type":"radius"}`, "bad_field", "radius_m"},
		{`{"type":"radius","radius_m":null}`, "bad_field", "radius_m"},
		{`{"type":"fixes"}`, "bad_field", "fixes"},
		{`{"type":"fixes","fixes":{}}`, "bad_field", "fixes"},
		{`{"type":"fixes","fixes":[]}`, "bad_field", "fixes"},
		{`{"type":"fixes","fixes":[` + strings.TrimSuffix(many, ",") + `]}`, "too_large", "fixes"},
		{`{"type":"fixes","fixes":[{"lat":1,"lat":2}]}`, "bad_json", ""},
		{`{"type":"still","seq":"1"}`, "bad_field", "seq"},
		{`{"type":"still","seq":-1}`, "bad_field", "seq"},
		{`{"type":"still","seq":1.5}`, "bad_field", "seq"},
		{`{"type":"still","seq":9007199254740992}`, "bad_field", "seq"},
		{`{"type":"still","seq":99999999999999999999}`, "bad_field", "seq"},
		{`{"type":"friend","op":"accept"}`, "bad_field", "user"},
		{`{"type":"friend","user":"bob"}`, "bad_field", "op"},
		{`{"type":"friend","op":"hug","user":"bob"}`, "bad_field", "op"},
		{`{"type":"friend","op":"join","user":"bob"}`, "bad_field", "op"},
		{`{"type":"friend","op":"accept","user":"b b"}`, "bad_field", "user"},
		{`{"type":"friend","op":"accept","user":""}`, "bad_field", "user"},
		{`{"type":"share","user":"bob"}`, "bad_field", "mode"},
		{`{"type":"share","mode":"Exact"}`, "bad_field", "mode"},
		{`{"type":"share","mode":"none","until":"now"}`, "bad_field", "until"},
		{`{"type":"share","mode":"none","until":1700000000}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":-1}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":0.5}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":-0.5}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":1e-300}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":-1e400}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":-1700000000000}`, "bad_time", "until"},
		{`{"type":"share","mode":"none","until":99999999999.9}`, "bad_time", "until"},
		{`{"type":"strangers"}`, "bad_field", "on"},
		{`{"type":"strangers","on":"yes"}`, "bad_field", "on"},
		{`{"type":"strangers","on":true,"for_s":0}`, "bad_field", "for_s"},
		{`{"type":"room","room":"r"}`, "bad_field", "op"},
		{`{"type":"room","op":"accept","room":"r"}`, "bad_field", "op"},
		{`{"type":"room","op":"join","room":7}`, "bad_field", "room"},
		{`{"type":"token"}`, "bad_field", "token"},
	} {
		var f Frame
		err := Decode([]byte(row.in), &f)
		shown := row.in[:min(len(row.in), 80)]
		require.NotNil(t, err, shown)
		require.Equal(t, row.code, err.Code.String(), shown)
		require.Equal(t, row.field, err.Field, shown)
		require.True(t, err.Message != "", shown)
	}
}

func TestW2_IDAndSeqComeBackWithTheError(t *testing.T) {
	var f Frame
	err := Decode([]byte(`{"id":"a","seq":5,"type":"still","x":tru}`), &f)
	require.Equal(t, BadJSON, err.Code)
	require.Equal(t, "a", err.ID)
	require.True(t, err.HasSeq)
	require.EqualValues(t, 5, err.Seq)
	err = Decode([]byte(`{"type":"nope","id":"`+strings.Repeat("é", 64)+`"}`), &f)
	require.Equal(t, strings.Repeat("é", 64), err.ID, "64 characters, not bytes")
}

func TestW3_MembersOfOtherTypesAreIgnored(t *testing.T) {
	var f Frame
	require.Nil(t, Decode([]byte(`{"lat":"x","user":9,"fixes":7,"op":[],"zzz":{"a":[1,{"b":null}]},"type":"pong"}`), &f))
	require.Equal(t, Pong, f.Type)
	require.Nil(t, Decode([]byte(`{"type":"share","mode":"none","user":null,"until":null,"id":null}`), &f))
	require.Empty(t, f.User)
	require.Nil(t, Decode([]byte(`{"type":"pong","x":`+strings.Repeat("[", 15)+strings.Repeat("]", 15)+`}`), &f), "16 levels")
	require.NotNil(t, Decode([]byte(`{"type":"pong","x":`+strings.Repeat("[", 16)+strings.Repeat("]", 16)+`}`), &f))
}

func TestDecodeReadsEveryType(t *testing.T) {
	var f Frame
	read := func(in string) *Frame {
		require.Nil(t, Decode([]byte(in), &f), in)
		return &f
	}
	read(`{"type":"connect","id":"1","token":"t","device":"phone","radius_m":500.5}`)
	require.Equal(t, Connect, f.Type)
	require.Equal(t, "1", f.ID)
	require.Equal(t, "t", f.Token)
	require.EqualValues(t, "phone", f.Device)
	require.Equal(t, 500.5, f.RadiusM)
	read(`{"type":"connect","token":"t"}`)
	require.Equal(t, presence.DefaultDevice, f.Device)
	require.True(t, math.IsNaN(f.RadiusM))
	read(`{"seq":1e3,"type":"fix","lat":-1.5,"lng":2,"ts":1.7e12,"acc":3,"alt":-4,"speed":5,"heading":6,"battery":0.7,"mock":true}`)
	require.Equal(t, RawFix{Lat: -1.5, Lng: 2, Acc: 3, Alt: -4, Speed: 5, Heading: 6, Battery: .7, TS: 1.7e12, Seq: 1000, Mock: true, Has: 1<<10 - 1}, f.Fix)
	read(`{"type":"fixes","fixes":[{"lat":1,"lng":2,"seq":3,"x":{}},5,{"lat":"1"}]}`)
	require.Len(t, f.Fixes, 3)
	require.Equal(t, RawFix{Lat: 1, Lng: 2, Seq: 3, Has: FixLat | FixLng | FixSeq}, f.Fixes[0].Raw)
	require.Equal(t, BadField, f.Fixes[1].Err.Code)
	require.Equal(t, FixLat, f.Fixes[2].Raw.Bad)
	read(`{"type":"still"}`)
	require.Zero(t, f.Fix.Has)
	require.Empty(t, f.Fixes, "nothing of the frame before")
	read(`{"type":"still","seq":9007199254740991}`)
	require.EqualValues(t, MaxSeq, f.Fix.Seq)
	require.Equal(t, 100.0, read(`{"type":"radius","radius_m":100}`).RadiusM)
	read(`{"type":"friend","op":"unblock","user":"a@b.c"}`)
	require.Equal(t, "unblock", f.Op)
	require.EqualValues(t, "a@b.c", f.User)
	read(`{"type":"share","mode":"area","until":1700000000000}`)
	require.Equal(t, presence.Area, f.Mode)
	require.EqualValues(t, 1_700_000_000_000, f.Until)
	require.EqualValues(t, MinTime, read(`{"type":"share","mode":"area","until":1e11}`).Until)
	require.Zero(t, read(`{"type":"share","mode":"area","until":0}`).Until, "none")
	require.Zero(t, read(`{"type":"share","mode":"area","until":-0.0}`).Until)
	require.EqualValues(t, uint64(MaxSeq), read(`{"type":"share","mode":"area","until":1e400}`).Until, "for as good as ever")
	read(`{"type":"strangers","on":true,"for_s":60}`)
	require.True(t, f.On)
	require.Equal(t, 60.0, f.ForS)
	require.Equal(t, "signal", read(`{"type":"room","op":"signal","room":"r"}`).Op)
	require.Equal(t, "z", read(`{"type":"token","token":"\u007a"}`).Token)
}

func TestModesAreInOrder(t *testing.T) {
	for m, name := range modes {
		require.Equal(t, name, presence.Mode(m).String())
	}
}

func TestDecodeReport(t *testing.T) {
	r, err := DecodeReport([]byte(`{"device":"bike","fixes":[{"lat":1,"lng":2,"seq":3},{"lat":"x"}],"type":7}`))
	require.Nil(t, err)
	require.EqualValues(t, "bike", r.Device)
	require.Len(t, r.Fixes, 2)
	r, err = DecodeReport([]byte(`{"fixes":[{}]}`))
	require.Nil(t, err)
	require.Equal(t, presence.DefaultDevice, r.Device)
	for in, code := range map[string]Code{
		`{`: BadJSON, `[]`: BadJSON, `{}`: BadField, `{"fixes":[]}`: BadField, `{"fixes":3}`: BadField,
		`{"fixes":[{}],"device":5}`: BadField, `{"fixes":[` + strings.Repeat("{},", 1000) + `{}]}`: TooLarge,
	} {
		_, err := DecodeReport([]byte(in))
		require.NotNil(t, err, in)
		require.Equal(t, code, err.Code, in)
	}
}

func FuzzDecode(f *testing.F) {
	for _, in := range []string{
		`{"type":"connect","token":"t","device":"d","radius_m":1}`, `{"type":"fix","lat":1,"lng":2,"seq":3,"ts":1700000000000}`,
		`{"type":"fixes","fixes":[{"lat":1,"lng":2,"seq":3},null,[]]}`, `{"type":"share","mode":"area","until":1e999}`,
		`{"type":"friend","op":"accept","user":"bob","id":"\ud800"}`, `{"type":"pong","x":[[[[{"a":{}}]]]]}`, `{"a":1,"a":2}`, "\xff",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var a, b Frame
		first := Decode(in, &a)
		if first != nil {
			require.NotEqual(t, NoError, first.Code)
			require.NotEmpty(t, first.Message)
			require.True(t, len(AppendError(nil, first)) > 0)
		}
		second := Decode(in, &b)
		require.Equal(t, first, second)
		for i := range a.Fixes {
			if a.Fixes[i].Err == nil {
				checkOne(t, &a.Fixes[i].Raw)
			}
		}
		checkOne(t, &a.Fix)
		_, _ = DecodeReport(in)
	})
}

// checkOne checks W4 for one raw fix.
func checkOne(t *testing.T, r *RawFix) {
	const now = presence.Millis(1_790_000_000_000)
	fix, err := Checker{Now: now}.Fix(r)
	if err != nil {
		require.NotEqual(t, NoError, err.Code)
		return
	}
	require.True(t, fix.At.Valid())
	require.LessOrEqual(t, fix.TS, now+Ahead)
	for _, v := range []float32{fix.Accuracy, fix.Altitude, fix.Speed, fix.Heading, fix.Battery} {
		require.False(t, math.IsInf(float64(v), 0))
	}
	require.False(t, fix.Heading < 0 || fix.Heading >= 360)
}

const sampleFix = `{"type":"fix","seq":48213,"ts":1790000000000,"lat":59.3293421,"lng":18.0685712,"acc":8.5,"speed":1.4,"heading":271.3,"battery":0.83}`

func BenchmarkDecodeFix(b *testing.B) {
	in := []byte(sampleFix)
	var f Frame
	check := Checker{Now: 1_790_000_000_000, SeqRequired: true}
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := Decode(in, &f); err != nil {
			b.Fatal(err)
		}
		if _, err := check.Fix(&f.Fix); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeFixes100(b *testing.B) {
	item := strings.Replace(sampleFix, `"type":"fix",`, "", 1)
	in := []byte(fmt.Sprintf(`{"type":"fixes","fixes":[%s]}`, strings.TrimSuffix(strings.Repeat(item+",", 100), ",")))
	var f Frame
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := Decode(in, &f); err != nil {
			b.Fatal(err)
		}
	}
}
