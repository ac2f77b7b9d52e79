package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/presence"
)

// rateVariable sets how many bytes a child allocates between two samples of its
// heap profile.
const rateVariable = "KITH_BENCH_PROFILE_RATE"

// memoryUse is what a process holds, in bytes.
type memoryUse struct {
	Heap  uint64 // live objects
	Spans uint64 // the heap's spans that hold them
	Stack uint64
	RSS   uint64
}

// memoryNow is what this process holds once its garbage is collected and its
// free memory given back.
func memoryNow() memoryUse {
	for range 3 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memoryUse{Heap: m.HeapAlloc, Spans: m.HeapInuse, Stack: m.StackInuse, RSS: residentBytes()}
}

func residentBytes() uint64 {
	var size, resident uint64
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &resident)
	}
	if err != nil {
		return 0
	}
	return resident * uint64(os.Getpagesize())
}

func (m memoryUse) minus(o memoryUse) memoryUse {
	return memoryUse{m.Heap - o.Heap, m.Spans - o.Spans, m.Stack - o.Stack, m.RSS - min(o.RSS, m.RSS)}
}

// memoryReport is what the process that holds a town says of it.
type memoryReport struct {
	Growth  memoryUse
	Users   int
	Friends int
	Near    int
	Top     []holder
}

// holder is a place in the code and what was allocated there and is alive.
type holder struct {
	Where string
	Bytes float64
}

// playMemory brings a town online, lets everybody walk on, and says how much
// memory that takes. The friendships stand outside, as they would in a store.
func playMemory(start json.RawMessage, ask func(any) (json.RawMessage, error)) error {
	var users int
	if err := json.Unmarshal(start, &users); err != nil {
		return err
	}
	t := newTown(users, degree, 4, perVillage)
	clients := newSink(0)
	s, err := newStage(t, forgetful{}, clients)
	if err != nil {
		return err
	}
	before, held := memoryNow(), holding()
	ctx := context.Background()
	if err := s.arrive(ctx); err != nil {
		return err
	}
	for range 3 {
		for i := range t.homes {
			s.fix(i)
		}
		if err := s.host.Quiesce(ctx); err != nil {
			return err
		}
	}
	report := memoryReport{Growth: memoryNow().minus(before), Users: users, Top: holders(held)}
	for i := range t.homes {
		got, err := s.host.Ask(ctx, actors.User(presence.UserID(i+1)), func(a actors.Ask) actors.Message { return &actors.Inspect{Ask: a} })
		if err != nil {
			return err
		}
		snapshot := got.(user.Snapshot)
		report.Friends += snapshot.Online
		report.Near += len(snapshot.Near)
	}
	if _, err := ask(report); err != nil {
		return nil
	}
	return s.close()
}

// forgetful is clients who keep nothing.
type forgetful struct{}

func (forgetful) Welcome(presence.ConnID, *presence.Welcome) {}
func (forgetful) Push(presence.ConnID, *presence.Change)     {}
func (forgetful) Notify(presence.ConnID, presence.Notice)    {}
func (forgetful) Close(presence.ConnID, presence.CloseCode)  {}

// holding reads the heap profile: how many bytes live of what each line of Kith
// allocated. The profile is a sample, from which the whole is estimated.
func holding() map[string]float64 {
	n, _ := runtime.MemProfile(nil, false)
	records := make([]runtime.MemProfileRecord, n+100)
	n, _ = runtime.MemProfile(records, false)
	sums := map[string]float64{}
	for _, r := range records[:n] {
		where := firstOurs(r.Stack())
		if where == "" || r.InUseObjects() == 0 {
			continue
		}
		bytes := float64(r.InUseBytes())
		each := bytes / float64(r.InUseObjects())
		sums[where] += bytes / (1 - math.Exp(-each/float64(runtime.MemProfileRate)))
	}
	return sums
}

// holders is who holds most of what has come since before.
func holders(before map[string]float64) []holder {
	var all []holder
	for where, bytes := range holding() {
		all = append(all, holder{where, bytes - before[where]})
	}
	slices.SortFunc(all, func(a, b holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all[:min(len(all), 12)]
}

func logHolders(b *testing.B, top []holder, of int) {
	for _, h := range top {
		b.Logf("%8.1f B  %s", h.Bytes/float64(of), h.Where)
	}
}

// firstOurs is the first function of Kith in a stack.
func firstOurs(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if name, ours := strings.CutPrefix(f.Function, "github.com/kith-nearby/kith/"); ours {
			return fmt.Sprintf("%s:%d", name, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// BenchmarkUserMemory is the heap that a user online takes, all included, with
// 40 friends online of whom 4 are in range, and one connection.
func BenchmarkUserMemory(b *testing.B) {
	const goal = 2048
	var r memoryReport
	startChild(b, "memory", townUsers, &r, rateVariable+"=4096").stop()
	if r.Users != townUsers || r.Friends < 39*r.Users || r.Near < 39*r.Users/10 {
		b.Fatalf("%d users have %d friends online, %d near", r.Users, r.Friends, r.Near)
	}
	perUser := func(bytes uint64) float64 { return float64(bytes) / float64(r.Users) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(perUser(r.Growth.Heap), "B/user")
	b.ReportMetric(perUser(r.Growth.Spans), "span-B/user")
	b.ReportMetric(perUser(r.Growth.RSS), "rss-B/user")
	if testing.Verbose() {
		b.Logf("a user: %s", sizes())
		logHolders(b, r.Top, r.Users)
	}
	results.add(figure{
		Name: "heap of a user online, 40 friends online, 4 in range", Unit: "B", Value: perUser(r.Growth.Heap),
		Goal: "≤ 2 048 B", Met: perUser(r.Growth.Heap) <= goal,
	})
}

// sizes lists what a user is made of, with the unexported parts by reflection.
func sizes() string {
	list := fmt.Sprintf("State %d B, Position %d B, Told %d B", unsafe.Sizeof(user.State{}), unsafe.Sizeof(presence.Position{}), unsafe.Sizeof(actors.Told{}))
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			switch f := t.Field(i); {
			case f.Type.Kind() == reflect.Slice:
				list += fmt.Sprintf(", each of %s %d B", f.Name, f.Type.Elem().Size())
			case f.Anonymous && f.Type.Kind() == reflect.Struct:
				walk(f.Type)
			case f.Type.Kind() == reflect.Pointer && strings.HasPrefix(f.Type.Elem().PkgPath(), "github.com/kith-nearby/kith/actors/user"):
				list += fmt.Sprintf(", %s %d B", f.Name, f.Type.Elem().Size())
			}
		}
	}
	walk(reflect.TypeFor[user.State]())
	return list
}
