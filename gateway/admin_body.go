package gateway

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// StatsBody is what GET /v1/stats answers. Rates are a second, over the last
// WindowS seconds; latencies seconds, null if nothing was measured.
type StatsBody struct {
	At       presence.Millis `json:"at"`
	WindowS  float64         `json:"window_s"`
	Node     NodeStats       `json:"node"`
	Live     LiveStats       `json:"live"`
	History  HistoryStats    `json:"history"`
	Process  ProcessStats    `json:"process"`
	Refusals []Refused       `json:"refusals"`
	Closes   []Refused       `json:"closes"`
	Queues   []QueueStats    `json:"queues"`
	Series   SeriesStats     `json:"series"`
}

// NodeStats says what runs.
type NodeStats struct {
	Instance string          `json:"instance"`
	State    string          `json:"state"` // "serving", or why it is not ready
	Version  string          `json:"version"`
	Go       string          `json:"go"`
	Started  presence.Millis `json:"started"`
	UptimeS  float64         `json:"uptime_s"`
}

// LiveStats is the live path.
type LiveStats struct {
	Connections int           `json:"connections"`
	Users       int           `json:"users"`
	States      SampledStates `json:"users_by_state_sampled"`
	Fixes       float64       `json:"fixes_per_s"`
	Owed        float64       `json:"owed_per_s"`
	Avoided     float64       `json:"avoided_per_s"`
	Ack50       *float64      `json:"ack_p50_s"`
	Ack99       *float64      `json:"ack_p99_s"`
	Push50      *float64      `json:"push_p50_s"`
	Push99      *float64      `json:"push_p99_s"`
}

// SampledStates counts the users of a random sample by state: of all, where
// Of = users.
type SampledStates struct {
	Of    int `json:"of"`
	Live  int `json:"live"`
	Idle  int `json:"idle"`
	Stale int `json:"stale"`
}

// HistoryStats is the way of fixes to the disk.
type HistoryStats struct {
	LagS      float64 `json:"lag_s"`
	Rows      int     `json:"queued_rows"`
	Committed float64 `json:"committed_per_s"`
	Failures  int     `json:"commit_failures"`
}

// ProcessStats is the process. Memory in bytes, 0 = not known.
type ProcessStats struct {
	Resident   int64   `json:"resident_bytes"`
	Heap       int64   `json:"heap_bytes"`
	Limit      int64   `json:"limit_bytes"` // 0 = none
	Goroutines int     `json:"goroutines"`
	Files      int     `json:"open_files"`
	MostFiles  int     `json:"most_files"`
	Cores      float64 `json:"cpu_cores"` // busy on average
	AllCores   int     `json:"all_cores"`
}

// Refused is one kind of refusal, or of close.
type Refused struct {
	Kind     string  `json:"kind"` // "close"; "upgrade", "message", "fix", "actor", "http"
	Code     string  `json:"code"`
	Name     string  `json:"name"` // of a close code
	Sentence string  `json:"sentence"`
	Anchor   string  `json:"anchor"` // of its description; "" = there is none
	Total    int     `json:"total"`
	Rate     float64 `json:"per_s"`
}

// QueueStats is one queue.
type QueueStats struct {
	Name  string `json:"name"`
	Depth int    `json:"depth"`
	Bound int    `json:"bound"` // 0 = none of its own
	Drops *int   `json:"drops"` // null = nothing is dropped
	Full  string `json:"full"`
}

// SeriesStats is the history, by columns: each value is over the EveryS seconds
// before its time.
type SeriesStats struct {
	EveryS      float64           `json:"every_s"`
	At          []presence.Millis `json:"at"`
	Connections []float64         `json:"connections"`
	Users       []float64         `json:"users"`
	Fixes       []float64         `json:"fixes_per_s"`
	Owed        []float64         `json:"owed_per_s"`
	Avoided     []float64         `json:"avoided_per_s"`
	Ack50       []*float64        `json:"ack_p50_s"`
	Ack99       []*float64        `json:"ack_p99_s"`
	Push50      []*float64        `json:"push_p50_s"`
	Push99      []*float64        `json:"push_p99_s"`
	Resident    []float64         `json:"resident_bytes"`
	Lag         []float64         `json:"lag_s"`
}

func (s *Stats) body(since presence.Millis) StatsBody {
	s.mu.Lock()
	i, sample, moments := s.window(), s.sample, s.since(since)
	s.mu.Unlock()
	p := momentOf(i)
	now := i.to
	b := StatsBody{
		At: p.at, WindowS: rounded(i.seconds()), Node: s.node(now),
		Live: LiveStats{
			Connections: int(p.connections), Users: int(p.users), States: SampledStates(sample),
			Fixes: rounded(p.fixes), Owed: rounded(p.owed), Avoided: rounded(p.avoided),
			Ack50: p.ack50, Ack99: p.ack99, Push50: p.push50, Push99: p.push99,
		},
		History: HistoryStats{
			LagS: rounded(p.lag), Rows: int(now.sum("kith_history_queued_rows")),
			Committed: rounded(i.rate("kith_history_committed_rows_total")),
			Failures:  int(now.sum("kith_history_commit_failures_total")),
		},
		Process: processOf(i), Refusals: refusals(i), Closes: closes(i),
		Series: series(moments, s.cfg.Every.Seconds()*float64(s.cfg.Window)),
	}
	for _, q := range s.cfg.Queues {
		b.Queues = append(b.Queues, queueOf(now, q))
	}
	return b
}

