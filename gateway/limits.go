package gateway

import "time"

// bucket is a token bucket. It starts full at its first use and belongs to one
// goroutine.
type bucket struct {
	tokens float32
	filled bool
	at     time.Duration
}

// take takes n tokens if there are as many. perS is the rate, burst the most
// that gathers; more than burst is never had.
func (b *bucket) take(now time.Duration, perS, burst, n float64) bool {
	tokens := burst
	if b.filled {
		tokens = min(burst, float64(b.tokens)+perS*(now-b.at).Seconds())
	}
	ok := tokens >= n
	if ok {
		tokens -= n
	}
	b.tokens, b.at, b.filled = float32(tokens), now, true
	return ok
}

// Flooding: so many seconds in a row with more than so many times the frames
// that are allowed.
const (
	floodTimes   = 10
	floodSeconds = 5
	floodMost    = 100 // times; a faster client is read no faster than this
)

// flood notices a client that sends far too much for long. It belongs to one
// goroutine.
type flood struct {
	second  time.Duration // when the second that is counted began
	frames  uint32        // in this second
	seconds uint8         // flooded ones in a row
}

// frame counts one frame. closes: the client has flooded for long enough. wait:
// how long to read nothing before this frame is dealt with.
func (f *flood) frame(now time.Duration, perS float64) (wait time.Duration, closes bool) {
	if passed := now - f.second; passed >= time.Second {
		if float64(f.frames) <= perS*floodTimes || passed >= 2*time.Second {
			f.seconds = 0
		}
		f.second, f.frames = now, 0
	}
	f.frames++
	if float64(f.frames) > perS*floodMost {
		wait = f.second + time.Second - now
	}
	if float64(f.frames-1) <= perS*floodTimes && float64(f.frames) > perS*floodTimes {
		f.seconds++
	}
	return wait, f.seconds >= floodSeconds
}
