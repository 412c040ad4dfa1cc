package file

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

// NewSchema is `schema`.
func NewSchema(a *base.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of cluster.yaml",
		Long: `Print the JSON schema (draft 2020-12) of cluster.yaml, for editors that complete
and check as you type. With the YAML language server, write as the first line:

  # yaml-language-server: $schema=cluster.schema.json`,
		Example: `  oaictl schema > cluster.schema.json
  oaictl schema -o yaml`,
		Args: base.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			var data any
			if a.Globals.Format.Machine() {
				if err := json.Unmarshal(schema.JSON(), &data); err != nil {
					return err
				}
			}
			return a.Print(printer.Result{Data: data, Names: []string{"cluster"}, Text: func() string { return string(schema.JSON()) }})
		},
	}
}
