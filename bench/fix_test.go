package bench

import (
	"testing"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// walker is the user whose fixes are measured, with friends around who are as
// live as it is.
type walker struct {
	*router
	step   int
	seq    uint64
	path   []geo.Point // walked again and again
	report *actors.Report
	out    actors.Outbox
}

const (
	walkerID  = presence.UserID(1)
	walkerBeg = 100 * time.Millisecond // between its fixes, so that friends do not go stale within a block
	block     = 1024                   // fixes between two turns of the friends
	friendsOn = 40
)

// newWalker puts friends at the given distances in metres, one in each
// direction, and lets everybody find each other.
func newWalker(distances []float64, path func(from geo.Point) []geo.Point) *walker {
	home, _ := geo.FromDegrees(48, 11)
	t := &town{homes: []geo.Point{home}, friends: [][]presence.UserID{nil}}
	for i, d := range distances {
		t.homes = append(t.homes, geo.Offset(home, d, float64(i)*360/float64(len(distances))))
		t.friends = append(t.friends, []presence.UserID{walkerID})
		t.friends[0] = append(t.friends[0], presence.UserID(i+2))
	}
	w := &walker{router: newRouter(t), path: path(home)}
	w.report = report(walkerID, 1, "phone", presence.Fix{}, w.now)
	for i := range t.homes {
		id := presence.UserID(i + 1)
		w.send(id, &actors.Attach{Conn: presence.ConnID(id), Device: "phone"})
		w.friendFix(i)
		w.advance(time.Second)
	}
	return w
}

// friendFix lets user i report where it is.
func (w *walker) friendFix(i int) {
	w.seq++
	id := presence.UserID(i + 1)
	w.send(id, report(id, presence.ConnID(id), "phone", newFix(w.town.at(i, w.step), w.seq, w.now), w.now))
}

// fix is one Step of the walker. The report is used again: the Core keeps
// nothing of it but copies, and nobody takes the Record.
func (w *walker) fix() {
	w.step++
	w.seq++
	w.now = w.now.Add(walkerBeg)
	w.report.Batch.Fixes[0] = newFix(w.path[w.step%len(w.path)], w.seq, w.now)
	w.report.Batch.Received = presence.Micros(w.now.UnixMicro())
	w.cores[walkerID].Step(w.now, w.report, &w.out)
}

// measure times fixes. Between blocks, untimed, the friends get what they were
// told, report too and answer, and timers fire.
func (w *walker) measure(b *testing.B) (toldPerFix float64) {
	var told []addressed
	fixes := 0
	before := w.out.Counts
	b.ReportAllocs()
	for b.Loop() {
		w.fix()
		for i := range w.out.Effects {
			switch e := &w.out.Effects[i]; e.Kind {
			case actors.Send:
				told = append(told, addressed{presence.UserID(e.To.ID), e.Message})
			case actors.Timer:
				w.cores[walkerID].wake = e.At
			}
		}
		w.out.Reset()
		if fixes++; fixes%block == 0 {
			b.StopTimer()
			w.catchUp(told)
			clear(told)
			told = told[:0]
			b.StartTimer()
		}
	}
	if live := w.out.Counts[actors.FixLive] - before[actors.FixLive]; live != uint64(fixes) {
		b.Fatalf("%d of %d fixes moved the user", live, fixes)
	}
	return float64(w.out.Counts[actors.Owed]-before[actors.Owed]) / float64(fixes)
}

func (w *walker) catchUp(told []addressed) {
	for _, t := range told {
		w.send(t.to, t.m)
	}
	w.advance(0)
	for i := 1; i < len(w.town.homes); i++ {
		w.friendFix(i)
	}
}

// inView is how many friends the walker's clients see.
func (w *walker) inView(b *testing.B) int {
	var out actors.Outbox
	w.cores[walkerID].Step(w.now, &actors.Inspect{Ask: 1}, &out)
	for _, e := range out.Effects {
		if s, ok := e.Answer.(user.Snapshot); ok {
			return len(s.Near)
		}
	}
	b.Fatal("no snapshot")
	return 0
}

// spread gives n distances from near to far, in metres.
func spread(n int, near, far float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = near + (far-near)*float64(i)/float64(max(1, n-1))
	}
	return all
}

// round is a walk on a circle of 400 m, 42 m a fix.
func round(from geo.Point) (path []geo.Point) {
	for i := range walkSteps {
		path = append(path, geo.Offset(from, walkRadius, float64(i)*360/walkSteps))
	}
	return path
}

// line is a walk of 12 km there and back, 42 m a fix.
func line(from geo.Point) (path []geo.Point) {
	const legs = 285
	for i := range 2 * legs {
		path = append(path, geo.Offset(from, 42*float64(min(i, 2*legs-i)), 90))
	}
	return path
}

// BenchmarkUserFix is one fix through the Core of a user: what it owes to
// friends, and what of its own view changes because it moved.
func BenchmarkUserFix(b *testing.B) {
	for _, c := range []struct {
		name      string
		distances []float64
		path      func(geo.Point) []geo.Point
		view      int
		told      [2]float64 // least and most a fix
	}{
		{"friends=0", nil, round, 0, [2]float64{0, 0}},
		{"friends=40/near=0/quiet", spread(friendsOn, 60_000, 120_000), round, 0, [2]float64{0, 0.01}},
		{"friends=40/near=0/walking", spread(friendsOn, 22_000, 60_000), line, 0, [2]float64{0.001, 2}},
		{"friends=40/near=4", append(spread(4, 1000, 4000), spread(friendsOn-4, 60_000, 120_000)...), round, 4, [2]float64{4, 4.01}},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWalker(c.distances, c.path)
			told := w.measure(b)
			b.ReportMetric(told, "told/fix")
			if seen := w.inView(b); seen != c.view {
				b.Fatalf("%d friends in view, not %d", seen, c.view)
			}
			if told < c.told[0] || told > c.told[1] {
				b.Fatalf("%.3f friends told a fix, not %v", told, c.told)
			}
			results.add(figure{Name: "fix through the user Core, " + c.name, Unit: "ns", Value: nsPerOp(b)})
		})
	}
}
