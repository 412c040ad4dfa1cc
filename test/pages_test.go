package test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// architecture are the pages that explain the source. The first fits on three screens.
func architecture(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"architecture.md", "architecture-walls.md"} {
		text, err := os.ReadFile(filepath.Join("../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(text)
	}
	const most = 155
	if lines := strings.Count(found["architecture.md"], "\n"); lines > most {
		t.Errorf("docs/architecture.md has %d lines, more than %d", lines, most)
	}
	return found
}

// TestArchitecturePathsExist checks every folder and file that the pages name from the root of the module.
func TestArchitecturePathsExist(t *testing.T) {
	named := regexp.MustCompile("`((?:cmd|docs|internal|pkg|test|examples)/[^`\\s]*)`")
	for name, text := range architecture(t) {
		paths := named.FindAllStringSubmatch(text, -1)
		if len(paths) < 30 {
			t.Errorf("docs/%s names only %d paths", name, len(paths))
		}
		for _, path := range paths {
			if _, err := os.Stat(filepath.Join("..", path[1])); err != nil {
				t.Errorf("docs/%s names %s, which does not exist", name, path[1])
			}
		}
	}
}

// TestArchitectureNamesExist checks every "`Name` in `path`": the file, or a file of the folder, declares the name.
func TestArchitectureNamesExist(t *testing.T) {
	declared := map[string]map[string]bool{}
	for _, s := range sources(t) {
		for _, place := range []string{s.path, s.pkg} {
			if declared[place] == nil {
				declared[place] = map[string]bool{}
			}
			addDeclared(s.file, declared[place])
		}
	}
	named := regexp.MustCompile("`([A-Za-z.]+)`(?:\\s+\\([^)]*\\))?\\s+in\\s+`([a-z/_]+(?:\\.go)?)`")
	seen := 0
	for page, text := range architecture(t) {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			seen++
			if name, place := found[1], found[2]; !declared[place][name] {
				t.Errorf("docs/%s says that %s is in %s, which does not declare it", page, name, place)
			}
		}
	}
	if seen < 35 {
		t.Errorf("the pages name only %d declarations with their places", seen)
	}
}

// addDeclared notes what a file declares at its top level. A method is noted as Name and as Type.Name.
func addDeclared(file *ast.File, names map[string]bool) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
			if d.Recv != nil {
				names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names[name.Name] = true
					}
				}
			}
		}
	}
}

// receiver is the name of the type that has a method.
func receiver(of ast.Expr) string {
	switch e := of.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestPackagesSayWhatTheyAre checks that each package and each command has a comment with a whole sentence, where
// docs/architecture.md sends its readers.
func TestPackagesSayWhatTheyAre(t *testing.T) {
	comments := map[string]string{}
	for _, s := range sources(t) {
		if said, known := comments[s.pkg]; !known || said == "" {
			comments[s.pkg] = s.file.Doc.Text()
		}
	}
	if len(comments) < 150 {
		t.Fatalf("found only %d packages", len(comments))
	}
	for pkg, comment := range comments {
		if trouble := unclearComment(comment); trouble != "" {
			t.Errorf("the comment of package %s %s: %q", pkg, trouble, comment)
		}
	}
}

// unclearComment says what the comment of a package lacks, "" if nothing.
func unclearComment(comment string) string {
	first, _, ended := strings.Cut(strings.Join(strings.Fields(comment), " ")+" ", ". ")
	words := strings.Fields(first)
	switch {
	case len(words) == 0:
		return "is missing"
	case words[0] != "Package" && words[0] != "Command":
		return "does not begin with Package or Command"
	case !ended || len(words) < 5:
		return "has no whole sentence"
	}
	return ""
}

func TestUnclearCommentIsSeen(t *testing.T) {
	for comment, want := range map[string]string{
		"":                     "is missing",
		"Here are clusters.":   "does not begin with Package or Command",
		"Package x":            "has no whole sentence",
		"Package x has types.": "has no whole sentence",
		"Package x has the types of all objects\n":            "has no whole sentence",
		"Package x has the types of\nall objects. And":        "",
		"Command x writes the types of all objects. It is.\n": "",
	} {
		if got := unclearComment(comment); got != want {
			t.Errorf("%q: %q, want %q", comment, got, want)
		}
	}
}
