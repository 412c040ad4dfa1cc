package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/printer"
)

func versionCommand(a *base.App) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the version of oaictl",
		Example:     "  oaictl version\n  oaictl version -o json",
		Args:        base.NoArguments,
		Annotations: map[string]string{base.NoConfig: "true"},
		RunE: func(*cobra.Command, []string) error {
			info := base.ReadBuildInfo()
			return a.Print(printer.Result{
				Data:  info,
				Names: []string{info.Version},
				Text:  func() string { return fmt.Sprintln(info) },
			})
		},
	}
}
