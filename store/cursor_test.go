package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

func FuzzParseCursor(f *testing.F) {
	q := &HistoryQuery{User: 7, From: 1, To: 2}
	f.Add(Cursor{TS: 1, Device: "d", Seq: 1, Stamp: 9}.Encode(q))
	f.Add(Cursor{TS: -1, Device: "", Seq: 1<<64 - 1}.Encode(q))
	f.Add("")
	f.Add("AQIDBAUGBwg")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text, q)
		if err != nil {
			require.ErrorIs(t, err, ErrCursor)
			return
		}
		again, err := ParseCursor(c.Encode(q), q)
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func TestCursorRoundTrip(t *testing.T) {
	q := &HistoryQuery{User: 7}
	for _, c := range []Cursor{{}, {TS: 4, Seq: 2, Device: "d", Stamp: -1 << 63}, {TS: -5, Seq: 1<<64 - 1, Device: "a\"b"}, {TS: 1 << 62, Device: presence.DeviceID("x")}} {
		got, err := ParseCursor(c.Encode(q), q)
		require.NoError(t, err)
		require.Equal(t, c, got)
		_, err = ParseCursor(c.Encode(q), &HistoryQuery{User: 8})
		require.ErrorIs(t, err, ErrCursor)
	}
}
