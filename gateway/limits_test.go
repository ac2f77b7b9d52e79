package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGW11_Bucket(t *testing.T) {
	var b bucket
	for range 3 {
		require.True(t, b.take(0, 2, 3, 1))
	}
	require.False(t, b.take(0, 2, 3, 1))
	require.False(t, b.take(400*time.Millisecond, 2, 3, 1))
	require.True(t, b.take(500*time.Millisecond, 2, 3, 1), "refused frames cost nothing")
	require.True(t, b.take(time.Hour, 2, 3, 3))
	require.False(t, b.take(time.Hour, 2, 3, 1), "no more than the burst gathers")
	require.False(t, b.take(2*time.Hour, 2, 3, 4), "more than the burst is never had")
}

func TestGW11_Flood(t *testing.T) {
	run := func(perSecond []int) (closedIn int) {
		var f flood
		for s, n := range perSecond {
			for i := range n {
				at := time.Duration(s)*time.Second + time.Duration(i)*time.Microsecond
				if _, closes := f.frame(at, 1); closes {
					return s
				}
			}
		}
		return -1
	}
	require.Equal(t, 4, run([]int{11, 11, 11, 11, 11}), "in the fifth second")
	require.Equal(t, -1, run([]int{10, 10, 10, 10, 10, 10, 10}), "ten times is not more than ten times")
	require.Equal(t, -1, run([]int{50, 50, 50, 50, 5, 50, 50, 50, 50, 0, 50}), "a quiet second starts anew")
	require.Equal(t, -1, run([]int{5000}), "a burst is no flood")

	var f flood
	for range 100 {
		wait, _ := f.frame(0, 1)
		require.Zero(t, wait)
	}
	wait, closes := f.frame(300*time.Millisecond, 1)
	require.Equal(t, 700*time.Millisecond, wait, "the rest of the second")
	require.False(t, closes)
}
