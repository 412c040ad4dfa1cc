package listtext

import (
	"fmt"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestFew(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint("h", i))
	}
	for n, want := range map[int]string{0: "", 1: "h0", 8: "h0, h1, h2, h3, h4, h5, h6, h7", 9: "h0, h1, h2, h3, h4, h5, h6 and 2 more", 500: "h0, h1, h2, h3, h4, h5, h6 and 493 more"} {
		if got := ListText(names[:n]); got != want {
			t.Errorf("%d names: %s", n, got)
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"": "''", "lab/auth": "lab/auth", "the lab": "'the lab'", "it's": `'it'\''s'`, "$1": "'$1'", "plain-1.yaml": "plain-1.yaml", "jsonpath={.a}": "'jsonpath={.a}'"} {
		check.Equal(t, Quoted(word), want, word)
	}
}
