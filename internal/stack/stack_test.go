package stack

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

type place struct{ lat, lng int32 }

// broken keeps what it is given on its stack, where a trace reads it.
//
//go:noinline
func broken(at place, p *int) int32 {
	deeper(p)
	return at.lat + at.lng
}

//go:noinline
func deeper(p *int) { *p = 1 }

func recovered(do func()) (text string) {
	defer func() {
		if recover() != nil {
			text = OfPanic()
		}
	}()
	do()
	return ""
}

func TestOfPanic(t *testing.T) {
	at := place{lat: 525200123, lng: 134050123}
	for name, do := range map[string]func(){
		"nil":   func() { broken(at, nil) },
		"value": func() { func() { panic(at) }() },
	} {
		text := recovered(do)
		require.Regexp(t, `^github\.com/kith-nearby/kith/internal/stack\.`, text, name)
		require.NotContains(t, text, "stack.OfPanic:")
		require.NotContains(t, text, "runtime.")
		for _, secret := range []int32{at.lat, at.lng} {
			require.NotContains(t, text, strconv.Itoa(int(secret)))
			require.NotContains(t, text, strconv.FormatInt(int64(secret), 16))
		}
	}
	require.Regexp(t, `stack\.deeper:\d+ \S*stack\.broken:\d+ `, recovered(func() { broken(at, nil) }))
}

// TestOfPanic_WithinARecover: the panic of a deferred function is another one.
func TestOfPanic_WithinARecover(t *testing.T) {
	text := recovered(func() {
		defer func() {
			_ = recover()
			deeper(nil)
		}()
		panic("first")
	})
	require.Regexp(t, `^\S*stack\.deeper:\d+ `, text)
}

func TestOfPanic_WithoutAPanic(t *testing.T) {
	require.Regexp(t, `^\S*TestOfPanic_WithoutAPanic:\d+ `, OfPanic())
}
