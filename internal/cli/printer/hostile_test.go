package printer

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/escape"
)

// FuzzEveryFormatTakesEveryWord: one word of a machine must neither steer the
// terminal nor keep everything else from being printed, and programs read what it
// was.
func FuzzEveryFormatTakesEveryWord(f *testing.F) {
	for _, seed := range []string{"node-1", "\x1b[2J", "\u009b31m", "del\x7f", "\u202eevil", "a\nb", "\ufeff", "word-0-set-aside", "\U000e0001", "- x: {", "\\", `"`, "\u2028", "\uffff", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		key := "of " + word
		if len(key) > 100 { // no key of ours is as long as YAML allows
			key = "of a long word"
		}
		data := map[string]any{"items": []any{map[string]any{"name": word, key: word}, map[string]any{"name": "next"}}}
		encoded, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		result := Result{Data: data, Names: []string{word}, Table: func() Table {
			return Table{Columns: []Column{{Name: "NAME"}, {Name: "NEXT"}}, Rows: [][]string{{word, "x"}}}
		}}
		for _, kind := range []string{"table", "wide", "json", "yaml", "name"} {
			var out strings.Builder
			if err := (Format{kind: kind}).Print(&out, result); err != nil {
				t.Fatalf("%s of %q: %v", kind, word, err)
			}
			if lines := strings.ReplaceAll(out.String(), "\n", ""); escape.Needed(lines) {
				t.Errorf("%s of %q: %q", kind, word, out.String())
			}
			var got any
			switch kind {
			case "json":
				err = json.Unmarshal([]byte(out.String()), &got)
			case "yaml":
				err = yaml.Unmarshal([]byte(out.String()), &got)
			case "name":
				if strings.Count(out.String(), "\n") != 1 {
					t.Errorf("%q is several names: %q", word, out.String())
				}
				continue
			default:
				if strings.Count(out.String(), "\n") != 2 {
					t.Errorf("%q is several rows: %q", word, out.String())
				}
				continue
			}
			read, _ := json.Marshal(got)
			if wanted, _ := json.Marshal(want); err != nil || string(read) != string(wanted) {
				t.Errorf("%s of %q is read as %s: %v\n%s", kind, word, read, err, out.String())
			}
		}
	})
}
