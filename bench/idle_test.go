package bench

import (
	"testing"
	"time"
)

// idleConns is how many connections are open: two processes of 20,000 files at
// most have room for them.
const idleConns = 10_000

// BenchmarkIdleConn is the memory of a server's process for each connection on
// which nothing happens. With Kith all of its state is included: the connection,
// its place in the hub, and the user's actor. Once nobody has reported anything;
// once everybody has, and has 40 friends online of whom 4 are in range, which
// brings what BenchmarkUserMemory measures.
func BenchmarkIdleConn(b *testing.B) {
	bare := idle(b, "bare", crowdOrder{Plain: true})
	for _, c := range []struct {
		name, what, goal string
		most             float64
		order            crowdOrder
	}{
		{"connected", "process memory of an idle connection, 10 000 open", "≤ 8 192 B", 8192, crowdOrder{Quiet: true}},
		{"reported", "the same when its user has 40 friends online, 4 in range", "", 0, crowdOrder{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			kith := idle(b, "edge", c.order)
			if kith.Users != idleConns {
				b.Fatalf("%d of %d users are online", kith.Users, idleConns)
			}
			ours, floor := each(kith.Now.RSS, kith.Before.RSS), each(bare.Now.RSS, bare.Before.RSS)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ours, "B/conn")
			b.ReportMetric(each(kith.Held, kith.Before.RSS), "held-B/conn")
			b.ReportMetric(each(kith.Now.Heap, kith.Before.Heap), "heap-B/conn")
			b.ReportMetric(each(kith.Now.Spans, kith.Before.Spans), "span-B/conn")
			b.ReportMetric(each(kith.Now.Stack, kith.Before.Stack), "stack-B/conn")
			b.ReportMetric(floor, "floor-B/conn")
			b.ReportMetric(each(bare.Now.Heap, bare.Before.Heap), "floor-heap-B/conn")
			b.ReportMetric(each(bare.Now.Stack, bare.Before.Stack), "floor-stack-B/conn")
			b.ReportMetric(ours/floor, "x-floor")
			if testing.Verbose() {
				logHolders(b, kith.Top, idleConns)
			}
			results.add(figure{
				Name: c.what, Unit: "B", Value: ours,
				Peer: "gobwas alone, no user", Than: floor, Ratio: ours / floor, Goal: c.goal, Met: ours <= c.most,
			})
		})
	}
}

// each is what one connection takes of a growth.
func each(now, before uint64) float64 { return (float64(now) - float64(before)) / idleConns }

// idle opens connections to a server of the given kind and returns what it holds
// when they have been quiet for a moment.
func idle(b *testing.B, kind string, order crowdOrder) (s served) {
	b.Helper()
	server := startChild(b, kind, idleConns, &s, rateVariable+"=16384")
	defer server.stop()
	var open int
	order.Addr, order.Conns = s.Addr, idleConns
	crowd := startChild(b, "crowd", order, &open)
	defer crowd.stop()
	if open != idleConns {
		b.Fatalf("%d of %d connections are open", open, idleConns)
	}
	time.Sleep(2 * time.Second)
	server.ask("memory", &s)
	return s
}
