package file

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install/render"
)

type renderOptions struct {
	*base.App
	File        string
	To          string
	ImageSet    string
	WithSecrets bool
	foreign     base.Foreign
}

// NewRender is `render`.
func NewRender(a *base.App) *cobra.Command {
	o := &renderOptions{App: a}
	command := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the objects that describe a cluster to a hub, for GitOps",
		Args:  base.NoArguments,
		RunE:  base.Run(o.run),
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
		return base.Usagef("render needs -f FILE")
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
		err = render.WriteYAML(o.IO.Out, objects.All())
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
	dir, err := base.Folder(o.To)
	if err != nil {
		return err
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		return base.FileFault("look into", dir, err)
	}
	written := []document.Download{}
	var names []string
	for _, object := range objects {
		name := objectFile(object)
		file, err := o.SaveTo(filepath.Join(dir, name), func(w io.Writer) error {
			return render.WriteYAML(w, []*unstructured.Unstructured{object})
		})
		if err != nil {
			return err
		}
		written, names = append(written, file), append(names, name)
	}
	var others []string
	for _, entry := range before {
		if !slices.Contains(names, entry.Name()) && applied(entry.Name()) {
			others = append(others, entry.Name())
		}
	}
	if len(others) > 0 {
		o.Warn("%s holds what this file does not make, and who applies the folder applies it as well: %s", dir, strings.Join(others, ", "))
	}
	return o.Saved(written, nil)
}

func applied(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) && !strings.HasPrefix(name, "kustomization.")
}

// applyOrder has kinds refer only to those before them.
var applyOrder = [...]string{
	"Namespace", "ClusterImageSet", "Secret", "ConfigMap", "ClusterDeployment", "AgentClusterInstall", "NMStateConfig", "InfraEnv", "BareMetalHost",
}

// objectFile begins with the place of the kind: folders are applied in the order of names.
// It does not depend on which other objects there are.
func objectFile(object *unstructured.Unstructured) string {
	place := slices.Index(applyOrder[:], object.GetKind())
	if place < 0 {
		place = len(applyOrder)
	}
	return fmt.Sprintf("%02d-%s-%s.yaml", 10*place, strings.ToLower(object.GetKind()), base.FileName(object.GetName()))
}
