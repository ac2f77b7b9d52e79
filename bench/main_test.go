package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain runs the tests, or plays the part of another process: benchmarks that
// need one start this program again.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if rate := fromEnv(rateVariable, 0, strconv.Atoi); rate > 0 {
			runtime.MemProfileRate = rate
		}
		if err := play(role); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	fmt.Print(results.text())
	if err := results.document(os.Getenv("KITH_BENCH_DOC"), code == 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
