package arch

import (
	"fmt"
	"slices"
	"strings"
)

// folderOf returns the row of the table for dir: the most exact one.
func folderOf(dir string) (Folder, bool) {
	best, found := Folder{}, false
	for _, f := range Folders {
		if matches(f.Path, dir) && (!found || len(f.Path) > len(best.Path)) {
			best, found = f, true
		}
	}
	return best, found
}

// CheckFolders is R1.
func CheckFolders(t *Tree) []Breach {
	var breaches []Breach
	unknown := map[string]bool{}
	for _, f := range t.Go {
		folder, ok := folderOf(f.Dir)
		if !ok {
			if !unknown[f.Dir] {
				unknown[f.Dir] = true
				breaches = append(breaches, Breach{f.Dir, "this folder is new: if no folder of the table does its job, " +
					"add it to Folders in internal/arch/rules.go with its one sentence and what it may import, and to ARCHITECTURE.md"})
			}
			continue
		}
		for _, spec := range f.Imports() {
			to, ok := internal(importPath(spec))
			if !ok || to == f.Dir { // an external test imports its own package
				continue
			}
			may := folder.May
			if f.Test {
				may = slices.Concat(may, folder.Test)
			}
			if matchesAny(may, to) || matches(folder.Path, to) {
				continue
			}
			breaches = append(breaches, Breach{t.at(spec.Pos()), fmt.Sprintf(
				"%s imports %s, but may import only [%s]: move the code, declare an interface here, or, if the arrow is right, add it to Folders with a decision record",
				f.Dir, to, strings.Join(may, " "))})
		}
	}
	return breaches
}

// CheckArrows is R2.
func CheckArrows(t *Tree) []Breach {
	var breaches []Breach
	for _, f := range t.Go {
		for _, spec := range f.Imports() {
			to, ok := internal(importPath(spec))
			if !ok || to == f.Dir {
				continue
			}
			for _, arrow := range Arrows {
				if matchesAny(arrow.From, f.Dir) && matchesAny(arrow.To, to) {
					breaches = append(breaches, Breach{t.at(spec.Pos()), fmt.Sprintf("%s must not import %s: %s", f.Dir, to, arrow.Why)})
				}
			}
		}
	}
	return breaches
}

// CheckModules is R3.
func CheckModules(t *Tree) []Breach {
	var breaches []Breach
	for _, f := range t.Go {
		if matches(measuring, f.Dir) {
			continue
		}
		for _, spec := range f.Imports() {
			p := importPath(spec)
			for _, rule := range Modules {
				if p != rule.Module && !strings.HasPrefix(p, rule.Module+"/") {
					continue
				}
				if matchesAny(rule.Only, f.Dir) || (rule.Tests && f.Test) {
					continue
				}
				only := strings.Join(rule.Only, " ")
				if rule.Tests {
					only += " and tests"
				}
				breaches = append(breaches, Breach{t.at(spec.Pos()), fmt.Sprintf(
					"%s imports %s, which only [%s] may: %s", f.Dir, p, strings.TrimSpace(only), rule.Why)})
			}
		}
	}
	return breaches
}
