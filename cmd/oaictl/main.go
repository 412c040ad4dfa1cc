// Command oaictl installs OpenShift on bare metal through the Assisted
// Installer. The same binary is the kubectl plugin kubectl-oai and the
// clusterctl plugin clusterctl-oai.
package main

import (
	"context"
	"os"

	"github.com/oaictl/oaictl/internal/cli"
	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
)

func main() {
	ctx, stop := app.WithSignals(context.Background(), os.Exit)
	code := cli.Main(ctx, os.Args, streams.OS(), os.Environ())
	stop()
	os.Exit(code)
}
