package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSoak_E6_ChurnLeavesNothing holds 2 000 sockets, of which 100 a second go
// and are replaced, half of them without a word.
func TestSoak_E6_ChurnLeavesNothing(t *testing.T) {
	long(t)
	const sockets, churn = 2000, 100
	lasting := 20 * time.Second
	if soaking() {
		lasting = 2 * time.Minute
	}
	s := prepare(t, "presence.offline_grace=500ms", "presence.radius_m=500")
	var pairs [][2]string
	for i := range sockets {
		pairs = append(pairs, [2]string{fmt.Sprintf("user%d", i), fmt.Sprintf("user%d", (i+1)%sockets)})
	}
	s.importFriends(pairs)
	s.start()
	enter := func(i int) *peer {
		p := s.connect(fmt.Sprintf("user%d", i), "")
		p.fix(lat0+float64(i)*10*metre, lng0)
		return p
	}
	// Once around, so that pools, tables and the database's caches are there.
	warm := make([]*peer, 200)
	for i := range warm {
		warm[i] = enter(i)
	}
	for _, p := range warm {
		p.acked(p.lastFix)
		p.cut()
	}
	gone := func() bool {
		g := s.gauges()
		return g["kith_connections"] == 0 && g[`kith_actors{kind="user"}`] == 0
	}
	eventually(s, patience, "all are gone", gone)
	before := s.usage()

	all := make([]*peer, sockets)
	inParts(func(part, parts int) {
		for i := part; i < sockets; i += parts {
			all[i] = enter(i)
			all[i].acked(all[i].lastFix)
		}
	})
	full := s.usage()
	began := time.Now()
	var changed atomic.Int64
	inParts(func(part, parts int) {
		tick := time.NewTicker(time.Second * time.Duration(parts) / churn)
		defer tick.Stop()
		for i := part; time.Since(began) < lasting; i += parts {
			p := all[i%sockets]
			if i/parts%2 == 0 {
				p.leave()
			} else {
				p.cut()
			}
			all[i%sockets] = enter(i % sockets)
			changed.Add(1)
			<-tick.C
		}
	})
	t.Logf("%d sockets came and went in %v", changed.Load(), time.Since(began).Round(time.Second))
	require.Greater(t, int(changed.Load()), int(lasting.Seconds())*churn/2, "the machine keeps up")
	later := s.usage()
	for _, p := range all {
		p.cut()
	}
	eventually(s, patience, "all are gone", gone)
	// Two caches within bounds grow with what came: the store's of recent rows, by
	// which it knows doubles, and the maps of connections. A connection that stayed
	// would be 2 KB, and its goroutine would show.
	const caches = 8 << 20
	var after usage
	eventually(s, patience, "all is given back", func() bool {
		after = s.usage()
		return after.goroutines <= before.goroutines+4 && after.files <= before.files+10 && after.heap <= before.heap+caches
	})
	t.Logf("before %+v, with %d sockets %+v, after the churn %+v, at the end %+v", before, sockets, full, later, after)
	require.Less(t, later.goroutines, full.goroutines+50)
	require.Less(t, later.files, full.files+50)
	require.Less(t, later.heap, full.heap+16<<20)
	s.alive()
}

// inParts runs do in a few goroutines, and returns when all have ended. The
// number of sockets is a multiple of theirs.
func inParts(do func(part, parts int)) {
	const parts = 8
	var work sync.WaitGroup
	for part := range parts {
		work.Go(func() { do(part, parts) })
	}
	work.Wait()
}
