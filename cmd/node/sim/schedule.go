package sim

import (
	"container/heap"
	"time"
)

// deed is what a person does at some time.
type deed uint8

const (
	join   deed = iota // begins to connect
	speak              // reports
	repeat             // sends again what is not acknowledged
	lose               // loses the network
	regain             // has it again
)

// due is one thing to do.
type due struct {
	at     time.Duration // since the start
	person int32
	deed   deed
}

// schedule is all that is to come, the soonest first.
type schedule []due

func (s *schedule) add(at time.Duration, person int32, what deed) {
	heap.Push(s, due{at, person, what})
}

// next takes what is due, if anything is.
func (s *schedule) next(now time.Duration) (due, bool) {
	if len(*s) == 0 || (*s)[0].at > now {
		return due{}, false
	}
	return heap.Pop(s).(due), true
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].at < s[j].at }
func (s schedule) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push adds one at the end.
func (s *schedule) Push(x any) { *s = append(*s, x.(due)) }

// Pop takes one from the end.
func (s *schedule) Pop() any {
	old := *s
	last := old[len(old)-1]
	*s = old[:len(old)-1]
	return last
}
