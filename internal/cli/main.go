package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/cli/base"
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
	return execute(ctx, base.New(base.Identify(argv), io, streams.EnvOf(environ)))
}

func execute(ctx context.Context, a *base.App) int {
	a.IO.In = base.UntilDone(ctx, a.IO.In)
	root := rootCommand(a)
	root.SetArgs(a.Identity.Args)
	root.SetIn(a.IO.In)
	help := &base.Sink{Path: "standard output", W: a.IO.Out} // cobra tells nobody that it could not be written
	root.SetOut(help)
	root.SetErr(a.IO.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = help.Failed
	}
	a.Close()
	return exit(ctx, a, command, err)
}

// exit tells a person what went wrong, once, and returns the exit code. An
// interrupt outranks the error that it caused.
func exit(ctx context.Context, a *base.App, command *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if by := base.InterruptOf(ctx); by != nil && base.CodeOf(err) != by.Code {
		err = &install.Fault{Code: by.Code, Err: by, Next: install.Advice(a.CommandLine())}
	}
	code := base.CodeOf(err)
	fmt.Fprintf(a.IO.Err, "%s: %s\n", a.Identity.Name, shownError(err))
	var usage *base.UsageError
	next := a.Hint(nextOf(err))
	if errors.As(err, &usage) {
		fmt.Fprintf(a.IO.Err, "Usage: %s\n", useLine(command))
		next = command.CommandPath() + " --help"
	}
	if next != "" {
		escape.Fprintf(a.IO.Err, "Next: %s\n", next)
	}
	return int(code)
}

// nextOf is what to type next: what the error advises, or the explanation of
// the first field that a file has wrong.
func nextOf(err error) install.Advice {
	var problems *spec.Problems
	if next := install.NextOf(err); next != "" || !errors.As(err, &problems) {
		return next
	}
	for _, p := range problems.List {
		if p.Field == "" {
			continue
		}
		if doc, err := schema.Explain(p.Field); err == nil {
			return advice.Command("explain", doc.Path)
		}
	}
	return ""
}

// useLine is the first line of a command's usage.
func useLine(command *cobra.Command) string {
	switch {
	case !command.HasAvailableSubCommands():
	case command.HasParent():
		return command.CommandPath() + " " + strings.Join(base.SubcommandNames(command), "|")
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
	var listed interface{ MultiLine() }
	if errors.As(err, &fault) && !errors.As(err, &problems) && !errors.As(err, &listed) {
		return escape.Word(base.PlainError(err))
	}
	return escape.Lines(base.PlainError(err))
}
