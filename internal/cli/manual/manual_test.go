package manual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// tree is a small program with all that a page can hold.
func tree() *Page {
	root := &cobra.Command{
		Use: "ctl", Short: "Do things", Run: func(*cobra.Command, []string) {},
		Long: "Do things. And\nto others.\n\n  ctl \\n\n  .x\n\nThat is all.",
	}
	root.PersistentFlags().StringP("output", "o", "table", "how: `table|json`")
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a thing", Aliases: []string{"new"}, Example: "  ctl create x\n  ctl create y",
		Run: func(*cobra.Command, []string) {},
	}
	create.Flags().Bool("hard", false, "with 'force'")
	create.Flags().Bool("secret", false, "not shown")
	_ = create.Flags().MarkHidden("secret")
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	topic := &cobra.Command{Use: "topic", Short: "More to read", Long: "Read it."}
	root.AddCommand(create, hidden, topic)
	return Of(root)
}

func render(t *testing.T, write func(*Page, *strings.Builder) error) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, page := range tree().All() {
		var text strings.Builder
		must.Do(t, write(page, &text))
		got[page.Path] = text.String()
	}
	return got
}

func TestMarkdown(t *testing.T) {
	const head = "<!-- Generated from the commands by `go generate ./...`; edit those. -->\n\n"
	want := map[string]string{
		"ctl": head + "# ctl\n\nDo things.\n\n```\nctl COMMAND\n```\n\n" +
			"And\nto others.\n\n```\nctl \\n\n.x\n```\n\nThat is all.\n\n" +
			"## Flags of every command\n\n| flag | meaning |\n| --- | --- |\n| `-o, --output table\\|json` | how: table\\|json (default `table`) |\n\n" +
			"## Commands\n\n- [ctl create](ctl_create.md): create a thing\n\n## Topics\n\n- [ctl topic](ctl_topic.md): more to read\n",
		"ctl create": head + "# ctl create\n\nCreate a thing.\n\n```\nctl create NAME [flags]\n```\n\nAlso called `new`.\n\n" +
			"## Examples\n\n```\nctl create x\nctl create y\n```\n\n" +
			"## Flags\n\n| flag | meaning |\n| --- | --- |\n| `--hard` | with 'force' |\n\n" +
			"Besides these, the [flags of every command](ctl.md#flags-of-every-command).\n\nUp: [ctl](ctl.md)\n",
		"ctl topic": head + "# ctl topic\n\nMore to read.\n\nRead it.\n\nUp: [ctl](ctl.md)\n",
	}
	got := render(t, func(p *Page, w *strings.Builder) error { return p.Markdown(w) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestMan(t *testing.T) {
	want := map[string]string{
		"ctl": `.TH "CTL" "1" "" "oaictl" "oaictl manual"
.nh
.ad l
.SH NAME
ctl \- do things
.SH SYNOPSIS
\fBctl COMMAND\fP
.SH DESCRIPTION
.PP
And
to others.
.PP
.nf
  ctl \en
  .x
.fi
.PP
That is all.
.SH OPTIONS
.TP
\fB\-o, \-\-output\fP \fItable|json\fP
how: table|json (default table)
.SH SEE ALSO
.BR ctl\-create (1),
.BR ctl\-topic (1)
`,
		"ctl create": `.TH "CTL-CREATE" "1" "" "oaictl" "oaictl manual"
.nh
.ad l
.SH NAME
ctl\-create \- create a thing
.SH SYNOPSIS
\fBctl create NAME [flags]\fP
.SH EXAMPLES
.nf
ctl create x
ctl create y
.fi
.SH OPTIONS
.TP
\fB\-\-hard\fP
with 'force'
.SH SEE ALSO
.BR ctl (1)
`,
		"ctl topic": `.TH "CTL-TOPIC" "1" "" "oaictl" "oaictl manual"
.nh
.ad l
.SH NAME
ctl\-topic \- more to read
.SH DESCRIPTION
.PP
Read it.
.SH SEE ALSO
.BR ctl (1)
`,
	}
	got := render(t, func(p *Page, w *strings.Builder) error { return p.Man(w) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestEscapeStartsNoRequest(t *testing.T) {
	for text, want := range map[string]string{".so x": `\&.so x`, "'br": `\&'br`, `a\b`: `a\eb`, "--x": `\-\-x`, "a.b": "a.b"} {
		if got := escape(text); got != want {
			t.Errorf("escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestValidations finds every validation in its part of the page, in a row
// that is whole.
func TestValidations(t *testing.T) {
	var text strings.Builder
	must.Do(t, Validations(&text))
	hosts, clusters, found := strings.Cut(text.String(), "\n## Of a cluster\n")
	if !found {
		t.Fatal("no part about clusters")
	}
	for _, entry := range explain.All(explain.KindValidation) {
		part := map[explain.Subject]string{explain.SubjectHost: hosts, explain.SubjectCluster: clusters}[entry.Subject]
		_, row, found := strings.Cut(part, "\n| `"+entry.Name+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if !found || strings.Count(row, " | ") != 3 {
			t.Errorf("%s %s has the row %q", entry.Subject, entry.Name, row)
		}
	}
}
