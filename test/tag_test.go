package test

import (
	"go/ast"
	"go/build/constraint"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// e2e reports whether a file is built only with the tag e2e.
func (s source) e2e() bool {
	for _, group := range s.file.Comments {
		if group.Pos() > s.file.Package {
			break
		}
		if expr, err := constraint.Parse(group.List[0].Text); err == nil {
			built := func(e2e bool) bool {
				return expr.Eval(func(tag string) bool { return tag == "e2e" && e2e || tag != "e2e" && tag != "race" })
			}
			return built(true) && !built(false)
		}
	}
	return false
}

// outside are the places where a file starts an API server, or a program other than itself and Go.
func outside(s source) []ast.Node {
	var found []ast.Node
	for _, imported := range s.file.Imports {
		if path.Base(strings.Trim(imported.Path.Value, `"`)) == "kubetest" {
			found = append(found, imported)
		}
	}
	name := localName(s.file, "os/exec")
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || name == "" {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != name {
			return true
		}
		program := call.Args[0]
		switch sel.Sel.Name {
		case "LookPath":
			found = append(found, call)
			return true
		case "CommandContext":
			program = call.Args[1]
		case "Command":
		default:
			return true
		}
		literal, isLiteral := program.(*ast.BasicLit)
		_, isItself := program.(*ast.IndexExpr) // os.Args[0]
		if !isItself && (!isLiteral || literal.Value != `"go"`) {
			found = append(found, call)
		}
		return true
	})
	return found
}

// TestQuickTestsNeedOnlyGo holds tests without the tag e2e to what README says of them: they need neither an
// API server nor another program.
func TestQuickTestsNeedOnlyGo(t *testing.T) {
	tagged := 0
	for _, s := range sources(t) {
		switch {
		case !strings.HasSuffix(s.path, "_test.go"):
		case s.e2e():
			tagged++
		default:
			for _, use := range outside(s) {
				t.Errorf("%s needs an API server or another program: put it into a file that begins with //go:build e2e", s.at(use.Pos()))
			}
		}
	}
	if tagged < 100 {
		t.Errorf("only %d files have the tag", tagged)
	}
}

// TestTestCommands holds every `go test` and `make bench` of the pages to tests that there are, with the tag that
// they need. The Makefile gives it to benchmarks.
func TestTestCommands(t *testing.T) {
	command := regexp.MustCompile("go test [^`]*?\\./[^`\n]*|make bench [^`\n]*PACKAGES=[^`\n]*")
	pattern := regexp.MustCompile(`-run '?([^ ']+)'?|-bench '?([^ ']+)'?|BENCH=([^ ]+)`)
	folder := regexp.MustCompile(`\./([\w/]*[\w])`)
	all := sources(t)
	seen := 0
	for name, text := range pages(t) {
		for _, line := range command.FindAllString(text, -1) {
			seen++
			line = strings.Join(strings.Fields(line), " ")
			in := folder.FindStringSubmatch(line)
			if in == nil {
				continue // of everything
			}
			if _, err := os.Stat(filepath.Join("..", in[1])); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
				continue
			}
			has := strings.Contains(line, "-tags e2e") || strings.HasPrefix(line, "make")
			var functions []string
			for _, s := range all {
				if s.pkg != in[1] || !strings.HasSuffix(s.path, "_test.go") || s.e2e() && !has {
					continue
				}
				for _, decl := range s.file.Decls {
					if f, ok := decl.(*ast.FuncDecl); ok {
						functions = append(functions, f.Name.Name)
					}
				}
			}
			if len(functions) == 0 {
				t.Errorf("%s: %s: there is no test; does it need -tags e2e?", name, line)
			}
			for _, found := range pattern.FindAllStringSubmatch(line, -1) {
				first, _, _ := strings.Cut(found[1]+found[2]+found[3], "/")
				if first == "^$" {
					continue
				}
				wanted, err := regexp.Compile(first)
				if err != nil || !slices.ContainsFunc(functions, wanted.MatchString) {
					t.Errorf("%s: %s: nothing fits %s; does it need -tags e2e?", name, line, first)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("found only %d commands", seen)
	}
}
