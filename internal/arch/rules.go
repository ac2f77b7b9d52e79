package arch

// Folder is one row of the table of folders.
type Folder struct {
	Path string   // from the root; "a/..." also stands for everything below a
	Job  string   // its one job
	May  []string // what of the project it may import
	// Test is what its tests may import besides: always the kits that run a
	// contract on it, never more of the product.
	Test []string
}

// all of the project but cmd/node, which R2 forbids.
var everything = []string{"actors/...", "cluster", "geo", "presence", "redisbridge", "store/...", "wire", "gateway", "web", "configs", "cmd/node/...", "sdk/go/kith"}

// Folders is DESIGN section 3: who may import whom. The most exact path counts.
var Folders = []Folder{
	{Path: "geo", Job: "points, distance, cells, the metre grid; pure"},
	{Path: "presence", Job: "the vocabulary: ids, fixes, states, reasons", May: []string{"geo"}},

	{
		Path: "actors", Job: "the actor contract and all that crosses actors",
		May: []string{"presence", "geo"},
	},
	{
		Path: "actors/user", Job: "one user: fix, friends, view, sharing, devices",
		May: []string{"actors", "presence", "geo"}, Test: []string{"actors/actorstest"},
	},
	{
		Path: "actors/room", Job: "one room: peers, last positions, messages",
		May: []string{"actors", "presence", "geo"}, Test: []string{"actors/actorstest"},
	},
	{
		Path: "actors/cell", Job: "one geohash cell: occupants, subscribers, deltas",
		May: []string{"actors", "presence", "geo"}, Test: []string{"actors/actorstest"},
	},
	{
		Path: "actors/reaper", Job: "lease, verdicts, two-phase purge",
		May: []string{"actors", "presence"}, Test: []string{"actors/actorstest", "geo"},
	},
	{
		Path: "actors/host", Job: "runs Cores on protoactor",
		May: []string{"actors", "presence", "internal/stack"}, Test: []string{"actors/actorstest", "geo"},
	},
	{
		Path: "actors/actorstest", Job: "a world of many Cores, seeded; for tests",
		May: []string{"actors", "actors/user", "actors/room", "actors/cell", "actors/reaper", "presence", "geo"},
	},

	{Path: "cluster", Job: "members, ring, links that carry bytes", May: []string{"presence"}},
	{Path: "redisbridge", Job: "all that is kept in Redis", May: []string{"presence", "geo"}},

	{Path: "store", Job: "what is kept on disk, as interfaces", May: []string{"presence", "geo"}},
	{
		Path: "store/sqlite", Job: "the store in one file",
		May: []string{"store", "presence", "geo"}, Test: []string{"store/storetest"},
	},
	{
		Path: "store/postgres", Job: "the store in PostgreSQL",
		May: []string{"store", "presence", "geo"}, Test: []string{"store/storetest"},
	},
	{
		Path: "store/storetest", Job: "the contract that every store must pass; for tests",
		May: []string{"store", "presence", "geo"},
	},

	{
		Path: "wire", Job: "client frames, and actors' messages between nodes",
		May: []string{"presence", "geo", "actors"},
	},
	{
		Path: "gateway", Job: "the WebSocket and HTTP edge; declares the ports it needs",
		May: []string{"presence", "wire", "geo", "internal/stack"},
	},
	{Path: "web", Job: "the map page and the operator's page, embedded"},
	{Path: "sdk/js", Job: "the JavaScript client; its tests run from Go"},
	{Path: "configs", Job: "example configuration, dashboard, unit file"},
	{Path: "sdk/go/kith", Job: "the public Go client; it knows the protocol and nothing of the server"},
	{Path: "cmd/node/...", Job: "the command line, and wiring", May: everything},
	{Path: "bench/...", Job: "benchmarks and the load generator", May: everything},
	{Path: "internal/arch", Job: "this"},
	{Path: "internal/stack", Job: "says where a panic happened, without what was passed"},
	{Path: "internal/testrun", Job: "runs all tests with the services that they ask for"},
}

// Arrow is an import that must not exist.
type Arrow struct {
	From, To []string
	Why      string
}

var cores = []string{"actors/user", "actors/room", "actors/cell", "actors/reaper"}

