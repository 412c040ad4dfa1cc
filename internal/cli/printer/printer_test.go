package printer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func sample() Result {
	type item struct {
		Name  string `json:"name"`
		State string `json:"state"`
		Note  string `json:"note,omitempty"`
	}
	items := []item{{"lab", "Ready", "a < b"}, {"edge-42", "Installed", ""}}
	return Result{
		Data:  map[string]any{"items": items},
		Names: []string{"cluster/lab", "cluster/edge-42"},
		Table: func() Table {
			table := Table{Columns: []Column{{Name: "NAME"}, {Name: "HOSTS", Right: true}, {Name: "ID", Wide: true}, {Name: "STATE"}}, Empty: "none"}
			for i, it := range items {
				table.Rows = append(table.Rows, []string{it.Name, strings.Repeat("1", i+1), "id", it.State})
			}
			return table
		},
	}
}

func TestPrint(t *testing.T) {
	tests := []struct{ format, want string }{
		{"", "NAME      HOSTS   STATE\nlab           1   Ready\nedge-42      11   Installed\n"},
		{"table", "NAME      HOSTS   STATE\nlab           1   Ready\nedge-42      11   Installed\n"},
		{"wide", "NAME      HOSTS   ID   STATE\nlab           1   id   Ready\nedge-42      11   id   Installed\n"},
		{"name", "cluster/lab\ncluster/edge-42\n"},
		{"json", "{\n  \"items\": [\n    {\n      \"name\": \"lab\",\n      \"state\": \"Ready\",\n      \"note\": \"a < b\"\n    },\n    {\n      \"name\": \"edge-42\",\n      \"state\": \"Installed\"\n    }\n  ]\n}\n"},
		{"yaml", "items:\n- name: lab\n  note: a < b\n  state: Ready\n- name: edge-42\n  state: Installed\n"},
		{"jsonpath={.items[*].name}", "lab edge-42"},
		{"jsonpath={.}", `{"items":[{"name":"lab","note":"a \u003c b","state":"Ready"},{"name":"edge-42","state":"Installed"}]}`},
		{"jsonpath=.", `{"items":[{"name":"lab","note":"a \u003c b","state":"Ready"},{"name":"edge-42","state":"Installed"}]}`},
		{"jsonpath={range .items[1:]}{ . }{end}", `{"name":"edge-42","state":"Installed"}`},
		{"jsonpath=.items[1].state", "Installed"},
		{"jsonpath=items[0].name", "lab"},
		{`jsonpath={range .items[*]}{.name}{"\n"}{end}`, "lab\nedge-42\n"},
	}
	for _, tt := range tests {
		t.Run(tt.format, func(t *testing.T) {
			format := must.Get(Parse(tt.format))(t)
			var out strings.Builder
			must.Do(t, format.Print(&out, sample()))
			check.Same(t, tt.want, out.String())
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, value := range []string{"xml", "JSON", "jsonpath", "jsonpath=", "jsonpath= ", "jsonpath={.items[", "go-template={{.}}"} {
		if _, err := Parse(value); err == nil {
			t.Errorf("Parse(%q) accepted it", value)
		}
	}
}

func TestTemplateThatFindsNothingIsAnError(t *testing.T) {
	format := must.Get(Parse("jsonpath={.nothing}"))(t)
	var out strings.Builder
	var unfit *TemplateError
	if err := format.Print(&out, sample()); !errors.As(err, &unfit) || unfit.Template != "{.nothing}" {
		t.Errorf("a missing field: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q before it failed", out.String())
	}
}

// thing is a type with fields that are mostly left out while they are empty.
type thing struct {
	Name   string     `json:"name"`
	Stage  string     `json:"stage,omitempty"`
	Count  int        `json:"count,omitempty"`
	Done   bool       `json:"done,omitempty"`
	At     *time.Time `json:"at,omitempty"`
	Notes  []string   `json:"notes,omitempty"`
	Detail *detail    `json:"detail,omitempty"`
	Inner  *thing     `json:"inner,omitempty"`
}

type detail struct {
	Parts []thing `json:"parts"`
	Size  int     `json:"size"`
}

// What a type has is merely empty where it is left out; what it does not have is a
// mistake.
func TestTemplateThatNamesWhatIsEmpty(t *testing.T) {
	type list struct {
		Items []thing `json:"items"`
	}
	one := thing{Name: "lab"}
	two := list{[]thing{{Name: "lab"}, {Name: "edge", Stage: "Rebooting", Count: 3, Detail: &detail{Parts: []thing{}}}}}
	for _, tt := range []struct {
		template string
		data     any
		want     string // "" with fails
		fails    string
	}{
		{"{.name}|{.stage}|{.count}|{.done}|{.at}|{.notes}", one, "lab|||||", ""},
		{"{.count}", thing{Count: 16 << 30}, "17179869184", ""},
		{"{.detail}", one, "", ""},
		{"{.detail.size}", &one, "", ""},
		{"{.detail.parts[0].stage}", one, "", ""},
		{"{.notes[0]}", one, "", ""},
		{"{.inner.inner.stage}", thing{Inner: &thing{}}, "", ""},
		{`{.items[?(@.count>2)].name}`, two, "edge", ""},
		{`{range .items[*]}{.name}={.stage}{"\n"}{end}`, two, "lab=\nedge=Rebooting\n", ""},
		{`{range .items[*]}{.name}{"\n"}{end}`, list{Items: []thing{}}, "", ""},
		{`{range .items[1].detail.parts[*]}{.name}{end}`, two, "", ""},
		{"{.}", one, `{"name":"lab"}`, ""},
		{"{.stage}{.nosuch}", one, "", "nosuch is not found"},
		{"{.at.nosuch}", one, "", "nosuch is not found"},
		{"{.detail.nosuch}", one, "", "nosuch is not found"},
		{"{range .items[*]}{.nosuch}{end}", list{Items: []thing{}}, "", "nosuch is not found"},
		{"{.items[0].name}", list{Items: []thing{}}, "", "index 0, length 0"},
	} {
		format, err := Parse("jsonpath=" + tt.template)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = format.Print(&out, Result{Data: tt.data})
		check.Equal(t, out.String(), tt.want, tt.template)
		if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %v", tt.template, err)
		}
	}
}

// A template does not wear out.
func TestTemplateOfLinesIsTheSameForEach(t *testing.T) {
	format := must.Get(Parse("jsonpath={.name}:{range .notes[*]} {@}{end};"))(t)
	var out strings.Builder
	for range 3 {
		must.Do(t, format.PrintLine(&out, Result{Data: thing{Name: "lab", Notes: []string{"a", "b"}}}, false))
	}
	check.Equal(t, out.String(), strings.Repeat("lab: a b;\n", 3))
}

func TestPrintLine(t *testing.T) {
	for format, want := range map[string]string{
		"json":                   `{"items":[{"name":"lab","state":"Ready","note":"a < b"},{"name":"edge-42","state":"Installed"}]}` + "\n",
		"jsonpath=items[1].name": "edge-42\n",
		// A template that ends its line gets no second end.
		`jsonpath={.items[1].name}{"\n"}`: "edge-42\n",
		"table":                           "lab           1   Ready\nedge-42      11   Installed\n",
	} {
		f := must.Get(Parse(format))(t)
		var out strings.Builder
		must.Do(t, f.PrintLine(&out, sample(), false))
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestEmptyTable(t *testing.T) {
	format, _ := Parse("table")
	var out strings.Builder
	must.Do(t, format.Print(&out, Result{Table: func() Table { return Table{Columns: []Column{{Name: "NAME"}}, Empty: "no clusters"} }}))
	check.Equal(t, out.String(), "no clusters\n")
}

// TestProseBelow writes prose below its row where there is no room beside it, and nothing where there is none.
func TestProseBelow(t *testing.T) {
	format, _ := Parse("table")
	long := strings.Repeat("n", 70)
	table := Table{Columns: []Column{{Name: "NAME"}, {Name: "WAITS FOR", Prose: true}}, Rows: [][]string{{long, ""}, {long, "an image"}, {long, ""}}}
	var out strings.Builder
	must.Do(t, format.Print(&out, Result{Table: func() Table { return table }}))
	check.Equal(t, out.String(), "NAME\n"+long+"\n"+long+"\n    an image\n"+long+"\n")
}

func TestAgeAndMoment(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 90 * time.Minute: "90m",
		2*time.Hour + 5*time.Minute: "2h05m", 49 * time.Hour: "2d1h",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %q, want %q", d, got, want)
		}
	}
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		at       time.Time
		terminal bool
		want     string
	}{
		{time.Time{}, true, ""}, {now.Add(-3 * time.Minute), true, "3m ago"}, {now.Add(time.Hour), true, "in 60m"},
		{now.Add(-3 * time.Minute), false, "2026-08-01T11:57:00Z"},
	} {
		if got := Moment(tt.at, now, tt.terminal); got != tt.want {
			t.Errorf("Moment(%v, %v) = %q, want %q", tt.at, tt.terminal, got, tt.want)
		}
	}
}

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
		must.Do(t, json.Unmarshal(encoded, &want))
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
