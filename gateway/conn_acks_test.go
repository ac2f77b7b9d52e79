package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGW4_AcksOfRisingSeqs(t *testing.T) {
	var a acks
	a.report(1, 1)
	a.report(2, 5)
	require.Equal(t, 2, a.waiting())
	_, ok := a.still(6)
	require.False(t, ok, "two batches are on their way")
	seq, ok := a.settle(1)
	require.True(t, ok)
	require.EqualValues(t, 1, seq)
	seq, ok = a.settle(5)
	require.True(t, ok)
	require.EqualValues(t, 6, seq, "the still comes with what it waited for")
	a.report(6, 6)
	seq, ok = a.settle(6)
	require.True(t, ok, "what comes again is acknowledged again")
	require.EqualValues(t, 6, seq)
}

func TestGW4_SeqZero(t *testing.T) {
	var a acks
	a.report(0, 0)
	a.report(0, 0)
	_, ok := a.settle(0)
	require.False(t, ok, "another 0 is on its way")
	seq, ok := a.settle(0)
	require.True(t, ok)
	require.Zero(t, seq)
}

// An ack never covers a fix that is on its way, and when nothing is, everything
// is acknowledged.
func TestGW4_AcksCoverNothingThatIsOnItsWay(t *testing.T) {
	type span struct{ low, high uint64 }
	rapid.Check(t, func(t *rapid.T) {
		var a acks
		var onWay []span
		highest, sent := uint64(0), uint64(0)
		check := func(seq uint64, ok bool) {
			if !ok {
				return
			}
			for _, s := range onWay {
				require.Less(t, seq, s.low, "covers a fix on its way")
			}
			require.GreaterOrEqual(t, seq, sent, "never goes back")
			require.LessOrEqual(t, seq, highest)
			sent = seq
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			seq := rapid.Uint64Range(0, 40).Draw(t, "seq")
			switch rapid.SampledFrom([]string{"next", "any", "durable", "durable", "still"}).Draw(t, "what") {
			case "next":
				onWay = append(onWay, span{highest + 1, highest + 1})
				highest++
				a.report(highest, highest)
			case "any":
				high := seq + rapid.Uint64Range(0, 5).Draw(t, "more")
				onWay = append(onWay, span{seq, high})
				highest = max(highest, high)
				a.report(seq, high)
			case "durable":
				if len(onWay) > 0 {
					last := onWay[0].high
					onWay = onWay[1:]
					seq, ok := a.settle(last)
					// A fix that comes after its seq was covered stands behind what
					// was acknowledged before; it holds acks back, but takes none back.
					if ok && seq > sent {
						check(seq, ok)
					}
				}
			case "still":
				highest = max(highest, seq)
				ack, ok := a.still(seq)
				require.Equal(t, len(onWay) == 0, ok)
				check(ack, ok)
			}
		}
		for i, s := range onWay {
			seq, ok := a.settle(s.high)
			if i == len(onWay)-1 {
				require.True(t, ok)
				require.Equal(t, highest, seq)
			}
		}
		require.Zero(t, a.waiting())
	})
}

func TestGW5_NoAckAfterALoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a acks
		a.report(1, 1)
		a.report(2, 2)
		a.lost = true
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "still") {
				_, ok := a.still(9)
				require.False(t, ok)
			} else {
				_, ok := a.settle(3)
				require.False(t, ok)
			}
		}
		require.Zero(t, a.waiting())
	})
}
