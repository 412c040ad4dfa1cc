package yamltree

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"scalars":          {"a: 1\nb: 4.20\nc: yes\nd: true\ne: ~\nf: \"4.20\"\n", "a: 1\nb: 4.2\nc: \"yes\"\nd: true\ne: null\nf: \"4.20\"\n"},
		"octal is decimal": {"a: 0o17\n", "a: 15\n"},
		"block text":       {"a: |\n  b\n  c\n", "a: \"b\\nc\\n\"\n"},
		"anchors":          {"a: &x {b: 1}\nc: *x\n", "a:\n  b: 1\nc:\n  b: 1\n"},
		"merged":           {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3\n", "a:\n  b: 1\n  c: 2\nd:\n  b: 3\n  c: 2\n"},
		"merged several":   {"a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y]}\n", "a:\n  b: 1\nc:\n  b: 2\n  d: 3\ne:\n  b: 1\n  d: 3\n"},
		"text by its tag":  {"a: !!str 4.20\n", "a: \"4.20\"\n"},
		"JSON":             {`{"a": [1, {"b": null}], "c": {}}`, "a:\n- 1\n- b: null\nc: {}\n"},
		"two documents":    {"a: 1\n---\n- b\n", "a: 1\n---\n- b\n"},
		"empty ones":       {"---\n---\n# b\n---\na: 1\n---\n...\n--- # c\n---\nb: 1\n---\n", "a: 1\n---\nb: 1\n"},
		"directive":        {"%YAML 1.2\n# b\n---\na: 1\n...\n", "a: 1\n"},
		"nothing":          {"# a\n---\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			docs, problems := Parse([]byte(c.text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var texts []string
			for _, doc := range docs {
				texts = append(texts, doc.YAML())
			}
			check.Same(t, c.want, strings.Join(texts, "---\n"))
		})
	}
}

// TestVersion11 reads what the two versions of YAML take for different things.
func TestVersion11(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "true", "Off": "false", "TRUE": "true", "nO": "\"nO\"", "y": "\"y\"", "'yes'": "\"yes\"", "\"no\"": "\"no\"", "|\n  on": "\"on\\n\"",
		"017": "15", "0o17": "15", "08": "8", "0x1f": "31", "0b11": "3", "1_000": "1000", "-5": "-5", "+5": "5", "18446744073709551615": "18446744073709551615",
		"1e-05": "0.00001", "1e3": "1000", ".5": "0.5", "1.": "1", ".inf": "\".inf\"", "-.inf": "\"-.inf\"", ".nan": "\".nan\"", "1e999": "\"1e999\"", "0x1p4": "\"0x1p4\"",
		"~": "null", "Null": "null", "nuLL": "\"nuLL\"", "": "null", "''": "\"\"", "2001-01-01": "2001-01-01", "10:30": "\"10:30\"", "4.20": "4.2",
		"+": "\"+\"", ".": "\".\"", "_1": "_1", "!!str 5": "\"5\"", "*": "",
	} {
		docs, problems := Options{Version11: true}.Parse([]byte("a: " + text + "\n"))
		if want == "" {
			if len(problems) == 0 {
				t.Errorf("%q is read", text)
			}
			continue
		}
		if len(problems) > 0 {
			t.Errorf("%q: %v", text, problems)
			continue
		}
		if wanted, _ := Parse([]byte("a: " + want + "\n")); docs[0].YAML() != wanted[0].YAML() {
			t.Errorf("%q became %q, want %q", text, docs[0].YAML(), wanted[0].YAML())
		}
	}
}

