package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func followed(t *testing.T, events string) (*report, string) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	require.NoError(t, r.read(strings.NewReader(events)))
	require.Empty(t, r.kept, "output of tests that have ended is kept")
	r.totals(1500 * time.Millisecond)
	return r, out.String()
}

func TestReport_of_passed_tests_is_one_line_a_package(t *testing.T) {
	r, out := followed(t, `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"a secret of a passed test\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
`)
	require.Equal(t, "ok  \tp\t0.1s\n?   \tq\t[no test files]\n2 packages, 1 tests passed, 0 failed, 0 skipped in 1.5s\n", out)
	require.Zero(t, r.failed)
}

func TestReport_shows_why_a_test_failed(t *testing.T) {
	r, out := followed(t, `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: one is not two\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`)
	require.Contains(t, out, "    a_test.go:3: one is not two\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.1s\n")
	require.NotContains(t, out, "=== RUN")
	require.Equal(t, 1, r.failed)
}

func TestReport_shows_tests_that_never_ended(t *testing.T) {
	r, out := followed(t, `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t600s\n"}
{"Action":"fail","Package":"p"}
`)
	require.Contains(t, out, "panic: test timed out\n")
	require.Equal(t, 1, r.failed)
}

func TestReport_shows_what_does_not_compile(t *testing.T) {
	_, out := followed(t, `{"ImportPath":"p","Action":"build-output","Output":"p/a.go:3:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`)
	require.Contains(t, out, "p/a.go:3:1: syntax error\nFAIL\tp [build failed]\n")
}

func TestReport_lists_skipped_tests_with_their_reason(t *testing.T) {
	r, out := followed(t, `{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:9: KITH_TEST_REDIS is not set\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"FuzzA/seed#0"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: runs as a child of TestD\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"pass","Package":"p"}
`)
	require.Equal(t, []string{"p TestA: no reason given", "p TestB: b_test.go:9: KITH_TEST_REDIS is not set"}, r.skipped)
	require.Contains(t, out, "skipped p TestB: b_test.go:9: KITH_TEST_REDIS is not set\n")
	require.Contains(t, out, "2 skipped")
}

func TestReport_passes_on_what_is_no_event(t *testing.T) {
	_, out := followed(t, "go: downloading x v1.2.3\n{\"not\":\"an event\"}\nlast line without end")
	require.Contains(t, out, "go: downloading x v1.2.3\n{\"not\":\"an event\"}\nlast line without end")
}

func TestReport_keeps_the_end_of_endless_output(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	chunk := strings.Repeat("x", 1<<16)
	for range 40 {
		r.event(event{Action: "output", Package: "p", Test: "TestA", Output: chunk})
	}
	r.event(event{Action: "output", Package: "p", Test: "TestA", Output: "the cause"})
	require.Len(t, r.kept[[2]string{"p", "TestA"}], mostOutput)
	r.event(event{Action: "fail", Package: "p", Test: "TestA"})
	require.True(t, strings.HasSuffix(out.String(), "the cause"))
}
