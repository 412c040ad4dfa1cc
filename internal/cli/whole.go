//go:build !trial

package cli

import (
	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/controller"
	"github.com/oaictl/oaictl/internal/cli/simulator"
)

func controllerCommand(a *app.App) *cobra.Command { return controller.NewCommand(a) }

func simulatorCommand(a *app.App) *cobra.Command { return simulator.NewCommand(a) }
