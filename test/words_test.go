package test

import (
	"bufio"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// dialect matches words that no comment has: a sentence names who does what, in the standard words of the field.
var dialect = regexp.MustCompile(`(?i)\b(whoever|whatever|nobody|somebody|whom|told of|looked after|stands for)\b`)

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

// TestLinesAreShort counts the lines of more than 140 characters outside of tests and generated files. The number only falls.
func TestLinesAreShort(t *testing.T) {
	const longest, most = 140, 1341
	long := 0
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.file) {
			continue
		}
		file := must.Get(os.Open(filepath.Join("..", s.path)))(t)
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if utf8.RuneCount(lines.Bytes()) > longest {
				long++
			}
		}
		check.Do(t, file.Close())
	}
	if long > most {
		t.Errorf("%d lines have more than %d characters, before there were %d", long, longest, most)
	}
}