// Arrows must not exist, whatever Folders comes to say, also not in tests.
var Arrows = []Arrow{
	{
		cores, cores,
		"actors know each other by message only; one that imports another could peek into its state, and they could no longer be moved apart",
	},
	{
		[]string{"cluster"},
		[]string{"actors/...", "store/...", "gateway", "redisbridge"},
		"links carry bytes and the ring places names; a cluster that knows actors would start to decide for them",
	},
	{
		[]string{"redisbridge"},
		[]string{"actors/...", "store/...", "gateway", "cluster"},
		"Redis is a tool of whoever is wired to it; with the actors in sight, rules would end up in scripts",
	},
	{
		[]string{"gateway"},
		[]string{"actors/...", "store/...", "redisbridge", "cluster"},
		"the edge says in ports.go what it needs, so that it can be tested without a node behind it",
	},
	{
		[]string{"actors/...", "presence", "geo"},
		[]string{"store/...", "gateway", "redisbridge", "cluster", "wire", "cmd/node/...", "bench/..."},
		"a Core has no I/O: what it wants done it appends to its Outbox",
	},
	{
		[]string{"store/..."},
		[]string{"actors/...", "gateway", "wire", "redisbridge", "cluster"},
		"a database keeps what it is given; who is live is decided elsewhere",
	},
	{
		[]string{
			"geo", "presence", "actors/...", "cluster", "redisbridge", "store/...", "wire", "gateway", "web",
			"configs", "sdk/go/kith", "internal/...",
		},
		[]string{"cmd/node/...", "bench/..."},
		"wiring is the top; what it needs, it passes down",
	},
}

// ModuleRule says where a module outside the project may be imported.
type ModuleRule struct {
	Module string   // the import path or a prefix of it
	Only   []string // folders
	Tests  bool     // any test file too
	Why    string
}

// kits are packages that exist for tests.
var kits = []string{"actors/actorstest", "store/storetest"}

// measuring may import any module, since it measures them by themselves, beside
// Kith.
const measuring = "bench/..."

// Modules keeps each large dependency in one place, so that it can be replaced
// there.
var Modules = []ModuleRule{
	{"github.com/asynkron/protoactor-go", []string{"actors/host", "cmd/node/..."}, false, "Cores do not know what runs them"},
	{"github.com/redis/go-redis", []string{"redisbridge"}, false, "keys, scripts and error rules for Redis stand in one place"},
	{"github.com/alicebob/miniredis", []string{}, true, "a Redis for unit tests is no Redis"},
	{"github.com/hashicorp/memberlist", []string{"cluster"}, false, "gossip has traps that one package knows"},
	{"google.golang.org/grpc", []string{"cluster"}, false, "the link is an interface; what carries it may change"},
	{"github.com/mmcloughlin/geohash", []string{"geo"}, false, "it is wrong at the poles and at ±180°; geo clamps and validates first"},
	{"github.com/gobwas", []string{"gateway"}, false, "the server's WebSocket has one home"},
	{
		"github.com/coder/websocket",
		[]string{"sdk/go/kith", "cmd/node/...", "bench/..."},
		true,
		"clients use another WebSocket than the server, so that the two check each other",
	},
	{"modernc.org/sqlite", []string{"store/sqlite"}, false, "SQL of one dialect in one place"},
	{"github.com/jackc/pgx", []string{"store/postgres"}, false, "SQL of one dialect in one place"},
	{"github.com/pressly/goose", []string{"store/sqlite", "store/postgres"}, false, "migrations belong to their database"},
	{"github.com/danielgtaylor/huma", []string{"gateway"}, false, "the HTTP API has one home"},
	{"github.com/golang-jwt", []string{"gateway", "cmd/node/..."}, false, "tokens are checked at the edge and made by the command line"},
	{"github.com/knadh/koanf", []string{"cmd/node/..."}, false, "packages get their settings as values"},
	{"github.com/alecthomas/kong", []string{"cmd/node/..."}, false, "the command line is the top's"},
	{"github.com/stretchr/testify", kits, true, "it is for tests"},
	{"pgregory.net/rapid", kits, true, "it is for tests"},
	{"go.uber.org/goleak", kits, true, "it is for tests"},
	{"testing", kits, true, "it is for tests"},
}

// pure are the packages whose code decides and does nothing else.
var pure = []string{"geo", "presence", "actors", "actors/user", "actors/room", "actors/cell", "actors/reaper"}

