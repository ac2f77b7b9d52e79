package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// CheckCores is R4.
func CheckCores(t *Tree) []Breach {
	var breaches []Breach
	for _, f := range t.Go {
		if f.Test || !slices.Contains(pure, f.Dir) {
			continue
		}
		for _, spec := range f.Imports() {
			p := importPath(spec)
			for pattern, why := range coreImports {
				if matches(pattern, p) {
					breaches = append(breaches, Breach{t.at(spec.Pos()), fmt.Sprintf("%s imports %s: %s", f.Dir, p, why)})
				}
			}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if what := t.impure(n); what != "" {
				breaches = append(breaches, Breach{t.at(n.Pos()), what})
			}
			return true
		})
	}
	return breaches
}

// impure says what a node does that no Core does, or "".
func (t *Tree) impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement: a Core has no goroutine; append an effect"
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		return "a channel: a Core is sent messages and appends effects"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a channel: a Core is sent messages and appends effects"
		}
	case *ast.SelectorExpr:
		pkg := t.selected(n)
		rule, ok := coreCalls[pkg]
		if !ok {
			return ""
		}
		forbidden := slices.Contains(rule.names, n.Sel.Name)
		if rule.names == nil {
			forbidden = !slices.Contains(rule.allow, n.Sel.Name)
		}
		if forbidden {
			return fmt.Sprintf("%s.%s: %s", packageName(pkg), n.Sel.Name, rule.why)
		}
	}
	return ""
}

// CheckGlobals is R5. Tests are free.
func CheckGlobals(t *Tree) []Breach {
	c := globals{tree: t, excused: map[string]bool{}, inits: map[string]bool{}}
	for _, f := range t.Go {
		if f.Test {
			continue
		}
		for _, spec := range f.Imports() {
			if spec.Name != nil && spec.Name.Name == "." {
				c.add(spec.Pos(), "a dot import: name the package where it is used")
			}
		}
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.Name == "init" {
				c.init(f, fn)
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					c.selector(f, sel)
				}
				if ok { // inside a function
					c.change(f, n)
				}
				return true
			})
		}
	}
	return slices.Concat(c.breaches, stale("changedVars", changedVars, c.excused), stale("inits", inits, c.inits))
}

type globals struct {
	tree     *Tree
	excused  map[string]bool // of changedVars
	inits    map[string]bool // of inits
	breaches []Breach
}

func (c *globals) init(f *File, fn *ast.FuncDecl) {
	if _, ok := inits[f.Path]; ok {
		c.inits[f.Path] = true
		return
	}
	c.add(fn.Pos(), "an init function: it runs for whoever imports the package; make it a constructor that main calls")
}

func (c *globals) add(pos token.Pos, what string) {
	c.breaches = append(c.breaches, Breach{c.tree.at(pos), what})
}

func (c *globals) selector(f *File, sel *ast.SelectorExpr) {
	pkg := c.tree.selected(sel)
	if pkg == "" {
		return
	}
	for _, rule := range globalCalls {
		if rule.pkg == pkg && slices.Contains(rule.names, sel.Sel.Name) && !slices.Contains(rule.except, f.Dir) {
			c.add(sel.Pos(), fmt.Sprintf("%s.%s: %s", packageName(pkg), sel.Sel.Name, rule.why))
		}
	}
}

// change finds assignments to package variables: whole, by field or by element,
// by ++ and by delete and clear.
func (c *globals) change(f *File, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, left := range n.Lhs {
				c.changed(f, left)
			}
		}
	case *ast.IncDecStmt:
		c.changed(f, n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.changed(f, n.Key)
			c.changed(f, n.Value)
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
			c.changed(f, n.Args[0])
		}
	}
}

func (c *globals) changed(f *File, target ast.Expr) {
	id := root(target)
	if id == nil {
		return
	}
	v, ok := c.tree.Types.Uses[id].(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return
	}
	name := f.Dir + ":" + id.Name
	if _, ok := changedVars[name]; ok {
		c.excused[name] = true
		return
	}
	c.add(target.Pos(), fmt.Sprintf("the package variable %s is changed: make it a field of what owns it", id.Name))
}

// root is the variable that an assignment to an expression changes, if the
// expression says so.
func root(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil
		}
	}
}
