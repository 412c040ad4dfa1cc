package escape

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestWordsAndLines(t *testing.T) {
	for text, want := range map[string][2]string{ // a word, lines
		"plain é 漢 🙂":         {"plain é 漢 🙂", "plain é 漢 🙂"},
		"\x1b[31mred\x07":     {`\u001b[31mred\u0007`, `\u001b[31mred\u0007`},
		"C1 \u009b31m":        {`C1 \u009b31m`, `C1 \u009b31m`},
		"raw C1 \x9b31m":      {`raw C1 \x9b31m`, `raw C1 \x9b31m`},
		"del\x7f":             {`del\u007f`, `del\u007f`},
		"a\nb\tc\r":           {`a\nb\tc\r`, "a\nb\tc" + `\r`},
		"\u202ecod.exe\u2069": {`\u202ecod.exe\u2069`, `\u202ecod.exe\u2069`},
		"a\u2028b\u200b":      {`a\u2028b\u200b`, `a\u2028b\u200b`},
		"tag \U000e0041":      {`tag \U000e0041`, `tag \U000e0041`},
		"\ufffd stays":        {"\ufffd stays", "\ufffd stays"},
	} {
		if got := Word(text); got != want[0] {
			t.Errorf("Word(%q) is %q", text, got)
		}
		if got := Lines(text); got != want[1] {
			t.Errorf("Lines(%q) is %q", text, got)
		}
	}
}

func TestSprintf(t *testing.T) {
	type name string
	got := Sprintf("%s|%s|%v|%d|%-4s|\n%s", "a\nb", name("\x1b"), errors.New("c\nd"), 7, "e", Text("f\n\x1bg"))
	check.Equal(t, got, `a\nb|\u001b|c\nd|7|e   |`+"\nf\n"+`\u001bg`)
}

func FuzzNothingSteersATerminal(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b]0;title\x07", "\x9b", "\u202e", "a\r\nb", "\xff\xfe", "\U000e0001", "\\u001b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Word(text), strings.ReplaceAll(Lines(text), "\n", ""), Sprintf("%s%v", text, errors.New(text))} {
			if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return steers(r) && r != '\t' }) || Needed(strings.ReplaceAll(got, "\t", "")) {
				t.Errorf("%q became %q", text, got)
			}
		}
		if !Needed(text) && Word(text) != text {
			t.Errorf("%q became %q without need", text, Word(text))
		}
		document := must.Get(json.Marshal(map[string]string{text: text}))(t)
		var before, after map[string]string
		clean := JSON(document)
		must.Do(t, json.Unmarshal(document, &before))
		if err := json.Unmarshal(clean, &after); err != nil || Needed(string(clean)) {
			t.Fatalf("%q became %q: %v", document, clean, err)
		}
		for key, value := range before {
			if after[key] != value {
				t.Errorf("%q has become %q", value, after[key])
			}
		}
	})
}
