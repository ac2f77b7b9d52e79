package arch

import (
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
)

// CheckSleep is R8.
func CheckSleep(t *Tree) []Breach {
	var breaches []Breach
	excused := map[string]bool{}
	bubbles := t.bubbleFunctions()
	for _, f := range t.Go {
		if !f.Test {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || t.selected(sel) != "time" || sel.Sel.Name != "Sleep" || t.inBubble(decl, bubbles) {
					return true
				}
				if pattern := sleeperFor(f.Path); pattern != "" {
					excused[pattern] = true
					return true
				}
				breaches = append(breaches, Breach{t.at(sel.Pos()), "time.Sleep in a test: run it in a synctest bubble, inject the clock, or poll with a deadline; " +
					"a test of real processes may stand in sleepers in internal/arch/rules.go with its reason"})
				return true
			})
		}
	}
	return slices.Concat(breaches, stale("sleepers", sleepers, excused))
}

// sleeperFor returns the pattern of sleepers that a file matches, or "".
func sleeperFor(file string) string {
	for pattern := range sleepers {
		if ok, _ := path.Match(pattern, file); ok {
			return pattern
		}
	}
	return ""
}

// bubbleFunctions are the project's functions that run in a synctest bubble or
// open one, themselves or by what they call.
func (t *Tree) bubbleFunctions() map[types.Object]bool {
	found := map[types.Object]bool{}
	for grown := true; grown; {
		grown = false
		for _, f := range t.Go {
			for _, decl := range f.Syntax.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if ok && !found[t.Types.Defs[fn.Name]] && t.inBubble(decl, found) {
					found[t.Types.Defs[fn.Name]], grown = true, true
				}
			}
		}
	}
	return found
}

// inBubble reports whether a declaration uses testing/synctest, or a function
// that does. That its sleep stands in the bubble and not beside it is for the
// reader to see.
func (t *Tree) inBubble(decl ast.Decl, bubbles map[types.Object]bool) bool {
	found := false
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || bubbles[t.Types.Uses[n]]
		case *ast.SelectorExpr:
			found = found || t.selected(n) == "testing/synctest"
		}
		return !found
	})
	return found
}

// stale returns a breach for each exception that nothing needs any more.
func stale(list string, exceptions map[string]string, needed map[string]bool) []Breach {
	var breaches []Breach
	for _, name := range slices.Sorted(maps.Keys(exceptions)) {
		if !needed[name] {
			breaches = append(breaches, Breach{name, "no exception is needed here any more: take it out of " + list + " in internal/arch/rules.go"})
		}
	}
	return breaches
}
