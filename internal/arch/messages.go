package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

const (
	messagesFile = "actors/messages.go"
	marker       = "IgnoreDeadLetterLogging"
)

// CheckMessages is R10.
func CheckMessages(t *Tree) []Breach {
	var breaches []Breach
	rows, where := t.messageTable()
	if rows == nil {
		return []Breach{{messagesFile, "the comment of type Message has no table that begins with the line \"message  from  to  delivery\""}}
	}
	messages := t.messageTypes(&breaches)
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		if !slices.Contains(rows, name) {
			breaches = append(breaches, Breach{messages[name], fmt.Sprintf("%s is a message and not in the table of %s: add its row, from, to and delivery", name, messagesFile)})
		}
	}
	seen := map[string]bool{}
	for _, name := range rows {
		if messages[name] == "" {
			breaches = append(breaches, Breach{where, fmt.Sprintf("the table lists %s, which is no message", name)})
		}
		if seen[name] {
			breaches = append(breaches, Breach{where, fmt.Sprintf("the table lists %s twice", name)})
		}
		seen[name] = true
	}
	return breaches
}

// messageTable returns the first column of the table, nil if there is none.
func (t *Tree) messageTable() (rows []string, where string) {
	for _, f := range t.Go {
		if f.Path != messagesFile {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Doc == nil || len(group.Specs) != 1 {
				continue
			}
			spec, ok := group.Specs[0].(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Message" {
				continue
			}
			in := false
			for line := range strings.Lines(group.Doc.Text()) {
				fields := strings.Fields(line)
				switch {
				case len(fields) == 4 && fields[0] == "message" && fields[3] == "delivery":
					in, rows = true, []string{}
				case in && len(fields) > 0 && strings.HasPrefix(line, "\t"):
					rows = append(rows, fields[0])
				case in:
					in = false
				}
			}
			where = t.at(group.Pos())
		}
	}
	return rows, where
}

// messageTypes returns the types of package actors that are a Message, with
// where they stand: those with the marker method, and those that embed one. A
// marker method elsewhere is a breach, for all messages are in one file.
func (t *Tree) messageTypes(breaches *[]Breach) map[string]string {
	marked := map[string]bool{}
	embeds := map[string][]string{}
	where := map[string]string{}
	for _, f := range t.Go {
		if f.Test {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.Name != marker || decl.Recv == nil {
					continue
				}
				if f.Dir != "actors" {
					*breaches = append(*breaches, Breach{t.at(decl.Pos()), "a message outside of package actors: all that crosses actors stands in " + messagesFile})
					continue
				}
				if id := root(decl.Recv.List[0].Type); id != nil {
					marked[id.Name] = true
				}
			case *ast.GenDecl:
				if f.Dir == "actors" {
					t.structs(decl, embeds, where)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for name, parts := range embeds {
			if !marked[name] && slices.ContainsFunc(parts, func(p string) bool { return marked[p] }) {
				marked[name], changed = true, true
			}
		}
	}
	messages := map[string]string{}
	for name := range marked {
		if ast.IsExported(name) {
			messages[name] = where[name]
		}
	}
	return messages
}

// structs notes the struct types of a declaration with what they embed.
func (t *Tree) structs(group *ast.GenDecl, embeds map[string][]string, where map[string]string) {
	for _, spec := range group.Specs {
		typ, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		where[typ.Name.Name] = t.at(typ.Pos())
		body, ok := typ.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range body.Fields.List {
			if id := root(field.Type); id != nil && len(field.Names) == 0 {
				embeds[typ.Name.Name] = append(embeds[typ.Name.Name], id.Name)
			}
		}
	}
}
