package manual

import (
	"io"
	"strings"
)

// ManName is the name of the page's file in section 1.
func (p *Page) ManName() string { return p.name("-") + ".1" }

// Man writes the page for man(7), without a date: the same commands give the same bytes.
func (p *Page) Man(w io.Writer) error {
	out := &printer{w: w}
	out.print(`.TH "`, strings.ToUpper(p.name("-")), `" "1" "" "oaictl" "oaictl manual"`, "\n")
	out.print(".nh\n.ad l\n") // no hyphens in commands, no stretched lines
	out.print(".SH NAME\n", escape(p.name("-")), ` \- `, escape(lowerFirst(p.Short)), "\n")
	if p.Synopsis != "" {
		out.print(".SH SYNOPSIS\n\\fB", escape(p.Synopsis), "\\fP\n")
	}
	if p.Long != "" {
		out.print(".SH DESCRIPTION\n", paragraphs(p.Long))
	}
	if p.Examples != "" {
		out.print(".SH EXAMPLES\n", verbatim(outdent(p.Examples)))
	}
	p.manFlags(out)
	p.manLinks(out)
	return out.err
}

func (p *Page) manFlags(out *printer) {
	if len(p.flags()) == 0 {
		return
	}
	out.print(".SH OPTIONS\n")
	for _, flag := range p.flags() {
		name, value, usage := flagName(flag)
		out.print(".TP\n\\fB", escape(name), "\\fP")
		if value != "" {
			out.print(" \\fI", escape(value), "\\fP")
		}
		if text := defaultOf(flag); text != "" {
			usage += " (default " + text + ")"
		}
		out.print("\n", escape(strings.ReplaceAll(usage, "\n", " ")), "\n")
	}
}

func (p *Page) manLinks(out *printer) {
	var also []string
	if p.Parent != nil {
		also = append(also, p.Parent.name("-"))
		if root := p.root(); root != p.Parent {
			also = append(also, root.name("-"))
		}
	}
	for _, child := range p.Children {
		also = append(also, child.name("-"))
	}
	if len(also) == 0 {
		return
	}
	out.print(".SH SEE ALSO\n")
	for i, name := range also {
		comma := ","
		if i == len(also)-1 {
			comma = ""
		}
		out.print(".BR ", escape(name), " (1)", comma, "\n")
	}
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
