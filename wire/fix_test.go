package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/presence"
)

const serverNow = presence.Millis(1_790_000_000_000)

func rawOf(t testing.TB, members string) *RawFix {
	var f Frame
	require.Nil(t, Decode([]byte(`{"type":"fix",`+members+`}`), &f), members)
	return &f.Fix
}

func TestW4_RefusedFixes(t *testing.T) {
	for _, row := range []struct{ members, code, field string }{
		{`"lng":1,"seq":1`, "bad_field", "lat"},
		{`"lat":1,"seq":1`, "bad_field", "lng"},
		{`"lat":1,"lng":1`, "bad_field", "seq"},
		{`"lat":null,"lng":1,"seq":1`, "bad_field", "lat"},
		{`"lat":"1","lng":1,"seq":1`, "bad_field", "lat"},
		{`"lat":"NaN","lng":1,"seq":1`, "bad_field", "lat"},
		{`"lat":1,"lng":{},"seq":1`, "bad_field", "lng"},
		{`"lat":1,"lng":1,"seq":"1"`, "bad_field", "seq"},
		{`"lat":1,"lng":1,"seq":-1`, "bad_field", "seq"},
		{`"lat":1,"lng":1,"seq":0.5`, "bad_field", "seq"},
		{`"lat":1,"lng":1,"seq":9007199254740992`, "bad_field", "seq"},
		{`"lat":1,"lng":1,"seq":1,"acc":"5"`, "bad_field", "acc"},
		{`"lat":1,"lng":1,"seq":1,"mock":"yes"`, "bad_field", "mock"},
		{`"lat":1,"lng":1,"seq":1,"ts":"now"`, "bad_field", "ts"},
		{`"lat":90.0000001,"lng":1,"seq":1`, "bad_coordinate", "lat"},
		{`"lat":-91,"lng":1,"seq":1`, "bad_coordinate", "lat"},
		{`"lat":1e999,"lng":1,"seq":1`, "bad_coordinate", "lat"},
		{`"lat":1,"lng":180.1,"seq":1`, "bad_coordinate", "lng"},
		{`"lat":1,"lng":-1e999,"seq":1`, "bad_coordinate", "lng"},
		{`"lat":1,"lng":1,"seq":1,"ts":1700000000`, "bad_time", "ts"},
		{`"lat":1,"lng":1,"seq":1,"ts":0`, "bad_time", "ts"},
		{`"lat":1,"lng":1,"seq":1,"ts":-1700000000000`, "bad_time", "ts"},
		{`"lat":1,"lng":1,"seq":1,"ts":1e999`, "bad_time", "ts"},
		{`"lat":1,"lng":1,"seq":1,"ts":1790086400001`, "bad_time", "ts"},
	} {
		r := rawOf(t, row.members)
		fix, err := Checker{Now: serverNow, SeqRequired: true}.Fix(r)
		require.NotNil(t, err, row.members)
		require.Equal(t, row.code, err.Code.String(), row.members)
		require.Equal(t, row.field, err.Field, row.members)
		require.Equal(t, r.Has&FixSeq != 0, err.HasSeq, row.members)
		require.Zero(t, fix.TS)
	}
}

func TestW4_Times(t *testing.T) {
	for _, row := range []struct {
		ts       string
		is, sent presence.Millis
	}{
		{``, serverNow, 0},
		{`,"ts":null`, serverNow, 0},
		{`,"ts":1789999999000.9`, serverNow - 1000, serverNow - 1000},
		{`,"ts":1790000060000`, serverNow + 60_000, serverNow + 60_000},
		{`,"ts":1790000060001`, serverNow, serverNow + 60_001},
		{`,"ts":1790086400000`, serverNow, serverNow + 86_400_000},
		{`,"ts":100000000000`, MinTime, MinTime},
	} {
		fix, err := Checker{Now: serverNow}.Fix(rawOf(t, `"lat":1,"lng":2`+row.ts))
		require.Nil(t, err, row.ts)
		require.Equal(t, row.is, fix.TS, row.ts)
		require.Equal(t, row.sent, fix.Sent, row.ts)
	}
}

func TestW4_MeasurementsThatCannotBeTrueAreDropped(t *testing.T) {
	const unset = -1
	for _, row := range []struct {
		member string
		want   float64
		of     func(*presence.Fix) float32
	}{
		{`"acc":0`, unset, acc},
		{`"acc":-5`, unset, acc},
		{`"acc":12.5`, 12.5, acc},
		{`"acc":1e999`, MaxAccuracy, acc},
		{`"acc":1e30`, MaxAccuracy, acc},
		{`"speed":-1`, unset, speed},
		{`"speed":340`, 340, speed},
		{`"speed":340.5`, unset, speed},
		{`"speed":null`, unset, speed},
		{`"heading":-0.1`, unset, heading},
		{`"heading":360`, 0, heading},
		{`"heading":725.5`, 5.5, heading},
		{`"heading":359.9999999999`, 0, heading},
		{`"heading":1e999`, unset, heading},
		{`"battery":0`, 0, battery},
		{`"battery":1`, 1, battery},
		{`"battery":85`, unset, battery},
		{`"battery":-0.1`, unset, battery},
		{`"alt":-12.5`, -12.5, altitude},
		{`"alt":1e7`, unset, altitude},
	} {
		fix, err := Checker{Now: serverNow}.Fix(rawOf(t, `"lat":1,"lng":2,`+row.member))
		require.Nil(t, err, row.member)
		got := row.of(&fix)
		if row.want == unset {
			require.False(t, presence.IsSet(got), row.member)
			continue
		}
		require.Equal(t, float32(row.want), got, row.member)
	}
	coarse, err := Checker{Now: serverNow}.Fix(rawOf(t, `"lat":1,"lng":2,"acc":1e999`))
	require.Nil(t, err)
	require.True(t, coarse.Coarse(), "an accuracy beyond all bounds decides nothing")
}

func acc(f *presence.Fix) float32      { return f.Accuracy }
func speed(f *presence.Fix) float32    { return f.Speed }
func heading(f *presence.Fix) float32  { return f.Heading }
func battery(f *presence.Fix) float32  { return f.Battery }
func altitude(f *presence.Fix) float32 { return f.Altitude }

func TestW4_WhateverIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any64 := func(label string) float64 {
			return rapid.OneOf(rapid.Float64(), rapid.Float64Range(-400, 400), rapid.Just(math.Inf(1)), rapid.Just(1.79e12)).Draw(t, label)
		}
		r := RawFix{
			Lat: any64("lat"), Lng: any64("lng"), TS: any64("ts"), Acc: any64("acc"), Alt: any64("alt"),
			Speed: any64("speed"), Heading: any64("heading"), Battery: any64("battery"), Has: FixField(rapid.Uint16().Draw(t, "has")) & (1<<10 - 1),
		}
		fix, err := Checker{Now: serverNow}.Fix(&r)
		if err != nil {
			return
		}
		if !fix.At.Valid() || fix.TS > serverNow+Ahead || fix.Heading < 0 || fix.Heading >= 360 || math.IsInf(float64(fix.Accuracy), 0) {
			t.Fatalf("%+v", r.Has)
		}
	})
}
