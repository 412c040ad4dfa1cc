package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

// usageError is a command line that cannot be understood. It ends with exit
// code 2 and a hint at the usage of the command.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// codeOf is the exit code of an error.
func codeOf(err error) install.Code {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return install.CodeUsage
	}
	return install.CodeOf(err)
}

// exit tells a person what went wrong, once, and returns the exit code. An
// interrupt outranks the error that it caused.
func (a *app) exit(ctx context.Context, command *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if by := interruptOf(ctx); by != nil && codeOf(err) != by.Code {
		err = &install.Fault{Code: by.Code, Err: by, Next: a.commandLine()}
	}
	code := codeOf(err)
	fmt.Fprintf(a.io.Err, "%s: %s\n", a.identity.name, shownError(err))
	var usage *usageError
	next := a.hint(nextOf(err))
	if errors.As(err, &usage) {
		fmt.Fprintf(a.io.Err, "Usage: %s\n", useLine(command))
		next = command.CommandPath() + " --help"
	}
	if next != "" {
		escape.Fprintf(a.io.Err, "Next: %s\n", next)
	}
	return int(code)
}

// nextOf is what to type next: what the error advises, or the explanation of
// the first field that a file has wrong.
func nextOf(err error) string {
	var problems *spec.Problems
	if next := install.NextOf(err); next != "" || !errors.As(err, &problems) {
		return next
	}
	for _, p := range problems.List {
		if p.Field == "" {
			continue
		}
		if doc, err := schema.Explain(p.Field); err == nil {
			return "oaictl explain " + doc.Path
		}
	}
	return ""
}

// useLine is the first line of a command's usage.
func useLine(command *cobra.Command) string {
	switch {
	case !command.HasAvailableSubCommands():
	case command.HasParent():
		return command.CommandPath() + " " + strings.Join(subcommandNames(command), "|")
	default:
		return command.CommandPath() + " COMMAND"
	}
	return command.UseLine()
}

// plainError is the text of an error without the last full stop and the empty
// lines that other people's errors end with.
func plainError(err error) string {
	var problems *spec.Problems
	if errors.As(err, &problems) && len(problems.List) > 1 {
		return fmt.Sprintf("%d problems:\n%s", len(problems.List), problems.Error())
	}
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return "failed without saying why"
	}
	return text
}

// shownError is an error for a terminal. Those of one's own file have a line each,
// and what joins several has theirs; a fault, which may repeat what a service or a
// machine said, has one.
func shownError(err error) string {
	var problems *spec.Problems
	var fault *install.Fault
	var listed interface{ lines() }
	if errors.As(err, &fault) && !errors.As(err, &problems) && !errors.As(err, &listed) {
		return escape.Word(plainError(err))
	}
	return escape.Lines(plainError(err))
}

// fileFault is a file of the user's that cannot be read or written.
func fileFault(op, path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &install.Fault{Code: install.CodeFailure, Op: op, On: path, Err: err}
}

// errNotConfirmed is the answer no.
var errNotConfirmed = errors.New("not confirmed; nothing was done")

// notFound is a fault about a thing that is not there.
func notFound(op, on, why, next string) error {
	return &install.Fault{Code: install.CodeNotFound, Op: op, On: on, Permanent: true, Err: errors.New(why), Next: next}
}
