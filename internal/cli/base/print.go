package base

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// Changed prints what was done.
func (a *App) Changed(done ...document.Changed) error {
	names := NamesOf(done, func(d document.Changed) string { return d.Kind + "/" + d.Name })
	return a.Print(printer.Result{Data: document.List(done), Names: names, Text: func() string {
		text := ""
		for _, d := range done {
			text += escape.Sprintf("%s %s %s\n", d.Kind, d.Name, d.Done)
		}
		return text
	}})
}

// Print writes a result to standard output as -o says. That there is nothing in
// a table is for people, and not for a pipe to count as a line.
func (a *App) Print(result printer.Result) error {
	if !a.Globals.Format.Machine() && result.Text == nil {
		if table := result.Table(); len(table.Rows) == 0 && table.Empty != "" {
			a.Say("%s", table.Empty)
			return nil
		}
	}
	out := a.IO.Out
	if a.IO.OutTTY {
		out = escape.Writer(out) // a template prints what it finds
	}
	return Printed(a.Globals.Format.Print(out, result))
}

// Printed makes a template that does not fit a mistake of the command line.
func Printed(err error) error {
	template, is := errors.AsType[*printer.TemplateError](err)
	if !is {
		return err
	}
	return &install.Fault{Code: install.CodeUsage, Err: template, Permanent: true, Next: "look with -o json at what there is, and name that in the template"}
}

// Say writes a line for a person to standard error, unless --quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Globals.Quiet {
		escape.Fprintf(a.IO.Err, format+"\n", args...)
	}
}

// Warn writes a line for a person to standard error, --quiet or not.
func (a *App) Warn(format string, args ...any) {
	escape.Fprintf(a.IO.Err, "warning: "+format+"\n", args...)
}

// NamesOf are the names of things, never nil.
func NamesOf[T any](things []T, name func(T) string) []string {
	names := make([]string, 0, len(things))
	for _, thing := range things {
		names = append(names, name(thing))
	}
	return names
}

// Lines is a text of so many lines, "" for none.
func Lines(list []string) string { return strings.Join(append(slices.Clip(list), ""), "\n") }

// SaveOne writes a download to a file, and prints which.
func (a *App) SaveOne(path string, write func(io.Writer) error) error {
	file, err := a.SaveTo(path, write)
	return a.Saved([]document.Download{file}, err)
}

// Saved prints which files were written, one a line, unless it failed.
func (a *App) Saved(files []document.Download, err error) error {
	if err != nil {
		return err
	}
	kept := files[:0:0]
	names := make([]string, 0, len(files))
	for _, file := range files {
		if file.File != "" { // not on standard output
			kept = append(kept, file)
			names = append(names, file.File)
		}
	}
	if len(files) > 0 && len(kept) == 0 {
		return nil
	}
	return a.Print(printer.Result{Data: document.List(kept), Names: names, Text: func() string { return Lines(names) }})
}
