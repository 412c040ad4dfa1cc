//go:build trial

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// A build with the tag trial leaves out Cluster API and the simulators of clusters, and with them a third of
// the packages: it is built sooner.

func controllerCommand(*app.App) *cobra.Command { return leftOut("controller") }

func simulatorCommand(*app.App) *cobra.Command { return leftOut("simulator") }

func leftOut(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Not in this build", DisableFlagParsing: true,
		RunE: app.Run(func(context.Context) error {
			return &model.Fault{
				Code: model.CodeUsage, Op: "run", On: name, Permanent: true, Err: errors.New("a build with the tag trial has no such command"),
				Next: "go install ./cmd/oaictl, which builds all of it",
			}
		}),
	}
}
