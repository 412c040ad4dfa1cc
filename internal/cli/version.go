package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/printer"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the version of oaictl",
		Example:     "  oaictl version\n  oaictl version -o json",
		Args:        noArguments,
		Annotations: map[string]string{bare: "true"},
		RunE: func(*cobra.Command, []string) error {
			info := readBuildInfo()
			return a.print(printer.Result{
				Data:  info,
				Names: []string{info.Version},
				Text: func(w io.Writer) error {
					_, err := fmt.Fprintln(w, info)
					return err
				},
			})
		},
	}
}
