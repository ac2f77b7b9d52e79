package presence

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// constants lists the constants of one type in this package's sources, in
// order, so that a new one cannot be forgotten by the tests below.
func constants(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	var names []string
	for _, decl := range parsed.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		current := ""
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if id, ok := value.Type.(*ast.Ident); ok {
				current = id.Name
			} else if len(value.Values) > 0 {
				current = ""
			}
			if current == typeName {
				for _, name := range value.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	require.NotEmpty(t, names, "no constants of %s in %s", typeName, file)
	return names
}

// requireNames checks that the first n values have a name each, all different,
// in lower case, and that nothing is named beyond them.
func requireNames(t *testing.T, table []string, value func(int) fmt.Stringer, n int) {
	t.Helper()
	require.Len(t, table, n)
	seen := map[string]bool{}
	for i := range n {
		name := value(i).String()
		require.NotEmpty(t, name, "value %d has no name", i)
		require.Equal(t, strings.ToLower(name), name)
		require.False(t, seen[name], "%q twice", name)
		seen[name] = true
	}
}

func TestNames_are_complete_and_unique(t *testing.T) {
	t.Run("Mode", func(t *testing.T) {
		requireNames(t, modeNames[:], func(i int) fmt.Stringer { return Mode(i) }, len(constants(t, "share.go", "Mode")))
	})
	t.Run("State", func(t *testing.T) {
		requireNames(t, stateNames[:], func(i int) fmt.Stringer { return State(i) }, len(constants(t, "view.go", "State")))
	})
	t.Run("Reason", func(t *testing.T) {
		n := len(constants(t, "view.go", "Reason"))
		requireNames(t, reasonNames[:], func(i int) fmt.Stringer { return Reason(i) }, n)
		require.Len(t, Reasons(), n)
		for i, r := range Reasons() {
			require.Equal(t, Reason(i), r)
		}
	})
}

// The words of PROTOCOL.md: clients compare with them.
func TestNames_are_those_of_the_protocol(t *testing.T) {
	require.Equal(t, []string{"exact", "area", "none"}, modeNames[:])
	require.Equal(t, []string{"live", "idle", "stale", "offline"}, stateNames[:])
	require.Equal(t, []string{"away", "stale", "offline", "hidden", "unfriended"}, reasonNames[:])
}

func TestCloseCode_ranges_say_what_to_do(t *testing.T) {
	stop := []CloseCode{BadRequest, Unauthorized, TokenExpired, Replaced, ConnectTimeout, RateLimited}
	backoff := []CloseCode{Draining, Slow, NoPong, Internal, Overloaded}
	atOnce := []CloseCode{Moved}
	seen := map[CloseCode]bool{}
	for first, codes := range map[CloseCode][]CloseCode{4000: stop, 4100: backoff, 4200: atOnce} {
		for _, c := range codes {
			require.True(t, c >= first && c < first+100, "%d", c)
			require.False(t, seen[c], "%d twice", c)
			seen[c] = true
		}
	}
	require.Len(t, seen, strings.Count(readSource(t, "close.go"), "CloseCode = 4"))
}
