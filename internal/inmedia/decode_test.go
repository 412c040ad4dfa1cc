package inmedia

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hubapi/agentinstall"
)

func TestDocuments(t *testing.T) {
	tests := []struct {
		text   string
		places []string // of the documents
	}{
		{"", nil},
		{"# only a comment\n", nil},
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
			for _, key := range []string{"a", "b"} {
				if token, value := entry(doc.body, key); value != nil {
					places = append(places, doc.placeOf(token))
				}
			}
		}
		if strings.Join(places, "|") != strings.Join(tt.places, "|") {
			t.Errorf("%q: documents at %q, want %q", tt.text, places, tt.places)
		}
	}
}

// TestDocumentsThatWouldBeLost begins one where none is looked for.
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
			if place := doc.place("spec.kernelArguments[0].value"); place != "" && !strings.HasPrefix(place, "line ") {
				t.Errorf("a place %q", place)
			}
		}
	})
}
