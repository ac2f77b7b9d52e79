package arch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestR1_imports_follow_the_table(t *testing.T) {
	runCases(t, CheckFolders, []breachCase{
		{"allowed", "actors/user/state.go", importing("kith/actors", "kith/presence", "kith/geo", "time"), nil},
		{"geo imports nothing", "geo/x.go", importing("kith/presence"), []string{"geo imports presence, but may import only []"}},
		{"a core and the store", "actors/user/x.go", importing("kith/store"), []string{"actors/user/x.go:5", "move the code"}[:1]},
		{"wire and the gateway", "wire/x.go", importing("kith/gateway"), []string{"wire imports gateway"}},
		{"a kit in a test", "actors/user/x_test.go", importing("kith/actors/actorstest"), nil},
		{"a kit outside of tests", "actors/user/x.go", importing("kith/actors/actorstest"), []string{"imports actors/actorstest"}},
		{"a kit of another", "cluster/x_test.go", importing("kith/store/storetest"), []string{"imports store/storetest"}},
		{"the top takes all", "cmd/node/x.go", importing("kith/gateway", "kith/store/sqlite", "kith/actors/user", "kith/cmd/node/config"), nil},
		{"below the top", "cmd/node/config/x.go", importing("kith/presence"), nil},
		{"an external test and its own package", "geo/x_test.go", importing("kith/geo"), nil},
		{"a new folder", "presence/history/x.go", importing(), []string{"presence/history: this folder is new"}},
		{"a new folder at the root", "tools/x.go", importing(), []string{"tools: this folder is new"}},
		{"testdata is no code", "geo/testdata/x.go", importing("kith/gateway"), nil},
	})
}

func TestR1_a_new_folder_is_said_once(t *testing.T) {
	requireBreaches(t, CheckFolders(tree(t, map[string]string{"new/a.go": importing(), "new/b.go": importing()})), "add it to Folders")
}

func TestR1_the_table_has_each_folder_once_with_its_job(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Folders {
		require.False(t, seen[f.Path], "%s twice", f.Path)
		seen[f.Path] = true
		require.NotEmpty(t, f.Job, f.Path)
	}
	got, ok := folderOf("cmd/node/config")
	require.True(t, ok)
	require.Equal(t, "cmd/node/...", got.Path)
	_, ok = folderOf("cmd/other")
	require.False(t, ok)
}

// The two tables must not contradict each other: nothing that Folders allows is
// forbidden by Arrows.
func TestR1_R2_the_tables_agree(t *testing.T) {
	for _, f := range Folders {
		for _, to := range append(f.May, f.Test...) {
			for _, arrow := range Arrows {
				if f.Path == "actors/actorstest" {
					continue // it runs Cores, and is none
				}
				require.False(t, matchesAny(arrow.From, f.Path) && matchesAny(arrow.To, to), "%s → %s", f.Path, to)
			}
		}
	}
}

func TestR2_arrows_that_must_not_exist(t *testing.T) {
	for _, from := range cores {
		for _, to := range cores {
			if from == to {
				continue
			}
			requireBreaches(t, CheckArrows(tree(t, map[string]string{from + "/x.go": importing("kith/" + to)})), "by message only")
			requireBreaches(t, CheckArrows(tree(t, map[string]string{from + "/x_test.go": importing("kith/" + to)})), "by message only")
		}
	}
	runCases(t, CheckArrows, []breachCase{
		{"cluster and actors", "cluster/x.go", importing("kith/actors"), []string{"links carry bytes"}},
		{"cluster and an actor", "cluster/x.go", importing("kith/actors/user"), []string{"links carry bytes"}},
		{"redisbridge and actors", "redisbridge/x.go", importing("kith/actors"), []string{"Redis is a tool"}},
		{"gateway and actors", "gateway/x.go", importing("kith/actors"), []string{"ports.go"}},
		{"gateway's test and the host", "gateway/x_test.go", importing("kith/actors/host"), []string{"ports.go"}},
		{"a store and the gateway", "store/sqlite/x.go", importing("kith/gateway"), []string{"a database keeps"}},
		{"presence and the store", "presence/x.go", importing("kith/store"), []string{"a Core has no I/O"}},
		{"the top", "gateway/x.go", importing("kith/cmd/node"), []string{"wiring is the top"}},
		{"below the top", "web/x.go", importing("kith/cmd/node/config"), []string{"wiring is the top"}},
		{"the top itself", "cmd/node/x.go", importing("kith/cmd/node/config", "kith/actors/user"), nil},
	})
}

func TestR3_modules_in_their_one_place(t *testing.T) {
	const (
		proto = "github.com/asynkron/protoactor-go/actor"
		redis = "github.com/redis/go-redis/v9"
	)
	runCases(t, CheckModules, []breachCase{
		{"protoactor in the host", "actors/host/x.go", importing(proto), nil},
		{"protoactor in the top", "cmd/node/x.go", importing(proto), nil},
		{"protoactor in a core", "actors/user/x.go", importing(proto), []string{"Cores do not know what runs them"}},
		{"protoactor in a core's test", "actors/user/x_test.go", importing(proto), []string{"Cores do not know"}},
		{"redis in the bridge", "redisbridge/x.go", importing(redis), nil},
		{"redis in the top", "cmd/node/x.go", importing(redis), []string{"only [redisbridge] may"}},
		{"redis measured by itself", "bench/peer_test.go", importing(redis), nil},
		{"a prefix is not a module", "wire/x.go", importing("github.com/redis/go-redis-other"), nil},
		{"testify in a test", "wire/x_test.go", importing("github.com/stretchr/testify/require"), nil},
		{"testify in a kit", "store/storetest/x.go", importing("github.com/stretchr/testify/require", "testing"), nil},
		{"testify in the product", "wire/x.go", importing("github.com/stretchr/testify/require"), []string{"and tests] may"}},
		{"miniredis in the product", "redisbridge/x.go", importing("github.com/alicebob/miniredis/v2"), []string{"[and tests] may"}},
		{"geohash outside of geo", "actors/cell/x.go", importing("github.com/mmcloughlin/geohash"), []string{"geo clamps"}},
	})
}
