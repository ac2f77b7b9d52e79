package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the project's module.
const Module = "github.com/kith-nearby/kith"

// Tree is the project's text, read once.
type Tree struct {
	Fset  *token.FileSet
	Go    []*File           // by path
	Text  map[string][]byte // every text file, Go too, by path
	Types types.Info        // Uses and Defs of all Go files
}

// File is one Go file.
type File struct {
	Path   string // from the module's root, with slashes
	Dir    string // its folder; "." is the root
	Test   bool
	Syntax *ast.File
	Lines  int
}

// unread are folders and files that are not committed (.gitignore), or not ours
// to judge: the licence, checksums, what fuzzing and rapid found.
var unread = regexp.MustCompile(`(^|/)(\.git|node_modules|testdata/(fuzz|rapid))$|^(bin|data)$|^LICENSE$|\.(db|db-wal|db-shm|test|out|sum)$`)

const largestText = 1 << 20

// Load reads the tree below the root of fsys. A Go file that does not parse is
// an error; one that does not compile is not, since other tools say so.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{
		Fset: token.NewFileSet(),
		Text: map[string][]byte{},
		Types: types.Info{
			Uses: map[*ast.Ident]types.Object{},
			Defs: map[*ast.Ident]types.Object{},
		},
	}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case unread.MatchString(name) && d.IsDir():
			return fs.SkipDir
		case unread.MatchString(name) || !d.Type().IsRegular():
			return nil
		}
		return t.read(fsys, name)
	})
	if err != nil {
		return nil, err
	}
	t.check()
	return t, nil
}

func (t *Tree) read(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if len(src) > largestText || bytes.IndexByte(src, 0) >= 0 {
		return nil
	}
	t.Text[name] = src
	if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
		return nil
	}
	syntax, err := parser.ParseFile(t.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.Go = append(t.Go, &File{
		Path: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), Syntax: syntax,
		Lines: bytes.Count(src, []byte("\n")),
	})
	return nil
}

// check resolves names, package by package. Imports are empty packages, so
// everything that is selected from them is unknown; the errors say only that.
func (t *Tree) check() {
	config := types.Config{Importer: emptyImporter{}, Error: func(error) {}, DisableUnusedImportCheck: true}
	units := map[string][]*ast.File{}
	for _, f := range t.Go {
		name := f.Dir + " " + f.Syntax.Name.Name
		units[name] = append(units[name], f.Syntax)
	}
	for name, files := range units {
		_, _ = config.Check(name, t.Fset, files, &t.Types)
	}
}

type emptyImporter struct{}

func (emptyImporter) Import(importPath string) (*types.Package, error) {
	p := types.NewPackage(importPath, packageName(importPath))
	p.MarkComplete()
	return p, nil
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// packageName guesses the name of an imported package from its path.
func packageName(importPath string) string {
	name := path.Base(importPath)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(importPath))
	}
	return name
}

// Imports returns the paths that f imports.
func (f *File) Imports() []*ast.ImportSpec { return f.Syntax.Imports }

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value)
	return p
}

// Internal returns the folder of an import of this project.
func internal(importPath string) (dir string, ok bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// selected returns the package that sel selects from, and "" if it selects from
// anything else.
func (t *Tree) selected(sel *ast.SelectorExpr) string {
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	if name, ok := t.Types.Uses[id].(*types.PkgName); ok {
		return name.Imported().Path()
	}
	return ""
}

// matches reports whether dir is the folder that a pattern names: itself, or for
// "a/..." also everything below a.
func matches(pattern, dir string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == base || strings.HasPrefix(dir, base+"/")
	}
	return dir == pattern
}

func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, dir) })
}

// Breach is one place where a rule is broken.
type Breach struct {
	Where string // file:line, or a folder
	What  string // what is wrong, and what to do about it
}

func (b Breach) String() string { return b.Where + ": " + b.What }

func (t *Tree) at(pos token.Pos) string {
	p := t.Fset.Position(pos)
	return p.Filename + ":" + strconv.Itoa(p.Line)
}