// TestDiscreet: the error says what is wrong with a text without a word of it.
func TestDiscreet(t *testing.T) {
	for text, want := range map[string]string{
		"hunter2: 1\nhunter2: 2\n": "the key appears here a second time, first in line 1",
		"a: *hunter2\n":            "the alias has no anchor before it",
		"a: !hunter2 b\n":          "the tag means nothing here",
		"a: {b: hunter2: x}\n":     "is not valid YAML: a second colon is in this value",
	} {
		_, problems := Parse([]byte(text))
		if len(problems) != 1 || problems[0].Discreet() != want {
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
}

// TestLimit reads more if the limit is higher.
func TestLimit(t *testing.T) {
	text := []byte(strings.Repeat("#", MaxSize+1))
	if _, problems := (Options{MaxSize: 2 << 20}).Parse(text); len(problems) > 0 {
		t.Error(problems)
	}
	if _, problems := (Options{MaxSize: 2 << 20}).Parse(append(text, text...)); len(problems) != 1 || problems[0].Message != "is larger than 2 MiB" {
		t.Error(problems)
	}
}

// TestFields counts the fields of one map, and not those of its neighbours.
func TestFields(t *testing.T) {
	fields := func(indent string, n int) string { return strings.Repeat(indent+"a: 1\n", n) }
	for name, c := range map[string]struct {
		text string
		line int // of the problem; 0 for none, but that keys stand there again
	}{
		"as many as can be":    {fields("", maxFields), 0},
		"one more":             {fields("", maxFields+1), maxFields + 1},
		"below another":        {"b:\n" + fields("  ", maxFields+1), maxFields + 2},
		"on both sides":        {fields("", maxFields/2) + "b:\n  c:\n" + fields("    ", maxFields) + fields("", maxFields/2-1), 0},
		"around others":        {fields("", maxFields/2) + "b:\n  c: 1\n" + fields("", maxFields/2), maxFields + 2},
		"in two documents":     {fields("", maxFields) + "---\n" + fields("", maxFields), 0},
		"in items":             {"- b: 1\n" + fields("  ", maxFields-1) + "- b: 1\n" + fields("  ", maxFields-1), 0},
		"in one item":          {"- b: 1\n" + fields("  ", maxFields), maxFields + 1},
		"after question marks": {strings.Repeat("? a\n: 1\n", maxFields+1), 2*maxFields + 1},
		"in braces":            {"a: {" + strings.Repeat("b: 1, ", 2*maxFields) + "}\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse([]byte(c.text))
			wide := len(problems) == 1 && strings.Contains(problems[0].Message, "a map has 2000 at most")
			if wide != (c.line > 0) || wide && problems[0].At.Line != c.line {
				t.Errorf("%d problems, the first %v, want one in line %d", len(problems), problems[0], c.line)
			}
		})
	}
}

// TestDocuments reads each document by itself, with its directives.
func TestDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n...\nb: 1\n...\n":                            "a: 1\n|b: 1\n",
		"%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 1\n": "a: 1\n|b: 1\n",
		"# c\n---\na: 1\n# d\n---\n# e\nb: 1\n":             "a: 1\n|b: 1\n",
		"--- {a: 1}\n--- [b]\n--- |\n  c\n":                 "a: 1\n|- b\n|\"c\\n\"\n",
	} {
		docs, problems := Parse([]byte(text))
		var texts []string
		for _, doc := range docs {
			texts = append(texts, doc.YAML())
		}
		if got := strings.Join(texts, "|"); got != want || len(problems) > 0 {
			t.Errorf("%q became %q (%v), want %q", text, got, problems, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	docs, _ := Parse([]byte("a:\n  b: [x,\n      y]\n---\nc: 1\n"))
	b, _ := docs[0].Entries[0].Value.Get("b")
	got := fmt.Sprint(docs[0].At, docs[0].Entries[0].At, b.At, b.Items[1].At, docs[1].Entries[0].Value.At)
	check.Equal(t, got, "{1 1} {1 1} {2 6} {3 7} {5 4}", "places")
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":        {"a: [1", "1:4: is not valid YAML: what [ opens here is never closed"},
		"twice a key":    {"a: 1\na: 2\n", `2:1: the key "a" appears here a second time, first in line 1`},
		"two colons":     {"a: {b: c: d}\n", "1:8: is not valid YAML: a second colon is in this value"},
		"no anchor":      {"a: *b\n", "1:4: the alias *b has no anchor before it"},
		"part of itself": {"a: &a\n  b: *a\n", "2:6: the alias *a refers to a value that contains the alias itself"},
		"own tag":        {"a: !mine b\n", "1:4: the tag !mine means nothing here"},
		"merged scalar":  {"<<: 1\n", "1:1: << takes a map, or a list of maps"},
		"merged lists":   {"a: &a [[{}]]\nb: {<<: *a}\n", "2:5: << takes a map, or a list of maps"},
		"depth":          {strings.Repeat("[", 200), "1:101: is nested more than 100 levels deep"},
		"a tag alone":    {"!secret x", "1:8: is not a document: it has neither fields nor entries"},
		"size":           {strings.Repeat("#", MaxSize+1), "1:1: is larger than 1 MiB"},
		"all of them":    {"a: *b\nc: *d\n", "1:4: the alias *b has no anchor before it\n2:4: the alias *d has no anchor before it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse([]byte(c.text))
			var lines []string
			for _, p := range problems {
				lines = append(lines, fmt.Sprintf("%d:%d: %s", p.At.Line, p.At.Column, p.Message))
			}
			check.Same(t, c.want, strings.Join(lines, "\n"))
		})
	}
}

// What aliases and merge keys make of a small file may not fill the memory.
func TestGrowth(t *testing.T) {
	var keys strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&keys, "k%d: 1, ", i)
	}
	nested := "a0: &a0 [x]\n"
	for i := range 10 {
		nested += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, text := range map[string]string{
		"merged again and again": "a: &a {" + keys.String() + "}\nb:\n" + strings.Repeat("- {<<: *a}\n", 2000),
		"one map, many sources":  "a: &a {" + keys.String() + "}\nb: {<<: [" + strings.Repeat("*a, ", 2000) + "]}\n",
		"aliases of aliases":     nested,
	} {
		t.Run(name, func(t *testing.T) {
			docs, problems := Parse([]byte(text))
			if len(problems) != 1 || !strings.Contains(problems[0].Message, "grows too large") || !docs[0].TooLarge() {
				t.Errorf("too large: %v, problems %v", docs[0].TooLarge(), problems)
			}
			entries := 0
			for _, e := range docs[0].Entries {
				for _, item := range e.Value.Items {
					entries += len(item.Entries)
				}
			}
			if entries > maxNodes {
				t.Errorf("%d entries were made", entries)
			}
		})
	}
}

// FuzzParse: every problem has a place, and what is read without one is written so
// that it is read as the same again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a: &x {b: 1}\nc: [*x, ~, 'd', \"e\\n\"]\n", "a: |\n b\n", "? a\n: b\n", "- - 1\n  - 2.5e3\n", "<<: {a: 1}\n", "!!str 1", "a: 0x1f\nb: .inf\n", "{\"a\": [1]}", "---\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, problems := Parse(data)
		for _, p := range problems {
			if p.At.Line < 1 || p.At.Column < 1 || p.Message == "" {
				t.Fatalf("%+v has no place or no message", p)
			}
		}
		if len(problems) > 0 || !utf8.Valid(data) {
			return
		}
		for _, doc := range docs {
			if doc.Kind != Map && doc.Kind != List {
				continue
			}
			text := doc.YAML()
			again, problems := Parse([]byte(text))
			if len(problems) > 0 || len(again) != 1 {
				t.Fatalf("%d documents, %v when read again:\n%s", len(again), problems, text)
			}
			if diff := cmp.Diff(text, again[0].YAML()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
