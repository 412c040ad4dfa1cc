package agentmedia

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
)

func TestDocuments(t *testing.T) {
	tests := []struct {
		text   string
		places []string // of the documents
	}{
		{"", nil},
		{"# only a comment\n", nil},
		{"%YAML 1.2\n# of the medium\n---\na: 1\n...\n", []string{"line 4, column 1: "}},
		{"\ufeffa: 1\n", []string{"line 1, column 1: "}},
		{"---\n---\n", nil},
		{"a: 1\n", []string{"line 1, column 1: "}},
		{"---\na: 1\n--- # the next\nb: 1\n", []string{"line 2, column 1: ", "line 4, column 1: "}},
		{"a: |\n  text\n  ---\n  more\n", []string{"line 1, column 1: "}},
		{"a: 1\r\n---\r\nb: 1\r\n", []string{"line 1, column 1: ", "line 3, column 1: "}},
	}
	for _, tt := range tests {
		docs, err := documents("x.yaml", []byte(tt.text))
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		var places []string
		for _, doc := range docs {
			for _, e := range doc.body.Entries {
				places = append(places, positionText(e.At))
			}
		}
		if strings.Join(places, "|") != strings.Join(tt.places, "|") {
			t.Errorf("%q: documents at %q, want %q", tt.text, places, tt.places)
		}
	}
}

// TestDocumentsAreBounded refuses what would grow beyond all bounds, in which the test would never end, and
// says what is wrong without a word of it.
func TestDocumentsAreBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	for name, text := range map[string]string{
		"deep lists": "a: " + strings.Repeat("[", 1<<18), "deep maps": "a: " + strings.Repeat("{b: ", 1<<16), "aliases": bomb,
		"a key twice": "hunter2: 1\nhunter2: 2\n", "no YAML": "a: {b: hunter2: x}\n", "an unknown alias": "a: *hunter2\n",
	} {
		_, err := documents("x.yaml", []byte(text))
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "it is not valid YAML: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDocumentsThatWouldBeLost begins a document where the reader does not expect one.
func TestDocumentsThatWouldBeLost(t *testing.T) {
	for _, text := range []string{"a: 1\n--- {b: 1}\n", "a: 1\n---  # the next\nb: 1\n", "a: 1\n...\nb: 1\n"} {
		docs, err := documents("x.yaml", []byte(text))
		if err == nil && len(docs) != 2 {
			t.Errorf("%q: %d documents and no error", text, len(docs))
		}
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add([]byte(infraEnvYAML))
	f.Add([]byte(infraEnvYAML + "---\n" + infraEnvYAML))
	f.Add([]byte("a: &x {b: *x}\n"))
	f.Add([]byte("? [a]\n: !!binary b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := documents("x.yaml", data)
		if err != nil {
			return
		}
		for _, doc := range docs {
			var env agentinstall.InfraEnv
			if _, err := doc.object(hubapi.KindInfraEnv, &env); err != nil && err.Error() == "" {
				t.Error("an error without a text")
			}
			if place := doc.at("spec.kernelArguments[0].value"); place != "" && !strings.HasPrefix(place, "line ") {
				t.Errorf("a place %q", place)
			}
		}
	})
}