// coreImports are packages that no Core imports.
var coreImports = map[string]string{
	"context":          "nothing in a Core waits, so nothing is cancelled",
	"database/sql/...": "a Core has no I/O: append an effect",
	"io/...":           "a Core has no I/O: append an effect",
	"bufio":            "a Core has no I/O: append an effect",
	"net/...":          "a Core has no I/O: append an effect",
	"os/...":           "a Core has no I/O: append an effect",
	"syscall":          "a Core has no I/O: append an effect",
	"log/...":          "a Core does not log: count, and let the host say it",
	"expvar":           "a Core has no globals: count in the Outbox",
	"sync":             "a Core has one owner: there is nothing to lock (sync/atomic is free)",
	"runtime/...":      "a Core does not know what runs it",
	"crypto/rand":      "randomness is a field, so that a run can be repeated from its seed",
	"testing":          "this is not a test",
}

// coreCalls are functions that no Core calls, by package.
var coreCalls = map[string]struct {
	names []string // nil = all but those of allowed
	allow []string
	why   string
}{
	"time": {
		names: []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
		why:   "time is an argument of Step; to be woken, append a Timer",
	},
	"math/rand":    {allow: randAllowed, why: "randomness is a field, so that a run can be repeated from its seed"},
	"math/rand/v2": {allow: randAllowed, why: "randomness is a field, so that a run can be repeated from its seed"},
	"fmt":          {names: []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}, why: "a Core has no I/O"},
}

var randAllowed = []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}

// globalCalls are names that stand for hidden global state, by package.
var globalCalls = []struct {
	pkg    string
	names  []string
	except []string // folders that may
	why    string
}{
	{
		"log/slog",
		[]string{"SetDefault", "SetLogLoggerLevel"},
		[]string{"cmd/node"},
		"main alone sets the process's logger; pass a *slog.Logger",
	},
	{
		"log/slog",
		[]string{"Default", "Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "DebugContext", "InfoContext", "WarnContext", "ErrorContext"},
		[]string{"cmd/node"},
		"log to the *slog.Logger that was passed",
	},
	{
		"log",
		[]string{"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "SetOutput", "SetFlags", "SetPrefix", "Default"},
		nil, "log to the *slog.Logger that was passed",
	},
	{
		"runtime/debug",
		[]string{"Stack", "PrintStack"},
		nil, "it prints the words of arguments, which may be positions; internal/stack does not",
	},
	{"net/http", []string{"DefaultServeMux", "Handle", "HandleFunc"}, nil, "make a ServeMux; the default one is open to every import"},
	{"net/http", []string{"Get", "Post", "PostForm", "Head"}, nil, "make a request with a context; these wait for ever"},
	{
		"github.com/prometheus/client_golang/prometheus",
		[]string{"DefaultRegisterer", "DefaultGatherer", "MustRegister", "Register", "Unregister"},
		nil, "register with the registry that was passed; two nodes in one test share the default one",
	},
	{
		"github.com/prometheus/client_golang/prometheus/promauto",
		[]string{"NewCounter", "NewCounterVec", "NewCounterFunc", "NewGauge", "NewGaugeVec", "NewGaugeFunc", "NewHistogram", "NewHistogramVec", "NewSummary", "NewSummaryVec"},
		nil, "use promauto.With(registry)",
	},
	{"github.com/prometheus/client_golang/prometheus/promhttp", []string{"Handler"}, nil, "use HandlerFor(registry)"},
}

// changedVars are package variables that functions may change, with the reason.
var changedVars = map[string]string{}

// inits are files that may have an init function, with the reason.
var inits = map[string]string{
	"gateway/http_problem.go": "huma takes the constructor of its errors from a package variable only, and two servers in one test would race to set it",
}

// Sizes, in lines.
const (
	maxFile         = 600
	maxCoreFunction = 60
	maxFunction     = 100
)

// longFunctions may be longer, with the reason: "path:name".
var longFunctions = map[string]string{}

// sleepers are test files that may sleep in real time, with the reason, as
// patterns of path.Match.
var sleepers = map[string]string{
	"bench/*_test.go":         "benchmarks run on real threads and real clocks",
	"*/*/*bench_test.go":      "benchmarks run on real threads and real clocks",
	"gateway/socket_*test.go": "real sockets: the kernel's buffers and deadlines are in no bubble",
	"gateway/http_*test.go":   "real sockets: the kernel's buffers and deadlines are in no bubble",
	"web/node_test.go":        "a real node says how long to wait",
	"cmd/node/*e2e_test.go":   "whole nodes over real sockets, where for a while nothing must happen",
}
