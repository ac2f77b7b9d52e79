package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// The rows of the kill test are a function of their number, so that parent and
// child need not tell each other more than how far the child has come.
const (
	killUsers   = 50
	killDevices = 2
	killGroup   = 37
)

func killBatch(i int) *presence.Batch {
	user := presence.UserID(i*7919%killUsers + 1)
	none := presence.Unset()
	return &presence.Batch{
		User: user, Device: presence.DeviceID(strconv.Itoa(i % killDevices)),
		Fixes: []presence.Fix{{
			At: geo.Point{Lat: int32(i)}, Seq: uint64(i),
			TS:       presence.Millis(1_760_000_000_000 + i - i%5*300), // not in order
			Accuracy: float32(i), Altitude: none, Speed: none, Heading: none, Battery: none,
		}},
	}
}

func killGroupAt(first int) (group []*presence.Batch) {
	for i := first; i < first+killGroup; i++ {
		group = append(group, killBatch(i))
	}
	return group
}

const (
	envKillPath  = "KITH_KILL_PATH"
	envKillFrom  = "KITH_KILL_FROM"
	envKillRound = "KITH_KILL_ROUNDS"
)

// TestKillChild is the process that the parent kills. It appends groups for ever
// and prints the number of the first row after each that is durable.
func TestKillChild(t *testing.T) {
	path := os.Getenv(envKillPath)
	if path == "" {
		t.Skip("runs as a child of TestS4_KilledAtAnyMoment")
	}
	from, err := strconv.Atoi(os.Getenv(envKillFrom))
	require.NoError(t, err)
	db, err := Open(context.Background(), path, tiny)
	require.NoError(t, err)
	for {
		require.NoError(t, db.Append(context.Background(), killGroupAt(from)))
		from += killGroup
		fmt.Println("durable", from)
	}
}

// TestS4_KilledAtAnyMoment: what was acknowledged is there after kill -9, and
// what was sent again because its acknowledgement was lost is there once.
func TestS4_KilledAtAnyMoment(t *testing.T) {
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv(envKillRound)); err == nil {
		rounds = n
	}
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	for i := range killUsers {
		u, _, err := db.Ensure(t.Context(), presence.PublicID(fmt.Sprint("u", i)), 1)
		require.NoError(t, err)
		require.Equal(t, presence.UserID(i+1), u.ID)
	}
	require.NoError(t, db.Close())
	durable := 0
	for round := range rounds {
		durable = killOne(t, path, durable)
		db, err := Open(t.Context(), path, tiny)
		require.NoError(t, err)
		// The group whose acknowledgement the kill may have cut off comes again,
		// and an older one as well.
		require.NoError(t, db.Append(t.Context(), killGroupAt(durable)))
		if durable > 0 {
			require.NoError(t, db.Append(t.Context(), killGroupAt(rand.IntN(durable)/killGroup*killGroup)))
		}
		durable += killGroup
		requireKillRows(t, db, durable, round)
		require.NoError(t, db.Close())
	}
	require.Greater(t, durable, 10*rounds, "children had no time to write anything")
}

// killOne runs a child, kills it at a random moment, and returns what it said
// was durable.
func killOne(t *testing.T, path string, from int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillChild$")
	cmd.Env = append(os.Environ(), envKillPath+"="+path, envKillFrom+"="+strconv.Itoa(from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if n, err := fmt.Sscanf(lines.Text(), "durable %d", &from); n == 1 && err == nil {
			// From the first sign of life on, it has 0 to 150 ms to live.
			kill.Reset(time.Duration(rand.IntN(150_000)) * time.Microsecond)
			break
		}
	}
	for lines.Scan() {
		// A line that the kill cut off is no acknowledgement.
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "durable %d", &n); err == nil && n == from+killGroup {
			from = n
		}
	}
	require.Error(t, cmd.Wait(), "it was killed")
	return from
}

func requireKillRows(t *testing.T, db *DB, n, round int) {
	t.Helper()
	want := make(map[presence.UserID]map[uint64]bool)
	for i := range n {
		b := killBatch(i)
		if want[b.User] == nil {
			want[b.User] = make(map[uint64]bool)
		}
		want[b.User][uint64(i)] = true
	}
	for user, seqs := range want {
		got := make(map[uint64]bool)
		q := store.HistoryQuery{User: user, Limit: store.MaxPage}
		for {
			page, err := db.Query(t.Context(), q)
			require.NoError(t, err)
			for _, row := range page.Rows {
				require.False(t, got[row.Fix.Seq], "round %d: row %d is there twice", round, row.Fix.Seq)
				got[row.Fix.Seq] = true
				require.Equal(t, killBatch(int(row.Fix.Seq)).Fixes[0].TS, row.Fix.TS)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		// A group that was committed and not acknowledged may be there as well:
		// it is the one that was sent again.
		require.Equal(t, seqs, got, "round %d, user %d", round, user)
	}
}
