package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
}

// mostOutput bounds what is kept of one test's output, in bytes; the end of it is
// what says why it failed.
const mostOutput = 1 << 20

// report follows a test run.
type report struct {
	out      io.Writer
	kept     map[[2]string]string // output of tests that have not ended, by package and test
	packages int
	passed   int
	failed   int
	skipped  []string // "package test: reason"
}

func newReport(out io.Writer) *report {
	return &report{out: out, kept: map[[2]string]string{}}
}

// read follows the events of in to its end. A line that is no event is printed.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.event(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) event(e event) {
	key := [2]string{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output" && e.Test != "":
		text := r.kept[key] + e.Output
		r.kept[key] = text[max(0, len(text)-mostOutput):]
	case e.Action == "output":
		if e.Output != "PASS\n" {
			fmt.Fprint(r.out, e.Output)
		}
	case e.Test == "":
		r.packageEnded(e)
	default:
		r.testEnded(e, key)
	}
}

func (r *report) testEnded(e event, key [2]string) {
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.print(key)
	case "skip":
		// A seed of a fuzz target may be no input for it, and a test that is a
		// process of another test has nothing to do by itself.
		why := reason(r.kept[key])
		if !strings.HasPrefix(e.Test, "Fuzz") && !strings.Contains(why, "runs as a child of Test") {
			r.skipped = append(r.skipped, e.Package+" "+e.Test+": "+why)
		}
	default:
		return
	}
	delete(r.kept, key)
}

// packageEnded prints what tests said that never ended: one of them crashed the
// process or ran out of time.
func (r *report) packageEnded(e event) {
	switch e.Action {
	case "fail":
		r.packages++
		for key := range r.kept {
			if key[0] == e.Package {
				r.failed++
				r.print(key)
				delete(r.kept, key)
			}
		}
	case "pass", "skip":
		r.packages++
	}
}

// print shows a test's output without go's notes of what runs.
func (r *report) print(key [2]string) {
	for line := range strings.Lines(r.kept[key]) {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
}

// reason is what a skipped test said last before go's own line.
func reason(output string) string {
	why := "no reason given"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			why = line
		}
	}
	return why
}

func (r *report) totals(took time.Duration) {
	slices.Sort(r.skipped)
	for _, s := range r.skipped {
		fmt.Fprintln(r.out, "skipped", s)
	}
	fmt.Fprintf(r.out, "%d packages, %d tests passed, %d failed, %d skipped in %s\n",
		r.packages, r.passed, r.failed, len(r.skipped), took.Round(100*time.Millisecond))
}
