package arch

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// rules are all checks, by the number that doc.go gives them.
var rules = []struct {
	name  string
	check func(*Tree) []Breach
}{
	{"R1 folders", CheckFolders},
	{"R2 arrows", CheckArrows},
	{"R3 modules", CheckModules},
	{"R4 cores", CheckCores},
	{"R5 globals", CheckGlobals},
	{"R6 sizes", CheckSizes},
	{"R7 packages", CheckPackages},
	{"R8 sleep", CheckSleep},
	{"R9 text", CheckText},
	{"R10 messages", CheckMessages},
}

// TestProject holds the project to all rules.
func TestProject(t *testing.T) {
	tree, err := Load(os.DirFS("../.."))
	require.NoError(t, err)
	require.NotEmpty(t, tree.Text["go.mod"], "this is not the root of the module")
	require.Greater(t, len(tree.Go), 30)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			breaches := rule.check(tree)
			slices.SortFunc(breaches, func(a, b Breach) int { return strings.Compare(a.Where, b.Where) })
			for _, breach := range breaches {
				t.Errorf("%v", breach)
			}
		})
	}
}

func TestProject_rules_match_doc(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, rule := range rules {
		number, _, _ := strings.Cut(rule.name, " ")
		require.Contains(t, string(doc), "//\t"+number+" ", "doc.go does not say %s", number)
	}
	require.NotContains(t, string(doc), "//\tR11 ")
}

// tree loads a made-up project.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, err := Load(fsys)
	require.NoError(t, err)
	return loaded
}

// breachCase is one file of a made-up project, and what a rule says of it: part of
// each breach, or nothing.
type breachCase struct {
	name, file, src string
	want            []string
}

func runCases(t *testing.T, check func(*Tree) []Breach, cases []breachCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			requireBreaches(t, check(tree(t, map[string]string{c.file: c.src})), c.want...)
		})
	}
}

// requireBreaches checks that a rule found as many breaches as wanted, and that
// each wanted text is among them. What the project's own exceptions would say of
// a made-up project does not count.
func requireBreaches(t *testing.T, got []Breach, want ...string) {
	t.Helper()
	got = slices.DeleteFunc(got, func(b Breach) bool { return strings.Contains(b.What, "no exception is needed") })
	require.Len(t, got, len(want), "%v", got)
	requireSaid(t, got, want...)
}

func requireSaid(t *testing.T, got []Breach, want ...string) {
	t.Helper()
	text := ""
	for _, b := range got {
		text += b.String() + "\n"
	}
	for _, part := range want {
		require.Contains(t, text, part)
	}
}

// importing is a file of package p that imports paths.
func importing(paths ...string) string {
	src := "// Package p is made up.\npackage p\n\nimport (\n"
	for _, p := range paths {
		src += "\t_ \"" + strings.Replace(p, "kith/", Module+"/", 1) + "\"\n"
	}
	return src + ")\n"
}
