package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var generated = regexp.MustCompile(`(?m)^(//|#|--|/\*) Code generated .* DO NOT EDIT`)

// ours are kinds of files that people read and write.
var ours = []string{".go", ".lua", ".sql", ".sh", ".js", ".mjs", ".css", ".html"}

// built are folders of files that a tool made.
var built = regexp.MustCompile(`(^|/)(dist|vendor)/|\.min\.(js|css)$|(^|/)package-lock\.json$`)

// CheckSizes is R6.
func CheckSizes(t *Tree) []Breach {
	var breaches []Breach
	for name, text := range t.Text {
		if !slices.Contains(ours, path.Ext(name)) || built.MatchString(name) || generated.Match(text) {
			continue
		}
		if n := bytes.Count(text, []byte("\n")); n > maxFile {
			breaches = append(breaches, Breach{name, fmt.Sprintf("%d lines, and %d is the most: it does more than one thing; part it", n, maxFile)})
		}
	}
	excused := map[string]bool{}
	for _, f := range t.Go {
		if generated.Match(t.Text[f.Path]) {
			continue
		}
		limit := maxFunction
		if slices.Contains(pure, f.Dir) && !f.Test {
			limit = maxCoreFunction
		}
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := t.Fset.Position(fn.End()).Line - t.Fset.Position(fn.Pos()).Line + 1
			if n <= limit {
				continue
			}
			key := f.Path + ":" + fn.Name.Name
			if _, ok := longFunctions[key]; ok {
				excused[key] = true
				continue
			}
			breaches = append(breaches, Breach{t.at(fn.Pos()), fmt.Sprintf("%s has %d lines, and %d is the most: part it, or make its cases data", fn.Name.Name, n, limit)})
		}
	}
	return slices.Concat(breaches, stale("longFunctions", longFunctions, excused))
}

var emptyNames = []string{"util", "utils", "common", "base", "manager", "helper", "helpers", "misc", "shared", "lib", "types", "core"}

// CheckPackages is R7.
func CheckPackages(t *Tree) []Breach {
	var breaches []Breach
	hasDoc, where := map[string]bool{}, map[string]string{}
	for _, f := range t.Go {
		name := strings.TrimSuffix(f.Syntax.Name.Name, "_test")
		if slices.Contains(emptyNames, name) || slices.Contains(emptyNames, path.Base(f.Dir)) {
			breaches = append(breaches, Breach{f.Path, fmt.Sprintf("package %s: a name that says nothing collects everything; name it after what it holds", name)})
		}
		if name != path.Base(f.Dir) && name != "main" && f.Dir != "." {
			breaches = append(breaches, Breach{f.Path, fmt.Sprintf("package %s in folder %s: an import should show the name", name, f.Dir)})
		}
		if where[f.Dir] == "" {
			where[f.Dir] = f.Path
		}
		if f.Syntax.Doc != nil && len(strings.TrimSpace(f.Syntax.Doc.Text())) > 0 {
			hasDoc[f.Dir] = true
		}
	}
	for dir, file := range where {
		if !hasDoc[dir] {
			breaches = append(breaches, Breach{file, fmt.Sprintf("package %s has no comment: doc.go says what it is for and what always holds", dir)})
		}
	}
	return breaches
}

// textRule is something that no committed text contains.
type textRule struct {
	pattern *regexp.Regexp
	what    string
	built   bool // also in what a tool made
}

// The patterns are put together from parts, so that this file keeps them too.
var textRules = []textRule{
	{
		regexp.MustCompile(`(^|[^A-Za-z0-9.])/(work/(main|shared)|root/|home/[a-z][a-z0-9]*/|Users/[A-Za-z])`),
		"a path of somebody's machine: make it relative, or an argument", true,
	},
	{
		regexp.MustCompile(`(` + strings.Join([]string{
			`proxy\.golang`, `sum\.golang`, `registry\.npmjs`, `registry\.yarnpkg`, `npmjs`, `pypi`, `pythonhosted`, `crates`,
			`rubygems`, `deb\.debian`, `security\.debian`, `docker`, `ghcr`, `quay`,
		}, "|") + `)\.(` + `org|com|io)\b`),
		"the host of a package registry: the tool's own settings say where to fetch from", true,
	},
	{
		regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|` + "XX" + `X)\b`),
		"work put off: do it, or open an issue and say in plain words what holds now", false,
	},
}

// CheckText is R9.
func CheckText(t *Tree) []Breach {
	var breaches []Breach
	for name, text := range t.Text {
		for _, rule := range textRules {
			if !rule.built && built.MatchString(name) {
				continue
			}
			if at := rule.pattern.FindIndex(text); at != nil {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				breaches = append(breaches, Breach{fmt.Sprintf("%s:%d", name, line), rule.what})
			}
		}
	}
	return breaches
}
