package manual

import (
	"io"
	"strings"
)

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

// cell is text that may stand in a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}

// outdent takes away the indentation that help gives to examples.
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
