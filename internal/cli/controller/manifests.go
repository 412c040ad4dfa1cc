package controller

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

// The values of --layout.
const (
	layoutRelease    = "release"
	layoutRepository = "repository"
	layoutApply      = "apply"
	layoutKinds      = "kinds"
)

type manifestsOptions struct {
	*app.App
	Providers   []string
	OutputDir   string
	Image       string
	Release     string
	Layout      string
	SelfManaged bool
	Namespaced  bool
}

func newManifests(a *app.App) *cobra.Command {
	o := &manifestsOptions{App: a}
	command := &cobra.Command{
		Use:   "manifests",
		Short: "Write what the providers are installed by, and templates of clusters",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.Providers, "provider", components.Names(), "`LIST` of providers")
	flags.StringVar(&o.OutputDir, "output-dir", "", "`DIR` to write the files into (default: the components to standard output)")
	flags.StringVar(&o.Image, "image", "", "`IMAGE` of the managers (default: that of the release)")
	flags.StringVar(&o.Release, "release", "", "`VERSION` of the release, as v0.1.0 (default: this program's, else the newest that there is)")
	flags.StringVar(&o.Layout, "layout", layoutRelease,
		"what the files are for: `release|repository|apply|kinds`, a release, a local repository of clusterctl, kubectl apply with all "+
			"variables filled in, or that of the kinds alone")
	flags.BoolVar(&o.SelfManaged, "webhook-self-managed", false,
		"have the managers make the certificates of their webhooks, for a cluster without cert-manager")
	flags.BoolVar(&o.Namespaced, "namespaced", false, "let the managers act in the namespaces WATCH_NAMESPACE and AGENTS_NAMESPACE only")
	return command
}

// semantic is a version by which a release is known.
var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func (o *manifestsOptions) run(_ context.Context) error {
	if err := app.OneOf("--layout", o.Layout, layoutRelease, layoutRepository, layoutApply, layoutKinds); err != nil {
		return err
	}
	for _, name := range o.Providers {
		if err := app.OneOf("--provider", name, components.Names()...); err != nil {
			return err
		}
	}
	switch version := app.ReadBuildInfo().Version; {
	case o.Release == "" && semantic.MatchString(version) && !strings.HasPrefix(version, "v0.0.0-"):
		o.Release = version
	case o.Release != "" && !semantic.MatchString(o.Release):
		return app.Usagef("--release %q is no version of a release, such as v0.1.0", o.Release)
	case strings.ContainsAny(o.Image, " \t\n{}$\"'"):
		return app.Usagef("--image %q is no image", o.Image)
	}
	if o.Layout == layoutRepository && o.OutputDir == "" {
		return app.Usagef("--layout %s needs --output-dir DIR", layoutRepository)
	}
	files, err := o.files()
	if err != nil {
		return err
	}
	if o.OutputDir == "" {
		_, err := o.IO.Out.Write(together(files))
		return err
	}
	return o.write(files)
}

func (o *manifestsOptions) files() ([]components.File, error) {
	of := components.Options{Providers: o.Providers, Image: o.Image, Version: o.Release, SelfManaged: o.SelfManaged, Namespaced: o.Namespaced}
	if o.Layout == layoutRepository {
		folder, err := filepath.Abs(o.OutputDir)
		if err != nil {
			return nil, app.FileFault("write", o.OutputDir, err)
		}
		return components.Repository(filepath.ToSlash(folder), of)
	}
	if o.Layout == layoutKinds {
		return components.Definitions(of)
	}
	files, err := components.Files(of)
	if err != nil || o.Layout != layoutApply {
		return files, err
	}
	lookup := func(name string) (string, bool) {
		if o.Image != "" && name == "OAICTL_IMAGE" {
			return "", false
		}
		value, given := o.Env.Lookup(name)
		return value, given && value != ""
	}
	files = slices.DeleteFunc(files, func(f components.File) bool { return !applied(f.Name) })
	for i := range files {
		files[i].Content = components.Expand(files[i].Content, lookup)
		if left := regexp.MustCompile(`\$\{([A-Z_]+)\}`).FindSubmatch(files[i].Content); left != nil {
			return nil, app.Usagef("%s has the variable %s, which has no default: set it in the environment", files[i].Name, left[1])
		}
	}
	return files, nil
}

// applied reports whether a file is what installs the providers.
func applied(name string) bool {
	return strings.HasSuffix(name, "-components.yaml") || strings.HasSuffix(name, "-namespaced.yaml") || strings.HasSuffix(name, "-kinds.yaml")
}

// together are the files that install the providers, as one.
func together(files []components.File) []byte {
	var parts [][]byte
	for _, f := range files {
		if applied(f.Name) {
			parts = append(parts, f.Content)
		}
	}
	return bytes.Join(parts, []byte("---\n"))
}

func (o *manifestsOptions) write(files []components.File) error {
	var written []output.Download
	for _, f := range files {
		path := filepath.Join(o.OutputDir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return app.FileFault("make", filepath.Dir(path), err)
		}
		if err := os.WriteFile(path, f.Content, 0o644); err != nil {
			return app.FileFault("write", path, err)
		}
		written = append(written, output.Download{File: path, Bytes: int64(len(f.Content))})
	}
	if o.Layout == layoutRepository {
		o.Say("Next: clusterctl init --config %s --bootstrap openshift-assisted --control-plane openshift-assisted --infrastructure agent",
			filepath.Join(o.OutputDir, components.ClusterctlFile))
	}
	return o.Saved(written, nil)
}
