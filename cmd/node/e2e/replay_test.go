package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replay sends a recording through one WebSocket per user, in the order of the
// file, and watches what each of them sees. After a fix that could matter to
// anybody it waits for the ack, and for everything that the prediction says is
// seen then, so that the next fix cannot overtake.
type replay struct {
	t       testing.TB
	s       *server
	r       rules
	w       warp
	samples []sample
	moments []moment
	at      []float64 // s from the start, by sample
	matters func(fix int) bool

	all       []string // users
	peers     map[string]*peer
	tokens    map[string]string
	unsettled map[string]bool
	sent      []time.Time
	last      map[string]int // fix sent
	late      string         // where real time did not keep the order of the file

	mu   sync.Mutex
	seen map[pair][]sight
	bad  []string
	hear chan struct{} // something was seen
	want map[pair][]string
}

// minGap is between two fixes also when the replay is behind: a node takes 500
// calls a second with one key, and settle makes two.
const minGap = 4 * time.Millisecond

type pair struct{ viewer, friend string }

type sight struct {
	what string // near, or the reason of gone
	when time.Time
}

// newReplay starts a node whose ten minutes take w.stale, with everybody in the
// recording connected and friends of each other.
func newReplay(t testing.TB, r rules, w warp, samples []sample) *replay {
	p := &replay{
		t: t, r: r, samples: samples, moments: r.predict(samples), matters: r.matter(samples),
		all: users(samples), peers: map[string]*peer{}, tokens: map[string]string{}, unsettled: map[string]bool{}, sent: make([]time.Time, len(samples)), last: map[string]int{},
		seen: map[pair][]sight{}, hear: make(chan struct{}, 1), want: map[pair][]string{},
	}
	p.w, p.at = w.fit(t, samples, p.moments, p.matters)
	stale := seconds(w.stale)
	p.s = serve(t, "presence.stale_after="+stale.String(), "presence.fix_interval="+(stale/20).String(),
		"presence.offline_grace="+(stale/20).String(), fmt.Sprintf("presence.radius_m=%v", r.radius))
	p.s.befriend(p.all...)
	for _, user := range p.all {
		p.tokens[user] = token(t, user, time.Hour)
		p.peers[user] = p.s.connect(user, "")
		p.peers[user].mu.Lock()
		p.peers[user].on = func(f frame) { p.watch(user, f) }
		p.peers[user].mu.Unlock()
	}
	return p
}

// watch notes what a frame shows to viewer, who is locked.
func (p *replay) watch(viewer string, f frame) {
	if f.Type == "error" {
		p.fault("%s was told %s", viewer, f.raw)
	}
	if f.Type != "friends" {
		return
	}
	now, view := time.Now(), p.peers[viewer].view
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range f.Near {
		_, was := view[n.User]
		if n.Entered == was {
			p.bad = append(p.bad, fmt.Sprintf("%s sees %s: entered %t, in the view before %t", viewer, n.User, n.Entered, was))
		}
		if n.DistanceM > p.r.exit()+0.01 || n.Entered && n.DistanceM > p.r.radius+0.01 {
			p.bad = append(p.bad, fmt.Sprintf("%s sees %s at %.2f m, entered %t", viewer, n.User, n.DistanceM, n.Entered))
		}
		if n.Entered {
			p.seen[pair{viewer, n.User}] = append(p.seen[pair{viewer, n.User}], sight{"near", now})
		}
	}
	for _, g := range f.Gone {
		p.seen[pair{viewer, g.User}] = append(p.seen[pair{viewer, g.User}], sight{g.Reason, now})
	}
	select {
	case p.hear <- struct{}{}:
	default:
	}
}

func (p *replay) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad = append(p.bad, fmt.Sprintf(format, args...))
}

// run replays all of it. It reports whether real time kept the order of the
// file; if not, the machine was too busy and what was seen proves nothing.
func (p *replay) run(show func(moment)) bool {
	start := time.Now()
	for k, m := range p.moments {
		switch {
		case m.fix >= 0:
			ahead := seconds(p.at[m.fix]) - time.Since(start)
			if most := -seconds(p.w.margin / 4); ahead < most {
				start = start.Add(most - ahead) // no more is made up for: distances would shrink
			}
			wait(max(minGap, ahead))
			p.send(m)
		case p.matters(m.since): // what follows it in the file must follow it here
			wait(seconds(p.w.stale+p.w.margin/4) - time.Since(p.sent[m.since]))
		default:
			continue
		}
		for _, s := range m.sees {
			key := pair{s.viewer, s.friend}
			p.want[key] = append(p.want[key], s.what)
		}
		if !p.await(k) {
			return false
		}
		p.check(m)
		show(m)
	}
	for _, user := range p.all {
		p.peers[user].acked(p.peers[user].lastFix)
		p.peers[user].accepted(obj{"type": "radius", "radius_m": p.r.radius}) // all before it is read
	}
	p.compare()
	return true
}

