package texttemplate_test

import (
	"bytes"
	"testing"
	"text/template"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/texttemplate"
)

// TestAsTextTemplate holds what is written to what text/template writes of the same template and values.
func TestAsTextTemplate(t *testing.T) {
	values := func() texttemplate.Values {
		return texttemplate.Values{
			"Name": "edge", "Empty": "", "Yes": true, "No": false, "Names": []any{"a", "b"}, "None": []any{},
			"Hosts": []any{texttemplate.Values{"Name": "cp-0", "BMC": ""}, texttemplate.Values{"Name": "cp-1", "BMC": "https://b"}},
		}
	}
	for _, text := range []string{
		"", "plain\n", "name: {{.Name}}\n", "name: {{quote .Name}}\n", `{{"${A:=b}"}}`, "a{{/* left out */}}b",
		"{{if .Yes}}yes{{else}}no{{end}} {{if .No}}yes{{else}}no{{end}} {{if .No}}yes{{end}}",
		"{{if .Name}}yes{{end}}{{if .Empty}}yes{{else}}no{{end}}{{if .Names}}yes{{end}}{{if .None}}yes{{else}}no{{end}}",
		"a:\n{{- if .Yes}}\n  b: {{.Name}}\n{{- else}}\n  c: 1\n{{- end}}\nd: 2\n", "{{if .No}}a{{else if .Yes}}b{{else}}c{{end}}",
		`{{if eq .Name "edge"}}edge{{end}}{{if ne .Name "sno"}} more{{end}}{{if eq .Name "sno"}}one{{end}}`, "{{if not .No}}a{{end}}{{if not .Name}}b{{end}}",
		"{{if not (eq .Name .Empty)}}a{{end}}", "{{range .Names}}- {{.}} of {{$.Name}}\n{{end}}", "{{range .None}}- {{.}}\n{{end}}",
		"{{range .Hosts}}\n- {{.Name}}\n{{- if .BMC}}\n  bmc: {{quote .BMC}} {{$.Name}}\n{{- end}}\n{{- end}}\n",
	} {
		var want bytes.Buffer
		parsed, err := template.New("it").Funcs(template.FuncMap{"quote": texttemplate.Quote}).Parse(text)
		if err == nil {
			err = parsed.Execute(&want, values())
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got, err := texttemplate.Text("it", text, values()); err != nil || string(got) != want.String() {
			t.Errorf("%q: %q, %v; text/template writes %q", text, got, err, &want)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	values := texttemplate.Values{"Name": "edge", "Yes": true, "Names": []any{"a"}}
	for text, want := range map[string]string{
		"{{if .Name}}":                            "unexpected EOF",
		"a\n{{.Nmae}}":                            "template it:2:2: .Nmae has no value",
		"{{$.Nmae}}":                              "$.Nmae has no value",
		"{{.Yes}}":                                "is a bool, not a text",
		"{{.Names}}":                              "is a []interface {}, not a text",
		"{{range .Name}}a{{end}}":                 "is a string, not a list",
		"{{range .Names}}{{.Name}}{{end}}":        ".Name is not known here",
		"{{.Name.First}}":                         ".Name.First is not known here",
		"{{.Name | quote}}":                       "another form",
		"{{$a := .Name}}":                         "another form",
		"{{eq .Name}}":                            "other arguments than eq takes",
		"{{quote .Yes}}":                          "other arguments than quote takes",
		"{{printf .Name}}":                        `function "printf" not defined`,
		"{{with .Name}}a{{end}}":                  "is not known here",
		"{{range .Names}}a{{else}}b{{end}}":       "without an else",
		"{{define `a`}}{{end}}{{template `a`}}":   "is not known here",
		"{{if .Names}}{{.Yes}}{{else}}b{{end}}{{": "unclosed action",
	} {
		check.Says(t, check.Err(texttemplate.Text("it", text, values)), want, text)
	}
}
