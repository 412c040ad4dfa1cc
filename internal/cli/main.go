package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

// Main runs the command line argv (with the program's name first) and returns
// the exit code. It changes nothing outside the streams, the environment's
// folders and what the command is asked to change, so that tests can run it in
// process.
func Main(ctx context.Context, argv []string, io streams.Streams, environ []string) int {
	return newApp(identify(argv), io, streams.EnvOf(environ)).main(ctx)
}

func (a *app) main(ctx context.Context) int {
	a.io.In = untilDone(ctx, a.io.In)
	root := a.rootCommand()
	root.SetArgs(a.identity.args)
	root.SetIn(a.io.In)
	help := &sink{path: "standard output", w: a.io.Out} // cobra tells nobody that it could not be written
	root.SetOut(help)
	root.SetErr(a.io.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = help.failed
	}
	a.hangUp()
	return a.exit(ctx, command, err)
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
