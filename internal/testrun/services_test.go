package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAskedFor(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tests := []struct {
		name string
		tree fstest.MapFS
		want []string
	}{
		{"nothing", fstest.MapFS{"a/a_test.go": file("package a")}, nil},
		{"redis", fstest.MapFS{"a/a_test.go": file(`os.Getenv("KITH_TEST_REDIS")`)}, []string{"KITH_TEST_REDIS"}},
		{
			"both", fstest.MapFS{
				"a/a_test.go":   file(`os.Getenv("KITH_TEST_REDIS")`),
				"b/c/d_test.go": file(`const env = "KITH_TEST_POSTGRES"`),
			}, []string{"KITH_TEST_REDIS", "KITH_TEST_POSTGRES"},
		},
		{"only said in code", fstest.MapFS{"a/a.go": file("KITH_TEST_REDIS")}, nil},
		{"not ours", fstest.MapFS{"web/node_modules/x/x_test.go": file("KITH_TEST_REDIS")}, nil},
		{"testrun itself", fstest.MapFS{"internal/testrun/x_test.go": file("KITH_TEST_REDIS")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked, err := askedFor(tt.tree)
			require.NoError(t, err)
			require.Len(t, asked, len(tt.want))
			for _, variable := range tt.want {
				require.True(t, asked[variable])
			}
		})
	}
}

// Every service that is installed here is started, answers, and is gone after.
func TestServices_start_answer_and_stop(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	for _, s := range services {
		if find(s.program) == "" {
			t.Logf("%s is not installed here", s.program)
			continue
		}
		t.Run(s.program, func(t *testing.T) {
			// Not t.TempDir: its parents are closed to the account that PostgreSQL gets.
			parent, err := os.MkdirTemp("", "kith-services-")
			require.NoError(t, err)
			defer os.RemoveAll(parent)
			p, url, err := s.start(t.Context(), filepath.Join(parent, s.program))
			require.NoError(t, err)
			_, rest, _ := strings.Cut(url, "127.0.0.1:")
			port, _, _ := strings.Cut(rest, "/")
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			p.stop()
			_, err = net.Dial("tcp", "127.0.0.1:"+port)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		})
	}
}

func TestProcess_that_ends_at_once_says_why(t *testing.T) {
	p, err := launch(exec.Command("sh", "-c", "echo no such option; exit 1"), t.TempDir())
	require.NoError(t, err)
	err = p.ready(t.Context(), func() bool { return false })
	require.ErrorContains(t, err, "it ended at once")
	require.ErrorContains(t, err, "no such option")
}

func TestProcess_that_never_answers_is_stopped(t *testing.T) {
	p, err := launch(exec.Command("sleep", "60"), t.TempDir())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, p.ready(ctx, func() bool { return false }), "it does not answer")
	requireEnded(t, p)
}

func TestProcess_that_will_not_stop_is_killed(t *testing.T) {
	p, err := launch(exec.Command("sh", "-c", `trap "" INT; echo up; while :; do sleep 1; done`), t.TempDir())
	require.NoError(t, err)
	require.NoError(t, p.ready(t.Context(), func() bool {
		text, _ := os.ReadFile(p.log)
		return string(text) == "up\n"
	}))
	p.patience = 100 * time.Millisecond
	p.stop()
	requireEnded(t, p)
}

