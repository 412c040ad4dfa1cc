// Package offline has the commands that need no service: init, validate, render, convert, schema and explain.
package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

type validateOptions struct {
	*app.App
	File    string
	foreign app.Foreign
}

type validation struct {
	Valid    bool      `json:"valid"`
	File     string    `json:"file"`
	Kind     string    `json:"kind,omitempty"` // of a file that only adds to the cluster
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
	Word    string `json:"-"` // nothing but files is validated
}

// NewValidate is `validate`.
func NewValidate(a *app.App) *cobra.Command {
	o := &validateOptions{App: a}
	command := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a cluster.yaml, all of it at once, without a service",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	command.Flags().StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, or with nodes for one, - for standard input")
	o.foreign.Declare(command.Flags())
	return command
}

func (o *validateOptions) run(ctx context.Context) error {
	if o.File == "" {
		return app.Usagef("validate needs -f FILE")
	}
	cluster, err := o.LoadAny(ctx, o.File, o.foreign)
	if err == nil {
		err = o.checkBackend(cluster)
	}
	problems, is := errors.AsType[*spec.Problems](err)
	if err != nil && (!is || !o.Globals.Format.Machine()) {
		return err
	}
	doc := validation{Valid: err == nil, File: o.File, Problems: []problem{}}
	found := []string{}
	if err == nil {
		warnOfDoubts(o.App, cluster)
		name := cluster.Existing()
		doc.Cluster = name
		if name == "" {
			name, doc.Cluster = cluster.Metadata.Name, cluster.Metadata.Name+"."+cluster.Spec.BaseDomain
		} else {
			doc.Kind = cluster.Kind
		}
		found = append(found, "cluster/"+name)
	} else {
		doc.Problems = output.Each(problems.List, func(p spec.Problem) problem { return problem(p) })
	}
	printed := o.Print(printer.Result{Data: doc, Names: found, Text: func() string {
		hosts := listtext.CountText(len(cluster.Spec.Hosts), "host")
		if cluster.Existing() != "" {
			return fmt.Sprintf("%s is valid: %s for cluster %s\n", o.File, hosts, doc.Cluster)
		}
		return fmt.Sprintf("%s is valid: cluster %s, %s\n", o.File, doc.Cluster, hosts)
	}})
	switch {
	case printed != nil:
		return printed
	case err != nil:
		return &model.Fault{Code: model.CodeInput, Op: "validate", On: o.File,
			Err: fmt.Errorf("%s found", listtext.CountText(len(doc.Problems), "problem"))}
	}
	return nil
}

// checkBackend refuses what the backend cannot do, if a backend was chosen. Otherwise the file may be one for a hub,
// and what a REST service cannot do is a warning.
func (o *validateOptions) checkBackend(c *spec.Cluster) error {
	err := o.CheckBackend(c)
	problems, is := errors.AsType[*spec.Problems](err)
	if !is || o.Globals.Backend == app.BackendHub || slices.Contains(o.Globals.Given, "backend") {
		return err
	}
	for _, p := range problems.List {
		o.Warn("%s", p)
	}
	return nil
}

type renderOptions struct {
	*app.App
	File        string
	To          string
	ImageSet    string
	WithSecrets bool
	foreign     app.Foreign
}

// NewRender is `render`.
func NewRender(a *app.App) *cobra.Command {
	o := &renderOptions{App: a}
	command := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the objects that describe a cluster to a hub, for GitOps",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVarP(&o.To, "output", "o", "", "`DIR` to write a file for each object to, instead of standard output")
	flags.StringVar(&o.ImageSet, "image-set", "", "`NAME` of the ClusterImageSet to refer to (default: as the file says)")
	flags.BoolVar(&o.WithSecrets, "with-secrets", false, "write Secrets, too, with their contents")
	o.foreign.Declare(flags)
	return command
}

