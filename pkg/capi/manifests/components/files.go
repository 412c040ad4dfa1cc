// Package components is what oaictl is installed by as three providers of Cluster API: the component
// files that clusterctl reads, templates of clusters, and what says which releases there are. The same
// options give the same bytes.
package components

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/capi/internal/inplaceupdate"
)

//go:generate ./generate

//go:embed rbac/*.yaml templates *.tmpl metadata.yaml clusterctl.yaml
var own embed.FS

// Files that a release of a provider of Cluster API has.
const (
	MetadataFile   = "metadata.yaml"
	ClusterctlFile = "clusterctl.yaml"
	ExtensionFile  = "extension-config.yaml"
	// templatePrefix is that of the templates of clusters, and classPrefix that of ClusterClasses.
	templatePrefix = "cluster-template"
	classPrefix    = "clusterclass"
)

// Options say how oaictl is installed. The zero value installs all providers, with cert-manager, for all
// namespaces.
type Options struct {
	// Providers are those that are installed; all if empty.
	Providers []string
	// Image is that of the managers; DefaultImage of Version if "".
	Image string
	// Version is the release, as v0.1.0. "" is the newest that metadata.yaml lists.
	Version string
	// SelfManaged makes the managers make the certificates of their webhooks, for a cluster without cert-manager.
	SelfManaged bool
	// Namespaced leaves out what allows the managers to act in all namespaces. What they may do in
	// one is in a file of its own.
	Namespaced bool
}

// defaultImage is the repository of the images of releases.
const defaultImage = "ghcr.io/oaictl/oaictl"

// DefaultImage is the image of a release.
func DefaultImage(version string) string { return defaultImage + ":" + version }

// File is a file that is written.
type File struct {
	// Name is the file's name or, in a local repository, its path with slashes.
	Name    string
	Content []byte
}

// complete fills in what is left out, and refuses what is not there.
func (o Options) complete() (Options, error) {
	for _, name := range o.Providers {
		if _, err := Of(name); err != nil {
			return o, err
		}
	}
	if len(o.Providers) == 0 {
		o.Providers = Names()
	}
	if o.Version == "" {
		newest, err := newestVersion()
		if err != nil {
			return o, err
		}
		o.Version = newest
	}
	if o.Image == "" {
		o.Image = DefaultImage(o.Version)
	}
	return o, nil
}

// Files are all files of a release, in the order of their names.
func Files(o Options) ([]File, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, name := range o.Providers {
		of, err := o.provider(name)
		if err != nil {
			return nil, err
		}
		for _, f := range of {
			all[f.Name] = f.Content
		}
	}
	for _, name := range []string{MetadataFile, ClusterctlFile} {
		if all[name], err = own.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return sorted(all), nil
}

// provider are the files that one provider has besides those that all have.
func (o Options) provider(name string) ([]File, error) {
	of, err := Of(name)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	if all[of.ComponentsFile()], err = components(of, o); err != nil {
		return nil, fmt.Errorf("write %s: %w", of.ComponentsFile(), err)
	}
	if o.Namespaced {
		if all[of.namespacedFile()], err = execute("namespaced.yaml.tmpl", of.values(o)); err != nil {
			return nil, err
		}
	}
	switch name {
	case controlPlane:
		all[ExtensionFile] = []byte(inplaceupdate.Manifest(inplaceupdate.Place{Namespace: of.Namespace(), Service: of.Service(),
			Port: servicePort, Secret: of.Secret()}))
	case infrastructure: // where clusterctl looks for templates
		templates, err := clusterTemplates()
		if err != nil {
			return nil, err
		}
		for _, t := range templates {
			all[t.Name] = t.Content
		}
	}
	return sorted(all), nil
}

// Repository are the files of a release as a local repository of clusterctl, which is below the folder
// base, an absolute path with slashes, and a clusterctl.yaml that names it.
func Repository(base string, o Options) ([]File, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	metadata, err := own.ReadFile(MetadataFile)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	var config strings.Builder
	fmt.Fprintln(&config, "providers:")
	for _, name := range o.Providers {
		of, err := o.provider(name)
		if err != nil {
			return nil, err
		}
		p, err := Of(name)
		if err != nil {
			return nil, err
		}
		folder := path.Join(p.Label(), o.Version)
		for _, f := range append(of, File{MetadataFile, metadata}) {
			all[path.Join(folder, f.Name)] = f.Content
		}
		fmt.Fprintf(&config, "- name: %s\n  type: %s\n  url: %q\n", p.Clusterctl, p.Type, path.Join(base, folder, p.ComponentsFile()))
	}
	all[ClusterctlFile] = []byte(config.String())
	return sorted(all), nil
}

func sorted(all map[string][]byte) []File {
	var out []File
	for name, content := range all {
		out = append(out, File{name, content})
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// variable is a variable that clusterctl fills in.
var variable = regexp.MustCompile(`\$\{([A-Z_]+)(?::=([^}]*))?\}`)

// Expand fills in the variables of a file as clusterctl does: by what lookup finds, else by the default. A variable
// that has neither stays.
func Expand(text []byte, lookup func(name string) (string, bool)) []byte {
	return variable.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := variable.FindSubmatchIndex(found)
		if value, given := lookup(string(found[parts[2]:parts[3]])); given {
			return []byte(value)
		}
		if parts[4] < 0 {
			return found
		}
		return found[parts[4]:parts[5]]
	})
}
