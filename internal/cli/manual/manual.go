// Package manual writes the tree of commands down: as Markdown for
// docs/reference, and as man pages for a release. It says nothing of its own;
// every word comes from the commands.
package manual

//go:generate go run ./gen --markdown ../../../docs/reference --validations ../../../docs/validations.md

import (
	"embed"
	"io"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/explain"
)

// Page is what there is to say about one command or help topic.
type Page struct {
	Path     string // "oaictl create cluster"
	Short    string // one line, without a full stop
	Long     string // prose; "" where Short says it all
	Synopsis string // "oaictl create cluster -f FILE [flags]"; "" for a topic
	Also     []string
	Examples string
	Flags    *pflag.FlagSet // its own; the root's are those of every command
	Parent   *Page
	Children []*Page
	Topic    bool
}

// Of reads a command and all below it that a person is meant to see.
func Of(command *cobra.Command) *Page {
	page := &Page{
		Path:     command.CommandPath(),
		Short:    command.Short,
		Long:     strings.TrimSpace(command.Long),
		Also:     command.Aliases,
		Examples: strings.Trim(command.Example, "\n"),
		Flags:    command.NonInheritedFlags(),
		Topic:    command.IsAdditionalHelpTopicCommand(),
	}
	switch {
	case page.Topic:
	case app.IsGroup(command):
		page.Synopsis = page.Path + " COMMAND"
	default:
		page.Synopsis = command.UseLine()
	}
	// Help shows the long text alone, so that often starts with the short one.
	page.Long = strings.TrimSpace(strings.TrimPrefix(page.Long, page.Short+"."))
	for _, sub := range command.Commands() {
		if sub.Name() != "help" && (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) {
			child := Of(sub)
			child.Parent = page
			page.Children = append(page.Children, child)
		}
	}
	return page
}

// All is the page and every page below it, parents first.
func (p *Page) All() []*Page {
	pages := []*Page{p}
	for _, child := range p.Children {
		pages = append(pages, child.All()...)
	}
	return pages
}

// MarkdownName is the name of the page's Markdown file.
func (p *Page) MarkdownName() string { return p.name("_") + ".md" }

// ManName is the name of the page's file in section 1.
func (p *Page) ManName() string { return p.name("-") + ".1" }

// Markdown writes the page for docs/reference.
func (p *Page) Markdown(w io.Writer) error { return write(w, "page.md.tmpl", p) }

// Man writes the page for man(7), without a date: the same commands give the same bytes.
func (p *Page) Man(w io.Writer) error { return write(w, "page.man.tmpl", p) }

// Validations writes a page about every validation of the service, from the catalogue.
func Validations(w io.Writer) error {
	return write(w, "validations.md.tmpl", []explain.Subject{explain.SubjectHost, explain.SubjectCluster})
}

func validationsOf(subject explain.Subject) []explain.ValidationEntry {
	var validations []explain.ValidationEntry
	for _, entry := range explain.All(explain.KindValidation) {
		if validation, known := explain.Validation(subject, entry.Name); known && entry.Subject == subject {
			validations = append(validations, validation)
		}
	}
	return validations
}

//go:embed *.tmpl
var templates embed.FS

func write(w io.Writer, name string, data any) error {
	page, err := template.New(name).Funcs(template.FuncMap{
		"name": (*Page).name, "root": (*Page).root, "flags": (*Page).flags, "also": (*Page).also, "children": (*Page).children,
		"prose": prose, "lowerFirst": lowerFirst,
		"escape": escape, "verbatim": verbatim, "paragraphs": paragraphs, "upper": strings.ToUpper,
		"validations": validationsOf,
		"fence":       func(text string) string { return "```\n" + text + "\n```\n" },
		"outdent":     func(text string) string { return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n") },
		// cell is text for a table of Markdown.
		"cell": strings.NewReplacer("|", `\|`, "\n", " ").Replace,
		// line is text without line breaks and without Markdown's emphasis.
		"line": func(text string) string {
			return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "*", `\*`)
		},
	}).ParseFS(templates, name)
	if err != nil {
		return err
	}
	return page.Execute(w, data)
}

func (p *Page) name(separator string) string { return strings.ReplaceAll(p.Path, " ", separator) }

func (p *Page) root() *Page {
	for p.Parent != nil {
		p = p.Parent
	}
	return p
}

// children are the commands below the page, or its topics.
func (p *Page) children(topics bool) []*Page {
	var pages []*Page
	for _, child := range p.Children {
		if child.Topic == topics {
			pages = append(pages, child)
		}
	}
	return pages
}

// also are the pages around this one.
func (p *Page) also() []*Page {
	var pages []*Page
	if p.Parent != nil {
		pages = append(pages, p.Parent)
		if root := p.root(); root != p.Parent {
			pages = append(pages, root)
		}
	}
	return append(pages, p.Children...)
}

// flagText is a flag as it is typed, the placeholder of its value, what it does, and a default that is worth showing.
type flagText struct{ Name, Value, Usage, Default string }

// ManDefault is the default as a man page has it.
func (f flagText) ManDefault() string {
	if f.Default == "" {
		return ""
	}
	return " (default " + f.Default + ")"
}

func (p *Page) flags() []flagText {
	var flags []flagText
	p.Flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		text := flagText{Name: "--" + flag.Name, Default: flag.DefValue}
		text.Value, text.Usage = pflag.UnquoteUsage(flag)
		text.Usage = strings.ReplaceAll(text.Usage, "\n", " ")
		if flag.Shorthand != "" {
			text.Name = "-" + flag.Shorthand + ", " + text.Name
		}
		switch flag.DefValue {
		case "0", "false", "[]", "0s":
			text.Default = ""
		}
		flags = append(flags, text)
	})
	return flags
}

// prose turns the help's indented blocks into code, and leaves paragraphs be.
func prose(text string) string {
	var out []string
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		switch indented := strings.HasPrefix(line, "  "); {
		case indented && !code:
			out, code = append(out, "```"), true
		case !indented && code && line != "":
			out, code = closeFence(out), false
		}
		if code {
			line = strings.TrimPrefix(line, "  ")
		}
		out = append(out, line)
	}
	if code {
		out = closeFence(out)
	}
	return strings.Join(out, "\n")
}

// closeFence ends a block of code before the blank lines that follow it.
func closeFence(lines []string) []string {
	blank := 0
	for blank < len(lines) && lines[len(lines)-1-blank] == "" {
		blank++
	}
	end := len(lines) - blank
	closed := append(append([]string{}, lines[:end]...), "```")
	return append(closed, lines[end:]...)
}

func lowerFirst(text string) string {
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// escape keeps text from being read as a request.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

func verbatim(text string) string {
	var out strings.Builder
	out.WriteString(".nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString(escape(line) + "\n")
	}
	return out.String() + ".fi\n"
}

func paragraphs(text string) string {
	var out strings.Builder
	for block := range strings.SplitSeq(text, "\n\n") {
		block = strings.Trim(block, "\n")
		out.WriteString(".PP\n")
		if strings.HasPrefix(block, "  ") || strings.Contains(block, "\n  ") {
			out.WriteString(verbatim(block))
			continue
		}
		for line := range strings.SplitSeq(block, "\n") {
			out.WriteString(escape(line) + "\n")
		}
	}
	return out.String()
}
