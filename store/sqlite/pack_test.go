package sqlite

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

func samplePack() []byte {
	var p packer
	for i := range 20 {
		f := presence.Fix{
			At: geo.Point{Lat: int32(i * 1000), Lng: -int32(i)}, Seq: uint64(i), TS: presence.Millis(1000 * i), Sent: presence.Millis(i),
			Accuracy: float32(i), Altitude: presence.Unset(), Speed: presence.Unset(), Heading: 3, Battery: 1, Mock: i%2 == 0,
		}
		p.add(&row{user: presence.UserID(1 + i/3), device: presence.DeviceID(rune('a' + i%2)), fix: f})
	}
	return p.finish()
}

// FuzzUnpack feeds damaged packs with a right checksum, so that the decoder
// itself is tried: it must end, and what it reads must pack to the same rows.
func FuzzUnpack(f *testing.F) {
	whole := samplePack()
	f.Add(whole[:len(whole)-4])
	f.Add([]byte{packVersion})
	f.Add([]byte{packVersion, 0xff, 2, 2, 2, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		u := unpack(withChecksum(body))
		var p packer
		var rows []row
		for u.next() {
			rows = append(rows, u.row)
			p.add(&u.row)
		}
		if u.err != nil {
			require.ErrorIs(t, u.err, errPack)
			return
		}
		if len(rows) == 0 {
			return
		}
		again, err := unpackAll(p.finish())
		require.NoError(t, err)
		require.Len(t, again, len(rows))
		for i := range rows {
			require.Equal(t, rows[i].place(), again[i].place())
			require.Equal(t, rows[i].fix.Sent, again[i].fix.Sent)
			require.Equal(t, rows[i].fix.At.Lat, again[i].fix.At.Lat)
			require.Equal(t, math.Float32bits(rows[i].fix.Speed), math.Float32bits(again[i].fix.Speed))
		}
	})
}

func TestDamagedPacksAreRefused(t *testing.T) {
	whole := samplePack()
	_, err := unpackAll(whole)
	require.NoError(t, err)
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 0x40
		_, err := unpackAll(damaged)
		require.ErrorIs(t, err, errPack)
		_, err = unpackAll(whole[:i])
		require.ErrorIs(t, err, errPack)
	}
}

// withChecksum completes a body as finish does.
func withChecksum(body []byte) []byte {
	p := packer{body: append([]byte(nil), body...)}
	return p.finish()
}
