package yamltree

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestMistakes: each says where it was made, which may be lines above what a parser
// stumbles over, what stands there, and what to write.
func TestMistakes(t *testing.T) {
	const file = "kind: Cluster\nmetadata:\n  name: lab\nspec:\n  openshift:\n    version: \"4.20\"\n  baseDomain: example.com\n  hosts:\n  - name: cp-0\n    role: worker\n  - name: cp-1\n"
	edit := func(old, replacement string) string {
		if !strings.Contains(file, old) {
			t.Fatalf("there is no %q", old)
		}
		return strings.Replace(file, old, replacement, 1)
	}
	inUTF16 := "\xff\xfe"
	for _, unit := range utf16.Encode([]rune(file)) {
		inUTF16 += string([]byte{byte(unit), byte(unit >> 8)})
	}
	for name, test := range map[string]struct{ text, want string }{
		"tab":                     {edit("  name", "\tname"), "3:1: is not valid YAML: a tab is in the indentation; write blanks instead"},
		"tab behind blanks":       {edit("  baseDomain", "  \tbaseDomain"), "7:3: is not valid YAML: a tab is in the indentation; write blanks instead"},
		"no-break space":          {edit("  baseDomain", "\u00a0\u00a0baseDomain"), "7:1: is not valid YAML: the character U+00A0 is"},
		"colon missing":           {edit("baseDomain:", "baseDomain"), "7:13: is not valid YAML: a colon is missing behind baseDomain;"},
		"colon missing, alone":    {edit("metadata:", "metadata"), "2:9: is not valid YAML: a colon is missing behind this word;"},
		"blank missing":           {edit("baseDomain: ", "baseDomain:"), "7:13: is not valid YAML: a blank is missing behind the colon of baseDomain;"},
		"another colon":           {edit("baseDomain:", "baseDomain："), "7:13: is not valid YAML: this colon is not the one of YAML;"},
		"too far in":              {edit("  baseDomain", "   baseDomain"), "7:4: is not valid YAML: this line is indented by 3, and nothing above it is; indent it by 2 or 4,"},
		"not far enough":          {edit("  baseDomain", " baseDomain"), "7:2: is not valid YAML: this line is indented by 1, and nothing above it is; indent it by 0 or 2,"},
		"a field with both":       {edit("example.com", "example.com\n    deeper: 1"), "8:5: is not valid YAML: baseDomain has a value already,"},
		"colon in a value":        {edit("example.com", "example.com: x"), "7:26: is not valid YAML: a second colon is in the value of baseDomain; put the value in quotes"},
		"quote not closed":        {edit("example.com", "\"example.com"), "7:15: is not valid YAML: what \" opens here is not closed on this line;"},
		"single quote not closed": {edit("example.com", "'example.com"), "7:15: is not valid YAML: what ' opens here is not closed on this line;"},
		"brace not closed":        {edit("example.com", "{a: b"), "7:15: is not valid YAML: what { opens here is not closed before the next field; close it with },"},
		"bracket not closed":      {edit("example.com", "[a"), "7:15: is not valid YAML: what [ opens here is not closed before the next field; close it with ],"},
		"reserved":                {edit("example.com", "@example.com"), "7:15: is not valid YAML: a value must not begin with @; put it in quotes"},
		"an anchor":               {edit("example.com", "&"), "7:15: is not valid YAML: a value that begins with & means something else to YAML;"},
		"escape":                  {edit("example.com", `"C:\dir"`), "7:19: is not valid YAML: in \"…\" a backslash begins an escape,"},
		"text behind a bar":       {edit("example.com", "|example.com"), "7:15: is not valid YAML: text is on the line of | or >;"},
		"block not indented":      {edit("example.com", "|\n  geheim"), "8:3: is not valid YAML: the text of the | or > above has to be indented;"},
		"dash without blank":      {edit("- name: cp-0", "-name: cp-0"), "9:3: is not valid YAML: a blank is missing behind the dash;"},
		"template":                {edit("example.com", "{{ domain }}"), "7:15: is not valid YAML: this looks like a template that has not been filled in;"},
		"merge conflict":          {edit("metadata", "<<<<<<< HEAD\nmetadata"), "2:1: is not valid YAML: a conflict of a merge has been left here;"},
		"UTF-16":                  {inUTF16, "1:1: is no text in UTF-8; it is UTF-16: save it as UTF-8"},
		"Latin-1":                 {edit("example.com", "m\xfcller.de"), "7:16: is no text in UTF-8; save it as UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse([]byte(test.text))
			if len(problems) != 1 {
				t.Fatalf("%d problems: %v", len(problems), problems)
			}
			p := problems[0]
			got := fmt.Sprintf("%d:%d: %s; %s", p.At.Line, p.At.Column, p.Message, p.Remedy)
			if !strings.HasPrefix(got, test.want) || p.Remedy == "" || strings.Contains(got, "geheim") {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestByteOrderMark: what some editors write before a text is not part of it.
func TestByteOrderMark(t *testing.T) {
	docs, problems := Parse([]byte("\xef\xbb\xbf# a comment\na: 1\n"))
	if len(problems) > 0 || len(docs) != 1 || docs[0].YAML() != "a: 1\n" || docs[0].At != (Position{2, 1}) {
		t.Errorf("%v, %v", docs, problems)
	}
}
