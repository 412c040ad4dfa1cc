package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// validateOptions are what `validate` needs and what its flags say.
type validateOptions struct {
	*app
	File    string
	foreign foreign
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

func (a *app) validateCommand() *cobra.Command {
	o := &validateOptions{app: a}
	command := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a cluster.yaml, all of it at once, without a service",
		Long: `Check a cluster.yaml and everything that it refers to: keys, pull secret,
manifests, network configuration. All problems are told at once, each with its
place in the file. Nothing is sent or written.`,
		Example: `  oaictl validate -f cluster.yaml
  oaictl validate -f - < cluster.yaml
  oaictl validate -f cluster.yaml -o json`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if o.File == "" {
				return usagef("validate needs -f FILE")
			}
			return o.run(command.Context())
		},
	}
	command.Flags().StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	o.foreign.declare(command.Flags())
	return command
}

func (o *validateOptions) run(ctx context.Context) error {
	cluster, err := o.loadToInstall(ctx, o.File, o.foreign)
	if err == nil {
		err = o.networksFit(cluster)
	}
	if err == nil && o.globals.Backend == backendHub {
		err = o.fitsBackend(cluster)
	}
	var problems *spec.Problems
	if err != nil && (!errors.As(err, &problems) || !o.globals.format.Machine()) {
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
	printed := o.print(printer.Result{Data: doc, Names: names, Text: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s is valid: cluster %s, %s\n", o.File, doc.Cluster, counted(len(cluster.Spec.Hosts), "host"))
		return err
	}})
	switch {
	case printed != nil:
		return printed
	case err != nil:
		return &install.Fault{Code: install.CodeInput, Op: "validate", On: o.File, Err: fmt.Errorf("%s found", counted(len(doc.Problems), "problem"))}
	}
	return nil
}
