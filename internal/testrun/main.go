// Command testrun runs `go test` with all that the tests ask for.
//
//	go run ./internal/testrun [-ci] [-race] [-- go test arguments]
//
// Tests that need a service name an environment variable (services.go has the
// list). testrun looks which of them occur in test files, starts those services
// and no others, on spare loopback ports with their data in temporary folders,
// and stops them at the end. A service whose variable is set already is taken as
// it is. What is not installed is installed from Debian's packages where testrun
// may do that; else the tests that need it skip themselves.
//
// It prints go's line for each package, the output of tests that failed, which
// tests were skipped and why, and one line of totals. It exits 0 only if all
// passed; with -ci a skipped test counts as failed, and so does a race detector
// that cannot be had.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ci := flag.Bool("ci", os.Getenv("CI") != "", "skipped tests fail")
	race := flag.Bool("race", false, "with the race detector, where there is a C compiler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, os.Stdout, options{ci: *ci, race: *race, args: flag.Args()})
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

type options struct {
	ci, race bool
	args     []string // of go test
}

// raceFlags leave SQLite itself, C code turned into Go, without race detection: it
// has no goroutines, and with it the store's tests take twice as long. What
// calls it is watched.
var raceFlags = []string{"-race", "-gcflags=modernc.org/sqlite/lib=-race=false", "-gcflags=modernc.org/libc=-race=false"}

func run(ctx context.Context, out io.Writer, o options) (ok bool, err error) {
	args := []string{"test", "-json"}
	if o.race {
		switch have := haveCompiler(ctx, out); {
		case have:
			args = append(args, raceFlags...)
		case o.ci:
			return false, errors.New("the race detector needs a C compiler: install gcc")
		default:
			fmt.Fprintln(out, "no C compiler here, so no race detector")
		}
	}
	dir, err := os.MkdirTemp("", "kith-test-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	env, stop, err := startAll(ctx, out, dir, o.ci)
	defer stop()
	if err != nil {
		return false, err
	}
	if err := npmInstall(ctx, out, ".", o.ci); err != nil {
		return false, err
	}
	return goTest(ctx, out, append(args, o.args...), env, o.ci)
}

// startAll starts what the test files below the working directory ask for, and
// returns the environment that says where it is. stop is never nil.
func startAll(ctx context.Context, out io.Writer, dir string, ci bool) (env []string, stop func(), err error) {
	var running []*process
	stop = func() {
		for _, p := range running {
			p.stop()
		}
	}
	asked, err := askedFor(os.DirFS("."))
	if err != nil {
		return nil, stop, err
	}
	for _, t := range tools {
		if !asked[t.program] {
			continue
		}
		if have := obtain(ctx, out, t.program, t.packages); !have && ci {
			return nil, stop, fmt.Errorf("tests run %s, and it is not installed", t.program)
		}
	}
	for _, s := range services {
		if !asked[s.variable] || os.Getenv(s.variable) != "" {
			continue
		}
		if !obtain(ctx, out, s.program, s.packages) {
			if ci {
				return nil, stop, fmt.Errorf("tests ask for %s, and %s is not installed", s.variable, s.program)
			}
			continue
		}
		p, url, err := s.start(ctx, filepath.Join(dir, s.program))
		if err != nil {
			return nil, stop, fmt.Errorf("start %s: %w", s.program, err)
		}
		running = append(running, p)
		env = append(env, s.variable+"="+url)
		fmt.Fprintf(out, "started %s for the tests\n", s.program)
	}
	return env, stop, nil
}

// obtain reports whether a program is there, after trying to install it.
func obtain(ctx context.Context, out io.Writer, program string, packages []string) bool {
	if find(program) == "" {
		install(ctx, out, packages...)
	}
	if find(program) == "" {
		fmt.Fprintf(out, "%s is not installed: tests that need it are skipped\n", program)
		return false
	}
	return true
}

// goTest runs go with args and reports on it; ok says that all passed.
func goTest(ctx context.Context, out io.Writer, args, env []string, ci bool) (ok bool, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = out
	// go does not pass a signal on to the tests that it runs: the group gets it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopWithin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return false, err
	}
	report := newReport(out)
	readErr := report.read(stdout)
	exit := cmd.Wait()
	report.totals(time.Since(began))
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what did not listen
		return false, errors.New("interrupted")
	}
	if readErr != nil {
		return false, readErr
	}
	if ci && len(report.skipped) > 0 {
		fmt.Fprintln(out, "FAIL: in CI nothing may be skipped")
		return false, nil
	}
	return exit == nil && report.failed == 0, nil
}

// haveCompiler reports whether cgo works, after trying to install a compiler.
func haveCompiler(ctx context.Context, out io.Writer) bool {
	find := func() bool {
		cc, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
		fields := strings.Fields(string(cc))
		if err != nil || len(fields) == 0 {
			return false
		}
		_, err = exec.LookPath(fields[0])
		return err == nil
	}
	if find() {
		return true
	}
	install(ctx, out, "gcc", "libc6-dev")
	return find()
}

// install installs Debian packages, if this is Debian and we are root; whether
// it worked shows when what was wanted is looked for again.
func install(ctx context.Context, out io.Writer, packages ...string) {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return
	}
	fmt.Fprintf(out, "installing %s\n", strings.Join(packages, " "))
	for _, args := range [][]string{
		{"update", "-q"},
		append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if text, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(out, "apt-get %s: %v\n%s", args[0], err, text)
			return
		}
	}
}
