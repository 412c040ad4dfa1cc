package manual

import (
	"io"
	"strings"

	"github.com/oaictl/oaictl/internal/catalogue"
)

// Validations writes a page about every validation of the service, from the
// catalogue that `oaictl explain` and `oaictl why` read.
func Validations(w io.Writer) error {
	out := &printer{w: w}
	out.print("<!-- Generated from internal/catalogue by `go generate ./...`; edit that. -->\n\n# Validations\n\n" +
		"What the service checks before it installs, and what to do where a check fails.\n" +
		"`oaictl why` shows those that fail, by their causes; `oaictl explain validation ID`\n" +
		"says more about one.\n")
	for _, subject := range []catalogue.Subject{catalogue.SubjectHost, catalogue.SubjectCluster} {
		out.print("\n## Of a ", string(subject), "\n\n| id | passes when | failing blocks | remedy | field |\n| --- | --- | --- | --- | --- |\n")
		for _, entry := range catalogue.All(catalogue.KindValidation) {
			if entry.Subject != subject {
				continue
			}
			validation, _ := catalogue.Validation(subject, entry.Name)
			blocks, field := "no", ""
			if validation.Blocking {
				blocks = "yes"
			}
			if entry.Field != "" {
				field = "`" + entry.Field + "`"
			}
			out.print("| `", entry.Name, "` | ", cell(line(entry.Title)), " | ", blocks, " | ", cell(line(entry.Remedy.String())), " | ", cell(field), " |\n")
		}
	}
	return out.err
}

// line is text without its line breaks, and without what Markdown would take
// for emphasis.
func line(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "*", `\*`)
}
