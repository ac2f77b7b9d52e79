package bench

import (
	"testing"
	"time"
)

// idleConns is how many connections are open: two processes of 20,000 files at
// most have room for them.
const idleConns = 10_000

// BenchmarkIdleConn is the memory of a server's process for each connection on
// which nothing happens, after its user has reported once. With Kith all is
// included: the connection, its place in the hub, and the user's actor with 40
// friends online of whom 4 are in range.
func BenchmarkIdleConn(b *testing.B) {
	const goal = 8192
	bare := idle(b, "bare", true)
	kith := idle(b, "edge", false)
	if kith.Users != idleConns {
		b.Fatalf("%d of %d users are online", kith.Users, idleConns)
	}
	each := func(now, before uint64) float64 { return (float64(now) - float64(before)) / idleConns }
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
		Name: "process memory of an idle connection with its user, 10 000 open", Unit: "B", Value: ours,
		Peer: "gobwas alone, no user", Than: floor, Ratio: ours / floor, Goal: "≤ 8 192 B", Met: ours <= goal,
	})
}

// idle opens connections to a server of the given kind and returns what it holds
// when they have been quiet for a moment.
func idle(b *testing.B, kind string, plain bool) (s served) {
	b.Helper()
	server := startChild(b, kind, idleConns, &s, rateVariable+"=16384")
	defer server.stop()
	var open int
	crowd := startChild(b, "crowd", crowdOrder{Addr: s.Addr, Conns: idleConns, Plain: plain}, &open)
	defer crowd.stop()
	if open != idleConns {
		b.Fatalf("%d of %d connections are open", open, idleConns)
	}
	time.Sleep(2 * time.Second)
	server.ask("memory", &s)
	return s
}
