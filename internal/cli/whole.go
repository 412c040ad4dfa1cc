//go:build !trial

package cli

import (
	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/controller"
	"github.com/oaictl/oaictl/internal/cli/simulator"
)

func controllerCommand(a *base.App) *cobra.Command { return controller.NewCommand(a) }

func simulatorCommand(a *base.App) *cobra.Command { return simulator.NewCommand(a) }