// send sends the fix of m, and if it could matter to anybody waits until all
// actors have done with it.
func (p *replay) send(m moment) {
	s, q := p.samples[m.fix], p.peers[p.samples[m.fix].user]
	serious := m.first || p.nearby(s)
	if serious {
		p.settle()
	}
	p.sent[m.fix] = time.Now()
	var more obj
	if s.acc > 0 {
		more = obj{"acc": s.acc}
	}
	q.fix(s.lat, s.lng, more)
	p.last[s.user] = m.fix
	p.unsettled[s.user] = true
	if m.first {
		q.match("the first view", func(f frame) bool { return f.Type == "friends" && f.Full })
	}
	if serious {
		p.settle()
	}
}

// settle returns when every fix that was sent has reached its actor, and what
// that told the others has reached theirs. An ack says nothing of the kind: it
// is about history, and comes later.
func (p *replay) settle() {
	if len(p.unsettled) == 0 {
		return
	}
	for user := range p.unsettled { // answered in order, so the fix before it is with its actor
		p.peers[user].accepted(obj{"type": "token", "token": p.tokens[user]})
		p.peers[user].taken()
		delete(p.unsettled, user)
	}
	for range 2 { // asks every actor: after the fix, and after what it was told
		p.s.operator(http.MethodPost, "/v1/presence", obj{"users": p.all}, http.StatusOK)
	}
}

// nearby reports whether anybody is near enough to s, or to where its user was
// before, for the order of their fixes to count.
func (p *replay) nearby(s sample) bool {
	was, known := p.last[s.user]
	for user, i := range p.last {
		if user == s.user {
			continue
		}
		other := p.samples[i]
		if haversine(s.lat, s.lng, other.lat, other.lng) <= 2*p.r.exit() ||
			known && haversine(p.samples[was].lat, p.samples[was].lng, other.lat, other.lng) <= 2*p.r.exit() {
			return true
		}
	}
	return false
}

// await waits for what moment k makes seen. It reports whether by then real time
// has kept the order: whoever is fresh in the file must be fresh by the clock.
func (p *replay) await(k int) bool {
	m := p.moments[k]
	for try := 0; !p.allSeen(m); {
		select {
		case <-p.hear:
			continue
		case <-time.After(200 * time.Millisecond):
		}
		// The actors are done with m, so what they pushed precedes these answers.
		for _, s := range m.sees {
			for range 2 {
				p.peers[s.viewer].accepted(obj{"type": "token", "token": p.tokens[s.viewer]})
			}
		}
		if try++; try == 5 && !p.allSeen(m) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("%.0f s into the file %v was to be seen: %v; faults: %v", p.into(m), m.sees, p.want, p.bad)
		}
	}
	return !p.tooLate(k)
}

// into is how far into the file a moment is, in seconds.
func (p *replay) into(m moment) float64 { return m.t - p.samples[0].t }

func (p *replay) tooLate(k int) bool {
	m, now := p.moments[k], time.Now()
	if m.fix < 0 {
		return false // silences follow each other as the fixes did
	}
	for user, i := range p.last {
		age := now.Sub(p.sent[i])
		if p.samples[i].t+p.r.stale > m.t && age >= seconds(p.w.stale) && p.matters(i) {
			p.late = fmt.Sprintf("%s was silent for %v by the clock and less than ten minutes by the file, %.0f s into it", user, age, p.into(m))
			return true
		}
	}
	return false
}

func (p *replay) allSeen(m moment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range m.sees {
		if len(p.seen[pair{s.viewer, s.friend}]) < len(p.want[pair{s.viewer, s.friend}]) {
			return false
		}
	}
	return true
}

// check compares what m makes seen, and when.
func (p *replay) check(m moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range m.sees {
		key := pair{s.viewer, s.friend}
		got := p.seen[key][len(p.want[key])-1]
		require.Equal(p.t, s.what, got.what, "%v at %.0f s of the file", s, p.into(m))
		if s.what == "stale" {
			require.GreaterOrEqual(p.t, got.when.Sub(p.sent[m.since]), seconds(p.w.stale)-time.Millisecond, "%v too early", s)
		}
	}
}

// compare compares all that was seen with all that was predicted.
func (p *replay) compare() {
	views := map[string][]string{}
	for viewer, q := range p.peers { // before p is locked: watch locks p while its peer is
		q.mu.Lock()
		for friend := range q.view {
			views[viewer] = append(views[viewer], friend)
		}
		q.mu.Unlock()
		slices.Sort(views[viewer])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.bad)
	got := map[pair][]string{}
	for key, list := range p.seen {
		for _, s := range list {
			got[key] = append(got[key], s.what)
		}
	}
	require.Equal(p.t, p.want, got)
	for viewer := range p.peers {
		var left []string
		for key, list := range p.want {
			if key.viewer == viewer && list[len(list)-1] == "near" {
				left = append(left, key.friend)
			}
		}
		slices.Sort(left)
		require.Equal(p.t, left, views[viewer], "the view of %s", viewer)
	}
}

// count counts what a prediction has.
func count(moments []moment) (total int, by map[string]int) {
	by = map[string]int{}
	for _, m := range moments {
		for _, s := range m.sees {
			by[s.what]++
			total++
		}
	}
	return total, by
}
