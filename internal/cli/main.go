package cli

import (
	"context"

	"github.com/oaictl/oaictl/internal/cli/streams"
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
