package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Changed prints what was done.
func (a *App) Changed(done ...output.Changed) error {
	names := output.Each(done, func(d output.Changed) string { return d.Kind + "/" + d.Name })
	return a.Print(printer.Result{Data: output.List(done), Names: names, Text: func() string {
		text := ""
		for _, d := range done {
			text += escape.Sprintf("%s %s %s\n", d.Kind, d.Name, d.Done)
		}
		return text
	}})
}

// Print writes a result as -o says. That a table is empty is for people, not for a pipe.
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
	return &model.Fault{Code: model.CodeUsage, Err: template, Permanent: true,
		Next: "look at the fields with -o json, and use one of them in the template"}
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

// Lines is a text of so many lines, "" for none.
func Lines(list []string) string { return strings.Join(append(slices.Clip(list), ""), "\n") }

// Content writes what is in memory already.
func Content[T []byte | string](content T) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, string(content))
		return err
	}
}

// SaveOne writes a download to a file, and prints which.
func (a *App) SaveOne(path string, write func(io.Writer) error) error {
	file, err := a.SaveTo(path, write)
	return a.Saved([]output.Download{file}, err)
}

// Saved prints which files were written, one a line, unless it failed.
func (a *App) Saved(files []output.Download, err error) error {
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
	return a.Print(printer.Result{Data: output.List(kept), Names: names, Text: func() string { return Lines(names) }})
}

// UsageError is a command line that cannot be understood. It ends with exit
// code 2 and a hint at the usage of the command.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

// Usagef is a UsageError with a text.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// Is reports whether an error is of a type, or has one of it in it.
func Is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// WithoutPath is an error of a file without its name, which is printed beside it.
func WithoutPath(err error) error {
	if cause, is := errors.AsType[*fs.PathError](err); is {
		return cause.Err
	}
	return err
}

// CodeOf is the exit code of an error.
func CodeOf(err error) model.Code {
	switch {
	case err == nil:
		return 0
	case Is[*UsageError](err):
		return model.CodeUsage
	}
	return model.FaultOf(err).Code
}

// PlainError is the text of an error without blank lines at its end.
func PlainError(err error) string {
	if problems, is := errors.AsType[*spec.Problems](err); is && len(problems.List) > 1 {
		return fmt.Sprintf("%d problems:\n%s", len(problems.List), problems.Error())
	}
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return "failed without saying why"
	}
	return text
}

// FileFault is a file of the user's that cannot be read or written.
func FileFault(op, path string, err error) error {
	return &model.Fault{Code: model.CodeFailure, Op: op, On: path, Err: WithoutPath(err)}
}

// Unreadable is an input file of the user's that cannot be read, or is not what it has to be.
func Unreadable(op, path string, err error, next model.Advice) error {
	return &model.Fault{Code: model.CodeInput, Op: op, On: path, Permanent: true, Err: WithoutPath(err), Next: next}
}

// NotFound is a fault about a thing that is not there.
func NotFound(op, on, why string, next model.Advice) error {
	return &model.Fault{Code: model.CodeNotFound, Op: op, On: on, Permanent: true, Err: errors.New(why), Next: next}
}

// PercentText is a percentage for a table, "" before there is any.
func PercentText(percent int) string {
	if percent == 0 {
		return ""
	}
	return strconv.Itoa(percent) + "%"
}

// Facts writes names and values under each other, without those that have none.
func Facts(text *strings.Builder, indent string, list [][2]string) {
	longest := 0
	for _, f := range list {
		if f[1] != "" {
			longest = max(longest, len(f[0]))
		}
	}
	for _, f := range list {
		if f[1] != "" {
			escape.Fprintf(text, "%s%-*s  %s\n", indent, longest+1, f[0]+":", f[1])
		}
	}
}

// FormatTime is a time for the table: how long ago on a terminal.
func (a *App) FormatTime(at *time.Time) string {
	if at == nil {
		return ""
	}
	return printer.Moment(*at, a.Clock.Now(), a.IO.OutTTY)
}

// HostTable says which cluster a host belongs to only where hosts of several clusters are listed, by the name that the
// service has for the cluster's id. The Machine of Cluster API is shown if any of the hosts belongs to one.
func (a *App) HostTable(items []output.Host, several bool, clusters map[string]string) printer.Table {
	everywhere, wide := a.Globals.AllNamespaces, a.Globals.Format.Is("wide")
	table := printer.Table{Empty: "no hosts", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ROLE"}, {Name: "STATE"}, {Name: "STAGE", Cut: true, Wide: everywhere}, {Name: "%",
			Right: true, Wide: everywhere},
		{Name: "SINCE", Wide: true}, {Name: "CLUSTER", Wide: !several, Cut: true}, {Name: "INFRAENV", Wide: !everywhere, Cut: true},
		{Name: "ADDRESSES", Wide: true}, {Name: "MACS", Wide: true}, {Name: "SERIAL", Wide: true}, {Name: "BMC", Wide: true},
		{Name: "ID", Wide: true}, {Name: "INFO", Wide: true},
	}, Rows: output.Each(items, func(h output.Host) []string {
		role, cluster := string(h.Role), h.ClusterID
		if wide {
			role = RoleText(h)
		} else if name := clusters[h.ClusterID]; name != "" {
			cluster = name
		}
		return []string{
			h.Name, role, string(h.State), StageText(h), PercentText(h.Percent), a.FormatTime(h.Since), cluster, h.InfraEnvID,
			strings.Join(h.Addresses, ","), strings.Join(h.MACs, ","), h.Serial, h.BMC, h.ID, h.StatusInfo,
		}
	})}
	if slices.ContainsFunc(items, func(h output.Host) bool { return h.Machine != "" }) {
		at := slices.IndexFunc(table.Columns, func(c printer.Column) bool { return c.Name == "ADDRESSES" })
		table.Columns = slices.Insert(table.Columns, at, printer.Column{Name: "MACHINE", Wide: true})
		for i, h := range items {
			table.Rows[i] = slices.Insert(table.Rows[i], at, h.Machine)
		}
	}
	return table
}

// RoleText is the role of a host.
func RoleText(h output.Host) string {
	if h.Bootstrap {
		return string(h.Role) + " (bootstrap)"
	}
	return string(h.Role)
}

// StageText is the stage of a host, and how far it is in it.
func StageText(h output.Host) string {
	text := h.Stage
	switch {
	case h.StageInfo == "", h.StageInfo == h.Stage:
	case strings.HasSuffix(h.StageInfo, "%"):
		text += " " + h.StageInfo
	default:
		text += ", " + h.StageInfo
	}
	if h.TimedOut {
		text += " (too long)"
	}
	return text
}

// Section writes a heading and the things below it, nothing for none.
func Section[T any](text *strings.Builder, heading string, things []T, write func(T) string) {
	if len(things) == 0 {
		return
	}
	fmt.Fprintf(text, "\n%s:\n", heading)
	for _, thing := range things {
		text.WriteString(write(thing))
	}
}

// Shortened keeps a value on a line; -o wide shows all of it.
func Shortened(value string, wide bool) string {
	const longest = 60
	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); !wide && len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return value
}
