package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the import path that everything here starts with.
const module = "github.com/oaictl/oaictl"

// source is one Go file of the module, for any platform.
type source struct {
	path    string // from the module's root: "pkg/install/run.go"
	pkg     string // folder, from the module's root: "pkg/install"
	main    bool   // part of a program
	test    bool   // a test, or what only tests share
	imports []string
	file    *ast.File
	fset    *token.FileSet
}

// at is a place in the file as an editor understands it.
func (s source) at(pos token.Pos) string {
	p := s.fset.Position(pos)
	return s.path + ":" + strconv.Itoa(p.Line)
}

// sources parses every Go file of the module: not what the build of this
// platform happens to select, but all of them.
func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var found []source
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return descend(root, name, entry)
		case filepath.Ext(name) != ".go":
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(rel), name)
		if err == nil {
			found = append(found, s)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no Go files found")
	}
	return found
}

// descend keeps the walk inside the module and out of what git does not hold.
func descend(root, name string, entry fs.DirEntry) error {
	if name == root {
		return nil
	}
	base := entry.Name()
	if strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || base == "dist" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir // a module of its own
	}
	return nil
}

func parse(rel, name string) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	s := source{
		path: rel, pkg: path.Dir(rel), file: file, fset: fset,
		main: file.Name.Name == "main", test: strings.HasSuffix(rel, "_test.go") || path.Dir(rel) == "test/fixture",
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// within reports whether a path is one that a pattern means: "a/b" is that one
// alone, "a/b/..." that one and all below it.
func within(pattern, name string) bool {
	tree, below := strings.CutSuffix(pattern, "/...")
	if !below {
		return name == pattern
	}
	return name == tree || strings.HasPrefix(name, tree+"/")
}

func withinAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if within(pattern, name) {
			return true
		}
	}
	return false
}
