package file

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

// NewSchema is `schema`.
func NewSchema(a *app.App) *cobra.Command {
	var given string
	command := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of cluster.yaml",
		Args:  app.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			kind, err := documentKind(given)
			if err != nil {
				return err
			}
			text := schema.JSON(kind)
			var data any
			if a.Globals.Format.Machine() {
				if err := json.Unmarshal(text, &data); err != nil {
					return err
				}
			}
			return a.Print(printer.Result{Data: data, Names: []string{strings.ToLower(kind)}, Text: func() string { return string(text) }})
		},
	}
	command.Flags().StringVar(&given, "kind", strings.ToLower(spec.Kind), "`KIND` of file: "+strings.Join(DocumentKinds(), " or "))
	return command
}

// schemaKinds are the kinds of files that have a schema.
func schemaKinds() []string { return []string{spec.Kind, spec.KindNodes} }

// DocumentKinds are the kinds of files that have a schema, as --kind takes them.
func DocumentKinds() []string {
	return document.Each(schemaKinds(), strings.ToLower)
}

// documentKind is the kind that --kind names, in any case.
func documentKind(given string) (string, error) {
	for _, kind := range schemaKinds() {
		if strings.EqualFold(given, kind) {
			return kind, nil
		}
	}
	return "", app.Usagef("%q is no kind of file; it is one of %s", given, strings.Join(DocumentKinds(), ", "))
}
