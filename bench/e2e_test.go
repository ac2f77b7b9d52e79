package bench

import (
	"testing"
	"time"
)

const (
	e2eUsers = 1000
	inFlight = 4
)

// BenchmarkEndToEnd is fixes of 1,000 users over their sockets through a whole
// node with its history on disk, beside a relay that does nothing but move the
// same frames. First as many as go, closed loop; then half of that, open loop,
// for the time from a fix to its appearance at friends.
func BenchmarkEndToEnd(b *testing.B) {
	var relay string
	floorServer := startChild(b, "relay", e2eUsers, &relay)
	floor := measureLoad(b, relay, floorServer.cmd.Process.Pid, loadPhase{Seconds: 3, InFlight: inFlight})
	floorServer.stop()

	t := newTown(e2eUsers, degree, 4, perVillage)
	node := serveTown(b, t)
	load, pid := startLoad(b, node.addr), node.Process.Pid
	time.Sleep(time.Second) // first views
	most := load.measure(b, pid, loadPhase{Seconds: 6, InFlight: inFlight})
	half := load.measure(b, pid, loadPhase{Seconds: 8, Rate: most.FixesPerS / 2})

	b.ReportMetric(0, "ns/op")
	b.ReportMetric(most.FixesPerS, "fixes/s")
	b.ReportMetric(floor.FixesPerS, "floor-fixes/s")
	b.ReportMetric(most.FixesPerS/floor.FixesPerS, "x-floor")
	b.ReportMetric(most.cpu, "server-cpu-us/fix")
	b.ReportMetric(floor.cpu, "floor-cpu-us/fix")
	b.ReportMetric(half.FixesPerS, "half-fixes/s")
	b.ReportMetric(half.Push.P50, "push-p50-ms")
	b.ReportMetric(half.Push.P99, "push-p99-ms")
	b.ReportMetric(half.Ack.P50, "ack-p50-ms")
	b.ReportMetric(half.Ack.P99, "ack-p99-ms")
	b.ReportMetric(100*float64(half.Superseded)/float64(half.Shown), "superseded-%")
	if testing.Verbose() {
		b.Logf("closed loop: %+v", most)
		b.Logf("open loop: %+v", half)
	}
	results.add(figure{
		Name: "fixes end to end, 1 000 sockets, 4 of 40 friends in range, durable", Unit: "fixes/s", Value: most.FixesPerS,
		Peer: "relay of the same frames", Than: floor.FixesPerS, Ratio: most.FixesPerS / floor.FixesPerS,
	})
	results.add(figure{Name: "fix to push at half of that rate, p50", Unit: "ms", Value: half.Push.P50})
	results.add(figure{Name: "fix to push at half of that rate, p99", Unit: "ms", Value: half.Push.P99})
	results.add(figure{Name: "fix to ack (durable) at half of that rate, p99", Unit: "ms", Value: half.Ack.P99})
}

// load is a load generator with its sockets open.
type load struct{ *child }

// measured is a report with what it cost the server, in µs of CPU a fix.
type measured struct {
	loadReport
	cpu float64
}

func startLoad(b *testing.B, addr string) load {
	b.Helper()
	var open int
	l := load{startChild(b, "load", loadOrder{Addr: addr, Users: e2eUsers}, &open)}
	if open != e2eUsers {
		b.Fatalf("%d of %d sockets are open", open, e2eUsers)
	}
	return l
}

// measure runs a phase and fails unless every fix was acknowledged and friends
// saw as many as they should (B2).
func (l load) measure(b *testing.B, server int, p loadPhase) measured {
	b.Helper()
	var m measured
	before := cpuOf(b, server)
	l.ask(p, &m.loadReport)
	all := (m.FixesPerS + 1) * (p.Seconds + 1) // with the second before it
	m.cpu = float64((cpuOf(b, server) - before).Microseconds()) / all
	switch {
	case m.Refused != "":
		b.Fatalf("a client was refused: %s", m.Refused)
	case m.Acked == 0 || float64(m.Shown) < 3.5*float64(m.Acked):
		b.Fatalf("friends saw %d of %d fixes, each of which concerns 4", m.Shown, m.Acked)
	}
	if p.InFlight == 0 && m.FixesPerS < 0.95*p.Rate {
		b.Logf("only %.0f of %.0f fixes a second went through: the machine was busy with other things, and latency is not the node's", m.FixesPerS, p.Rate)
	}
	return m
}

// measureLoad runs one phase with clients of its own.
func measureLoad(b *testing.B, addr string, server int, p loadPhase) measured {
	b.Helper()
	l := startLoad(b, addr)
	defer l.stop()
	return l.measure(b, server, p)
}
