// Package file has the commands on files that need no service.
package file

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// validateOptions are what `validate` needs and what its flags say.
type validateOptions struct {
	*base.App
	File    string
	foreign base.Foreign
}

// validation is `validate -o json`.
type validation struct {
	Valid    bool      `json:"valid"`
	File     string    `json:"file"`
	Cluster  string    `json:"cluster,omitempty"`
	Problems []problem `json:"problems"`
}

type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// NewValidate is `validate`.
func NewValidate(a *base.App) *cobra.Command {
	o := &validateOptions{App: a}
	command := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a cluster.yaml, all of it at once, without a service",
		Long: `Check a cluster.yaml and everything that it refers to: keys, pull secret,
manifests, network configuration. All problems are told at once, each with its
place in the file. Nothing is sent or written.`,
		Example: `  oaictl validate -f cluster.yaml
  oaictl validate -f - < cluster.yaml
  oaictl validate -f cluster.yaml -o json`,
		Args: base.NoArguments,
		RunE: base.Run(o.run),
	}
	command.Flags().StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	o.foreign.Declare(command.Flags())
	return command
}

func (o *validateOptions) run(ctx context.Context) error {
	if o.File == "" {
		return base.Usagef("validate needs -f FILE")
	}
	cluster, err := o.LoadToInstall(ctx, o.File, o.foreign)
	if err == nil {
		err = checkNetworks(o.App, cluster)
	}
	if err == nil && o.Globals.Backend == base.BackendHub {
		err = o.CheckBackend(cluster)
	}
	var problems *spec.Problems
	if err != nil && (!errors.As(err, &problems) || !o.Globals.Format.Machine()) {
		return err
	}
	doc := validation{Valid: err == nil, File: o.File, Problems: []problem{}}
	names := []string{}
	if err == nil {
		doc.Cluster = cluster.Metadata.Name + "." + cluster.Spec.BaseDomain
		names = append(names, "cluster/"+cluster.Metadata.Name)
	} else {
		for _, p := range problems.List {
			doc.Problems = append(doc.Problems, problem(p))
		}
	}
	printed := o.Print(printer.Result{Data: doc, Names: names, Text: func() string {
		return fmt.Sprintf("%s is valid: cluster %s, %s\n", o.File, doc.Cluster, base.Counted(len(cluster.Spec.Hosts), "host"))
	}})
	switch {
	case printed != nil:
		return printed
	case err != nil:
		return &install.Fault{Code: install.CodeInput, Op: "validate", On: o.File, Err: fmt.Errorf("%s found", base.Counted(len(doc.Problems), "problem"))}
	}
	return nil
}