func (s *Stats) node(now reading) NodeStats {
	state := s.cfg.Ready.NotReady()
	if state == "" {
		state = "serving"
	}
	return NodeStats{
		Instance: s.cfg.Instance, State: state, Version: s.cfg.Version, Go: runtime.Version(),
		Started: millis(s.began), UptimeS: rounded(now.at.Sub(s.began).Seconds()),
	}
}

func processOf(i interval) ProcessStats {
	now := i.to
	p := ProcessStats{
		Resident: int64(now.sum("process_resident_memory_bytes")), Heap: int64(now.sum("go_memstats_heap_alloc_bytes")),
		Goroutines: int(now.sum("go_goroutines")), Files: int(now.sum("process_open_fds")), MostFiles: int(now.sum("process_max_fds")),
		Cores: rounded(i.rate("process_cpu_seconds_total")), AllCores: runtime.GOMAXPROCS(0),
	}
	if limit := now.sum("go_gc_gomemlimit_bytes"); limit < math.MaxInt64/2 { // beyond: none is set
		p.Limit = int64(limit)
	}
	return p
}

func queueOf(now reading, q Queue) QueueStats {
	out := QueueStats{Name: q.Name, Depth: int(now.sum(q.Depth[0], q.Depth[1:]...)), Bound: q.Bound, Full: q.Full}
	if q.Drops != nil {
		drops := int(now.sum(q.Drops[0], q.Drops[1:]...))
		out.Drops = &drops
	}
	return out
}

// closes lists how connections ended, by code.
func closes(i interval) []Refused {
	return counted(i, "close", "kith_closes_total", "code", func(r *Refused) {
		code, _ := strconv.Atoi(r.Code)
		if info, ok := wire.CloseInfo(presence.CloseCode(code)); ok {
			r.Name, r.Sentence, r.Anchor = info.Name, info.Sentence, info.Anchor
			return
		}
		named := strayCloses[r.Code]
		r.Name, r.Sentence = named[0], named[1]
	})
}

// strayCloses are the ends that are no close code of Kith's.
var strayCloses = map[string][2]string{
	"1001":  {"going_away", "The client left: a page was closed."},
	"1005":  {"no_code", "The client closed without a code."},
	"1006":  {"broken", "The connection broke without a close frame."},
	"other": {"other", "The client closed with a code of its own."},
}

// upgradeSentences say why a WebSocket was refused before it began.
var upgradeSentences = map[string]string{
	"not_ready":   "The node is starting, draining, or its database is away.",
	"origin":      "A browser page of an origin that is not in gateway.origins.",
	"subprotocol": "The client asks for a subprotocol other than " + Subprotocol + ".",
	"rate":        "Too many new connections at once; clients are told when to come back.",
	"full":        "There are as many connections as the limit of open files allows.",
	"handshake":   "The request is no WebSocket handshake.",
}

// dropSentences say why a message reached no actor.
var dropSentences = map[string]string{
	"no_actor":     "The user is offline; what changed is read when they return.",
	"stale_answer": "The user left and came back before the answer.",
	"mailbox_full": "An actor has too much to do.",
	"closed":       "The node is stopping.",
	"not_started":  "An actor could not be started.",
}

// refusals lists what was refused, by kind and code.
func refusals(i interval) []Refused {
	byCode := map[string]wire.CodeInfo{}
	for _, c := range wire.Codes() {
		byCode[c.String()] = c.Info()
	}
	describe := func(r *Refused) { r.Sentence, r.Anchor = byCode[r.Code].Sentence, byCode[r.Code].Anchor }
	all := counted(i, "upgrade", "kith_refused_upgrades_total", "reason", func(r *Refused) { r.Sentence = upgradeSentences[r.Code] })
	all = append(all, counted(i, "message", "kith_errors_total", "code", describe)...)
	all = append(all, counted(i, "fix", "kith_refused_fixes_total", "code", describe)...)
	all = append(all, counted(i, "actor", "kith_messages_dropped_total", "reason", func(r *Refused) { r.Sentence = dropSentences[r.Code] })...)
	return append(all, counted(i, "http", "kith_http_requests_total", "status", func(r *Refused) {
		status, _ := strconv.Atoi(r.Code)
		if r.Sentence = http.StatusText(status); status < http.StatusBadRequest {
			r.Total = 0
		}
	})...)
}

// counted lists the values of a label that were counted at all, in order.
func counted(i interval, kind, name, label string, describe func(*Refused)) []Refused {
	then, now := i.from.by(name, label), i.to.by(name, label)
	all := make([]Refused, 0, len(now))
	for _, code := range slices.SortedFunc(maps.Keys(now), cmp.Compare[string]) {
		r := Refused{Kind: kind, Code: code, Total: int(now[code]), Rate: rounded(i.perSecond(now[code] - then[code]))}
		if describe(&r); r.Total > 0 {
			all = append(all, r)
		}
	}
	return all
}

func series(moments []moment, every float64) SeriesStats {
	s := SeriesStats{EveryS: every}
	for _, p := range moments {
		s.At = append(s.At, p.at)
		s.Connections = append(s.Connections, p.connections)
		s.Users = append(s.Users, p.users)
		s.Fixes = append(s.Fixes, rounded(p.fixes))
		s.Owed = append(s.Owed, rounded(p.owed))
		s.Avoided = append(s.Avoided, rounded(p.avoided))
		s.Ack50, s.Ack99 = append(s.Ack50, p.ack50), append(s.Ack99, p.ack99)
		s.Push50, s.Push99 = append(s.Push50, p.push50), append(s.Push99, p.push99)
		s.Resident = append(s.Resident, p.memory)
		s.Lag = append(s.Lag, rounded(p.lag))
	}
	return s
}

// rounded leaves off what nobody reads.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
