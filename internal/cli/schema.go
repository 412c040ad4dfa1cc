package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of cluster.yaml",
		Long: `Print the JSON schema (draft 2020-12) of cluster.yaml, for editors that complete
and check as you type. With the YAML language server, write as the first line:

  # yaml-language-server: $schema=cluster.schema.json`,
		Example: `  oaictl schema > cluster.schema.json
  oaictl schema -o yaml`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			var data any
			if a.globals.format.Machine() {
				if err := json.Unmarshal(schema.JSON(), &data); err != nil {
					return err
				}
			}
			return a.print(printer.Result{Data: data, Names: []string{"cluster"}, Text: func(w io.Writer) error {
				_, err := w.Write(schema.JSON())
				return err
			}})
		},
	}
}
