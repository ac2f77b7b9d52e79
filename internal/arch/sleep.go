package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
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
				if !ok || t.selected(sel) != "time" || sel.Sel.Name != "Sleep" || t.inBubble(decl, sel.Pos(), bubbles) {
					return true
				}
				if _, ok := sleepers[f.Path]; ok {
					excused[f.Path] = true
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

// bubbleFunctions are the project's own functions that open a synctest bubble:
// what is passed to them runs in it.
func (t *Tree) bubbleFunctions() map[types.Object]bool {
	found := map[types.Object]bool{}
	for _, f := range t.Go {
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && t.uses(fn, "testing/synctest", "Test") {
				found[t.Types.Defs[fn.Name]] = true
			}
		}
	}
	return found
}

func (t *Tree) uses(n ast.Node, pkg, name string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name && t.selected(sel) == pkg {
			found = true
		}
		return !found
	})
	return found
}

// inBubble reports whether time is not real at pos: within an argument of a call
// that opens a bubble, or in a function that cannot run but in one, since it
// calls synctest.Wait.
func (t *Tree) inBubble(decl ast.Decl, pos token.Pos, bubbles map[types.Object]bool) bool {
	if t.uses(decl, "testing/synctest", "Wait") && !t.uses(decl, "testing/synctest", "Test") {
		return true
	}
	found := false
	ast.Inspect(decl, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || pos < call.Lparen || call.End() <= pos {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			found = found || bubbles[t.Types.Uses[fun]]
		case *ast.SelectorExpr:
			found = found || bubbles[t.Types.Uses[fun.Sel]] || t.selected(fun) == "testing/synctest"
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
