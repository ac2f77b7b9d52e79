package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// leakChecked runs the tests and fails if they leave a goroutine behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestMain makes the test binary serve as the kith command too, for scripts and
// for tests of real processes.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"kith": main})
}
