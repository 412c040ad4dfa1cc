package test

import (
	"bufio"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// dialect matches words that no comment has: a sentence names who does what, in the standard words of the field.
var dialect = regexp.MustCompile(`(?i)\b(whoever|whatever|nobody|somebody|whom|told of|looked after|stands for)\b`)

// unclear are words that no page has: those of dialect, and two that are often read twice.
var unclear = regexp.MustCompile(dialect.String() + `|(?i)\b(of its own|is told)\b`)

// TestPages keeps all pages to plain technical English, the generated ones too, and YAML and other files with texts of the
// program: examples, the catalogue, the reasons of losses, help. CHANGELOG.md is left out: it is history, and its entries
// stay as they were released. Tests of formats have README.md as an input, below testdata.
func TestPages(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return descend("..", name, entry)
		case !isPage(path):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		seen++
		for _, found := range unclearIn(string(text)) {
			t.Errorf("%s says %q", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 200 {
		t.Errorf("found only %d pages", seen)
	}
}

// isPage reports whether a file is for readers.
func isPage(path string) bool {
	switch filepath.Ext(path) {
	case ".md":
		return path != "CHANGELOG.md"
	case ".yaml", ".txtar", ".tmpl", ".json", ".service":
		return path != "examples/shared/pull-secret.json" // its fake mail addresses have one of the words
	}
	return false
}

// TestTexts keeps what the program prints to plain technical English: the string literals outside of tests.
func TestTexts(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, is := n.(*ast.BasicLit)
			if !is || literal.Kind != token.STRING {
				return true
			}
			seen++
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatalf("%s: %v", s.at(literal.Pos()), err)
			}
			for _, found := range unclearIn(text) {
				t.Errorf("%s: a text says %q", s.at(literal.Pos()), found)
			}
			return true
		})
	}
	if seen < 10_000 {
		t.Errorf("found only %d texts", seen)
	}
}

// unclearIn finds the words in a text, also where they are on two lines.
func unclearIn(text string) []string {
	return unclear.FindAllString(strings.Join(strings.Fields(text), " "), -1)
}

func TestUnclearIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		"It has a namespace of\nits own, and the user is told.": 2,
		"Nobody asks, whatever it is.":                          2,
		"The user is informed. TestWaitsForNobody proves it.":   0,
	} {
		if got := unclearIn(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
	for path, want := range map[string]bool{
		"docs/hub.md": true, "internal/simulator/EVIDENCE.md": true, "examples/sno/cluster.yaml": true, "docs/hub-role.yaml": true,
		"internal/shared/explain/paths.yaml": true, "internal/cli/app/help.txtar": true, "docs/plan.schema.json": true,
		"CHANGELOG.md": false, "test/words_test.go": false, "examples/shared/pull-secret.json": false,
	} {
		if isPage(path) != want {
			t.Errorf("%s is a page: %v", path, !want)
		}
	}
}

// TestComments keeps the comments of all files to plain technical English.
func TestComments(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, found := range dialectOf(group) {
				t.Errorf("%s: a comment says %q", s.at(group.Pos()), found)
			}
		}
	}
}

// dialectOf finds the words in a comment, also where they are on two lines.
func dialectOf(group *ast.CommentGroup) []string {
	return dialect.FindAllString(strings.Join(strings.Fields(group.Text()), " "), -1)
}

func TestDialectIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		"// Whoever asks is\n// told\n// of it.":            2,
		"// The caller is told officially what the Pod is.": 0,
		"// The word Node stands for a Node.":               1,
	} {
		group := &ast.CommentGroup{}
		for line := range strings.SplitSeq(text, "\n") {
			group.List = append(group.List, &ast.Comment{Text: line})
		}
		if got := dialectOf(group); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// TestLinesAreShort holds lines outside of tests and generated files to 140 characters. A marker of controller-gen, which
// has to be one line, may be longer.
func TestLinesAreShort(t *testing.T) {
	const longest = 140
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.file) {
			continue
		}
		file := must.Get(os.Open(filepath.Join("..", s.path)))(t)
		lines := bufio.NewScanner(file)
		for number := 1; lines.Scan(); number++ {
			length := utf8.RuneCount(lines.Bytes())
			if length > longest && !strings.HasPrefix(strings.TrimSpace(lines.Text()), "// +kubebuilder:") {
				t.Errorf("%s:%d has %d characters, at most %d", s.path, number, length, longest)
			}
		}
		check.Do(t, file.Close())
	}
}
