// Package manual writes the tree of commands down: as Markdown for
// docs/reference, and as man pages for a release. It says nothing of its own;
// every word comes from the commands.
package manual

//go:generate go run ./gen --markdown ../../../docs/reference --validations ../../../docs/validations.md

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// name is the page's file name without an extension, with a separator in place
// of spaces.
func (p *Page) name(separator string) string {
	return strings.ReplaceAll(p.Path, " ", separator)
}

// root is the page of the program itself.
func (p *Page) root() *Page {
	for p.Parent != nil {
		p = p.Parent
	}
	return p
}

// flags are the visible flags in the order in which help shows them.
func (p *Page) flags() []*pflag.Flag {
	var flags []*pflag.Flag
	p.Flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			flags = append(flags, flag)
		}
	})
	return flags
}

// flagName is a flag as it is typed, with the word that stands for its value.
func flagName(flag *pflag.Flag) (name, value, usage string) {
	value, usage = pflag.UnquoteUsage(flag)
	name = "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand + ", " + name
	}
	return name, value, usage
}

// defaultOf is a default that is worth telling.
func defaultOf(flag *pflag.Flag) string {
	switch flag.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	return flag.DefValue
}

// printer writes until the first error, and remembers that one.
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