func requireEnded(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.done:
	default:
		t.Fatal("it still runs")
	}
	require.ErrorIs(t, p.cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func TestSparePort_is_free(t *testing.T) {
	port, err := sparePort()
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestRun_fails_if_a_service_cannot_be_had_in_CI(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a_test.go", []byte("package a // KITH_TEST_REDIS"), 0o600))
	t.Setenv("KITH_TEST_REDIS", "")
	t.Setenv("PATH", "") // nothing is installed, and nothing can be
	var out strings.Builder
	_, stop, err := startAll(t.Context(), &out, t.TempDir(), true)
	stop()
	require.ErrorContains(t, err, "redis-server is not installed")

	env, stop, err := startAll(t.Context(), &out, t.TempDir(), false)
	stop()
	require.NoError(t, err)
	require.Empty(t, env)
	require.Contains(t, out.String(), "tests that need it are skipped")
}

func TestRun_fails_if_a_tool_cannot_be_had_in_CI(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a_test.go", []byte("package a // "+tools[0].marker()), 0o600))
	t.Setenv("PATH", "")
	var out strings.Builder
	_, stop, err := startAll(t.Context(), &out, t.TempDir(), true)
	stop()
	require.ErrorContains(t, err, "tests run chromium, and it is not installed")

	_, stop, err = startAll(t.Context(), &out, t.TempDir(), false)
	stop()
	require.NoError(t, err)
	require.Contains(t, out.String(), "chromium is not installed: tests that need it are skipped")
}

func TestRun_takes_a_service_that_is_given(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a_test.go", []byte("package a // KITH_TEST_REDIS"), 0o600))
	t.Setenv("KITH_TEST_REDIS", "redis://elsewhere")
	t.Setenv("PATH", "")
	env, stop, err := startAll(t.Context(), &strings.Builder{}, t.TempDir(), true)
	stop()
	require.NoError(t, err)
	require.Empty(t, env, "the tests inherit it")
}

// A project of its own, run by the real go.
func TestGoTest_result(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a made-up project")
	}
	const head = "package p\n\nimport \"testing\"\n\n"
	tests := []struct {
		name, src string
		ci, ok    bool
	}{
		{"passes", head + "func TestA(t *testing.T) {}\n", true, true},
		{"fails", head + "func TestA(t *testing.T) { t.Fail() }\n", false, false},
		{"does not compile", head + "func TestA(t *testing.T) { x }\n", false, false},
		{"skips", head + "func TestA(t *testing.T) { t.Skip(\"no\") }\n", false, true},
		{"skips in CI", head + "func TestA(t *testing.T) { t.Skip(\"no\") }\n", true, false},
		{"crashes", head + "func TestA(t *testing.T) { go panic(1); select {} }\n", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			err := errors.Join(
				os.WriteFile("go.mod", []byte("module p\n"), 0o600),
				os.WriteFile("p_test.go", []byte(tt.src), 0o600))
			require.NoError(t, err)
			var out strings.Builder
			ok, err := goTest(t.Context(), &out, []string{"test", "-json", "./..."}, nil, tt.ci)
			require.NoError(t, err)
			require.Equal(t, tt.ok, ok, out.String())
			require.Contains(t, out.String(), "1 packages, ")
		})
	}
}

// An interrupt ends go and the tests that it runs, also those that do not listen.
func TestGoTest_interrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a made-up project")
	}
	t.Chdir(t.TempDir())
	const src = "package p\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\t\"testing\"\n)\n\n" +
		"func TestA(t *testing.T) {\n\tos.WriteFile(\"pid\", []byte(strconv.Itoa(os.Getpid())), 0o600)\n\tselect {}\n}\n" +
		"func TestB(t *testing.T) {\n\tt.Parallel()\n}\n"
	require.NoError(t, errors.Join(
		os.WriteFile("go.mod", []byte("module p\n"), 0o600),
		os.WriteFile("p_test.go", []byte(src), 0o600)))
	ctx, cancel := context.WithCancel(t.Context())
	pid := make(chan int, 1)
	go func() {
		defer cancel()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			text, _ := os.ReadFile("pid")
			if n, err := strconv.Atoi(string(text)); err == nil {
				pid <- n
				return
			}
			if t.Context().Err() != nil {
				return
			}
		}
	}()
	ok, err := goTest(ctx, &strings.Builder{}, []string{"test", "-json", "-timeout", "60s", "./..."}, nil, false)
	require.False(t, ok)
	require.ErrorContains(t, err, "interrupted")
	process := <-pid
	require.Eventually(t, func() bool { return syscall.Kill(process, 0) != nil }, 5*time.Second, 20*time.Millisecond)
}