func (o *renderOptions) run(ctx context.Context) error {
	if o.File == "" {
		return app.Usagef("render needs -f FILE")
	}
	cluster, err := o.LoadToInstall(ctx, o.File, o.foreign)
	if err != nil {
		return err
	}
	objects, err := render.Hub(cluster, render.Options{Namespace: o.Globals.Kube.Scope(), ImageSet: o.ImageSet, Secrets: o.WithSecrets})
	if err != nil {
		return err
	}
	if o.To == "" {
		err = objects.WriteYAML(o.IO.Out)
	} else {
		err = o.write(objects.All())
	}
	if err != nil {
		return err
	}
	for _, note := range objects.Notes {
		o.Say("%s", note)
	}
	return nil
}

func (o *renderOptions) write(objects []*unstructured.Unstructured) error {
	dir, err := app.Folder(o.To)
	if err != nil {
		return err
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		return app.FileFault("look into", dir, err)
	}
	written := []output.Download{}
	var names []string
	for _, object := range objects {
		name := objectFile(object)
		file, err := o.SaveTo(filepath.Join(dir, name), func(w io.Writer) error {
			return (&render.Objects{Cluster: []*unstructured.Unstructured{object}}).WriteYAML(w)
		})
		if err != nil {
			return err
		}
		written, names = append(written, file), append(names, name)
	}
	var others []string
	for _, entry := range before {
		name := entry.Name()
		applied := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) && !strings.HasPrefix(name, "kustomization.")
		if applied && !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		o.Warn("%s contains files that do not come from this cluster.yaml. If you apply the folder, you also apply them: %s",
			dir, strings.Join(others, ", "))
	}
	return o.Saved(written, nil)
}

// applyOrder has kinds refer only to those before them.
var applyOrder = [...]string{
	"Namespace", "ClusterImageSet", "Secret", "ConfigMap", "ClusterDeployment", "AgentClusterInstall", "NMStateConfig", "InfraEnv",
	"BareMetalHost",
}

// objectFile begins with the place of the kind: folders are applied in the order of names.
// It does not depend on which other objects there are.
func objectFile(object *unstructured.Unstructured) string {
	place := slices.Index(applyOrder[:], object.GetKind())
	if place < 0 {
		place = len(applyOrder)
	}
	return fmt.Sprintf("%02d-%s-%s.yaml", 10*place, strings.ToLower(object.GetKind()), app.FileName(object.GetName()))
}

// warnOfDoubts reports settings that a file may have and that are seldom meant.
func warnOfDoubts(a *app.App, c *spec.Cluster) {
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		text, _, static := c.StaticNetwork(host)
		state, err := nmstate.Parse("", []byte(text))
		if !static || err != nil {
			continue // was reported
		}
		for _, p := range state.Doubts() {
			a.Warn("%s", doubtIn(c, i, p))
		}
	}
	for i, mirror := range c.Spec.Registry.Mirrors {
		for j, target := range mirror.Mirrors {
			if !hasLogin(c, target) {
				p := c.Problem(fmt.Sprintf("spec.registry.mirrors[%d].mirrors[%d]", i, j),
					"the pull secret has no login for "+target+". This only works if the mirror needs no login", "")
				a.Warn("%s", p)
			}
		}
	}
}

// doubtIn places a doubt about a host's network: in its document, or at the short form.
func doubtIn(c *spec.Cluster, host int, p nmstate.Problem) spec.Problem {
	field, document := fmt.Sprintf("spec.hosts[%d].net", host), c.Spec.Hosts[host].Net.NMState
	if document == nil {
		return c.Problem(field, p.Message, "")
	}
	placed := c.Problem(field+".nmstate."+p.Field, p.Message, "")
	if document.File != "" {
		placed.File, placed.Line, placed.Column = document.File, p.Line, p.Column
	}
	return placed
}

// hasLogin reports whether the pull secret has credentials for where a mirror lies; true where the pull secret is not
// known here.
func hasLogin(c *spec.Cluster, mirror string) bool {
	var secret struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if json.Unmarshal([]byte(c.PullSecret().Reveal()), &secret) != nil || secret.Auths == nil {
		return true
	}
	for place := range secret.Auths {
		place = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(place, "https://"), "http://"), "/")
		if mirror == place || strings.HasPrefix(mirror, place+"/") {
			return true
		}
	}
	return false
}
