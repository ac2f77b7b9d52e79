// Package stack says where a panic happened, in one line and in words that may be
// logged: runtime/debug prints the words of arguments too, and those may be
// positions.
package stack

import (
	"fmt"
	"runtime"
	"strings"
)

// most is how many functions are named at most.
const most = 48

// OfPanic names the functions that led to the panic which is being recovered,
// innermost first, as "package.function:line" with spaces between. Called
// elsewhere it names those that led to the call.
func OfPanic() string {
	var pcs [most]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var b strings.Builder
	for found := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic" && !found:
			found = true
			b.Reset() // what was before recovers it
		case !strings.HasPrefix(f.Function, "runtime."):
			fmt.Fprintf(&b, "%s:%d ", f.Function, f.Line)
		}
		if !more {
			return strings.TrimSpace(b.String())
		}
	}
}
