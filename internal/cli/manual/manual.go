// Package manual writes the tree of commands down: as Markdown for
// docs/reference, and as man pages for a release. It says nothing of its own;
// every word comes from the commands.
package manual

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/catalogue"
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
	case command.HasAvailableSubCommands():
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

func (p *Page) name(separator string) string {
	return strings.ReplaceAll(p.Path, " ", separator)
}

func (p *Page) root() *Page {
	for p.Parent != nil {
		p = p.Parent
	}
	return p
}

func (p *Page) flags() []*pflag.Flag {
	var flags []*pflag.Flag
	p.Flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			flags = append(flags, flag)
		}
	})
	return flags
}

func flagName(flag *pflag.Flag) (name, value, usage string) {
	value, usage = pflag.UnquoteUsage(flag)
	name = "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand + ", " + name
	}
	return name, value, usage
}

func defaultOf(flag *pflag.Flag) string {
	switch flag.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	return flag.DefValue
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) print(parts ...string) {
	for _, part := range parts {
		if p.err == nil {
			_, p.err = io.WriteString(p.w, part)
		}
	}
}

// MarkdownName is the name of the page's Markdown file.
func (p *Page) MarkdownName() string { return p.name("_") + ".md" }

// Markdown writes the page for docs/reference.
func (p *Page) Markdown(w io.Writer) error {
	out := &printer{w: w}
	out.print("<!-- Generated from the commands by `go generate ./...`; edit those. -->\n\n# ", p.Path, "\n\n", p.Short, ".\n")
	if p.Synopsis != "" {
		out.print("\n", fence(p.Synopsis))
	}
	for _, also := range p.Also {
		out.print("\nAlso called `", also, "`.\n")
	}
	if p.Long != "" {
		out.print("\n", prose(p.Long), "\n")
	}
	if p.Examples != "" {
		out.print("\n## Examples\n\n", fence(outdent(p.Examples)))
	}
	p.markdownFlags(out)
	p.markdownLinks(out)
	return out.err
}

func (p *Page) markdownFlags(out *printer) {
	if len(p.flags()) > 0 {
		heading := "Flags"
		if p.Parent == nil {
			heading = "Flags of every command"
		}
		out.print("\n## ", heading, "\n\n| flag | meaning |\n| --- | --- |\n")
	}
	for _, flag := range p.flags() {
		name, value, usage := flagName(flag)
		if value != "" {
			name += " " + value
		}
		if text := defaultOf(flag); text != "" {
			usage += " (default `" + text + "`)"
		}
		out.print("| `", cell(name), "` | ", cell(usage), " |\n")
	}
	if p.Parent != nil && !p.Topic {
		root := p.root()
		out.print("\nBesides these, the [flags of every command](", root.MarkdownName(), "#flags-of-every-command).\n")
	}
}

func (p *Page) markdownLinks(out *printer) {
	heading := map[bool]string{false: "\n## Commands\n\n", true: "\n## Topics\n\n"}
	for _, topic := range []bool{false, true} {
		for _, child := range p.Children {
			if child.Topic != topic {
				continue
			}
			out.print(heading[topic], "- [", child.Path, "](", child.MarkdownName(), "): ", lowerFirst(child.Short), "\n")
			heading[topic] = ""
		}
	}
	if p.Parent != nil {
		out.print("\nUp: [", p.Parent.Path, "](", p.Parent.MarkdownName(), ")\n")
	}
}

func fence(text string) string { return "```\n" + text + "\n```\n" }

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}

func outdent(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
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

// Validations writes a page about every validation of the service, from the catalogue.
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
			out.print("| `", entry.Name, "` | ", cell(line(entry.Title)), " | ", blocks, " | ", cell(line(entry.Remedy)), " | ", cell(field), " |\n")
		}
	}
	return out.err
}

// line is text without line breaks and without Markdown's emphasis.
func line(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "*", `\*`)
}
