// Package download has the commands that fetch files of a cluster or host: download and logs.
package download

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NewDownload is `download`.
func NewDownload(a *app.App) *cobra.Command {
	return app.Group("download", "Download images, credentials, Ignition or manifests",
		newISO(a), newKubeconfig(a), newIgnition(a), newManifests(a))
}

type downloadOptions struct {
	*app.App
	app.Target
	Dir string
	To  string
}

func (o *downloadOptions) clusterDir(name string, parts ...string) (string, error) {
	if strings.ContainsAny(name, `/\`) || name == "." || name == ".." || name == "" {
		return "", app.NotFound("save files of cluster", name, "its name cannot be a folder's", "give --to")
	}
	return app.Folder(append([]string{o.Dir, name}, parts...)...)
}

func newKubeconfig(a *app.App) *cobra.Command {
	o := &downloadOptions{App: a}
	noIngress := false
	command := &cobra.Command{
		Use:   "kubeconfig NAME|ID|-f FILE",
		Short: "Download the kubeconfig of a cluster",
		RunE:  o.Then(func(ctx context.Context) error { return o.kubeconfig(ctx, noIngress) }, "cluster"),
	}
	flags := command.Flags()
	o.Declare(flags)
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which it is written, as DIR/CLUSTER/auth/kubeconfig")
	flags.StringVar(&o.To, "to", "", "`FILE` to write to instead, - for standard output")
	flags.BoolVar(&noIngress, "no-ingress", false, "the one that exists from the beginning of the install, without the ingress certificate")
	return command
}

func (o *downloadOptions) kubeconfig(ctx context.Context, noIngress bool) error {
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	name := "kubeconfig"
	if noIngress {
		name = "kubeconfig-noingress"
	}
	content, err := service.Result(ctx, seen, name)
	if err != nil {
		return err
	}
	if o.To == "" {
		return o.keepResult(ctx, service, seen.Ref, name, content)
	}
	return o.SaveOne(o.To, app.Content(content))
}

// keepResult writes where create cluster does, which puts another cluster's aside.
func (o *downloadOptions) keepResult(ctx context.Context, service *install.Client, cluster model.ClusterRef, name string,
	content []byte) error {
	dir, err := o.clusterDir(cluster.Name)
	if err != nil {
		return err
	}
	claimed, saved, err := service.With(install.Config{Files: install.Directory(o.Dir)}).KeepResult(ctx, cluster, name, content)
	if claimed != "" {
		o.Say("The credentials of another cluster of this name are kept in %s.", claimed)
	}
	if saved != "" {
		o.Say("What lay where %s belongs is kept in %s.", name, saved)
	}
	if err != nil {
		return err
	}
	return o.Saved([]output.Download{{File: filepath.Join(dir, "auth", name), Bytes: int64(len(content))}}, nil)
}

func newIgnition(a *app.App) *cobra.Command {
	o := &downloadOptions{App: a}
	host, discovery := "", ""
	command := &cobra.Command{
		Use:   "ignition NAME|ID|-f FILE",
		Short: "Download the Ignition of a cluster's roles, of a host, or of the discovery image",
		RunE: func(command *cobra.Command, given []string) error {
			switch {
			case host != "" && discovery != "", (host != "" || discovery != "") && (len(given) > 0 || o.File != ""):
				return app.Usagef("--host, --discovery and a cluster cannot be used together")
			case host != "":
				return o.hostIgnition(command.Context(), host)
			case discovery != "":
				return o.discoveryIgnition(command.Context(), discovery)
			}
			if err := o.Read(command, given, "cluster"); err != nil {
				return err
			}
			return o.clusterIgnition(command.Context())
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which they are written, as DIR/CLUSTER/ignition")
	flags.StringVar(&o.To, "to", "", "`FILE` to write one file to, - for standard output")
	flags.StringVar(&host, "host", "", "what the host `NAME` or ID boots with, once the install runs")
	flags.StringVar(&discovery, "discovery", "", "what is in the discovery image of the InfraEnv `NAME` or ID")
	return command
}

func (o *downloadOptions) clusterIgnition(ctx context.Context) error {
	if o.To != "" {
		return app.Usagef("--to takes one file; a cluster has one for each role: use --dir")
	}
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	dir, err := o.clusterDir(seen.Ref.Name, "ignition")
	if err != nil {
		return err
	}
	var files []output.Download
	for _, name := range seen.RoleIgnitions() {
		file, err := o.SaveTo(filepath.Join(dir, name), func(w io.Writer) error {
			has, err := service.RoleIgnition(ctx, seen, name, w)
			if err == nil && !has {
				return errNoSuchRole
			}
			return err
		})
		if errors.Is(err, errNoSuchRole) {
			continue
		}
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return o.Saved(files, nil)
}

var errNoSuchRole = errors.New("the cluster has no hosts of the role")

func (o *downloadOptions) hostIgnition(ctx context.Context, name string) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	host, err := service.FindHost(ctx, install.Target{}, name)
	if err != nil {
		return err
	}
	text, err := service.IgnitionOf(ctx, host)
	if err != nil {
		return err
	}
	return o.SaveOne(cmp.Or(o.To, app.FileName(host.DisplayName())+".ign"), app.Content(text))
}

func (o *downloadOptions) discoveryIgnition(ctx context.Context, name string) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	env, err := service.InfraEnvByNameOrID(ctx, name)
	if err != nil {
		return err
	}
	return o.SaveOne(cmp.Or(o.To, app.FileName(env.Name)+"-discovery.ign"), func(w io.Writer) error {
		return service.DownloadInfraEnvFile(ctx, env.ID, "discovery.ign", w)
	})
}

func newManifests(a *app.App) *cobra.Command {
	o := &downloadOptions{App: a}
	system := false
	command := &cobra.Command{
		Use:   "manifests NAME|ID|-f FILE",
		Short: "Download the manifests that the install adds",
		RunE:  o.Then(func(ctx context.Context) error { return o.manifests(ctx, system) }, "cluster"),
	}
	flags := command.Flags()
	o.Declare(flags)
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which they are written, as DIR/CLUSTER/manifests/FOLDER")
	flags.BoolVar(&system, "system", false, "those that the service made itself, too")
	return command
}

func (o *downloadOptions) manifests(ctx context.Context, system bool) error {
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	list, err := service.Manifests(ctx, seen.Ref.ID, system)
	if err != nil {
		return err
	}
	files := []output.Download{}
	for _, manifest := range list {
		dir, err := o.clusterDir(seen.Ref.Name, "manifests", app.FileName(manifest.Folder))
		if err != nil {
			return err
		}
		file, err := o.SaveTo(filepath.Join(dir, app.FileName(manifest.Name)), func(w io.Writer) error {
			return service.DownloadManifest(ctx, seen.Ref.ID, manifest.Folder, manifest.Name, w)
		})
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		o.Say("%s has no custom manifests.", seen.FullName())
	}
	return o.Saved(files, nil)
}

// NewLogs is `logs`.
func NewLogs(a *app.App) *cobra.Command {
	o := &downloadOptions{App: a}
	command := &cobra.Command{
		Use:   "logs [cluster|host] NAME|ID|-f FILE",
		Short: "Download the logs of an install, or of one host",
		RunE:  o.Then(o.logs, "cluster", "host"),
	}
	o.Declare(command.Flags())
	o.DeclareOfHost(command.Flags())
	command.Flags().StringVar(&o.To, "to", "", "`FILE` to write to, - for standard output (default: NAME-logs.tar)")
	return command
}

func (o *downloadOptions) logs(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	cluster, host, name := "", "", ""
	if o.Kind == "host" {
		found, err := o.FindHost(ctx, service, o.Target)
		if err != nil {
			return err
		}
		cluster, host, name = found.ClusterID, found.ID, output.OfHost(found, "").Name
		if cluster == "" {
			return app.NotFound("download logs of host", name, "it belongs to no cluster", "{get hosts}")
		}
	} else {
		seen, err := o.FindCluster(ctx, service, o.Target)
		if err != nil {
			return err
		}
		cluster, name = seen.Ref.ID, seen.Ref.Name
	}
	return o.SaveOne(cmp.Or(o.To, app.FileName(name)+"-logs.tar"), func(w io.Writer) error { return service.Logs(ctx, cluster, host, w) })
}

type isoOptions struct {
	downloadOptions
	InfraEnv string
	URL      bool
}

func newISO(a *app.App) *cobra.Command {
	o := &isoOptions{downloadOptions: downloadOptions{App: a}}
	command := &cobra.Command{
		Use:   "iso NAME|ID|-f FILE",
		Short: "Download the discovery image that machines boot",
		RunE: func(command *cobra.Command, given []string) error {
			if o.InfraEnv != "" && (len(given) > 0 || o.File != "") {
				return app.Usagef("--infra-env and a cluster cannot be used together")
			}
			if o.InfraEnv == "" {
				if err := o.Read(command, given, "cluster"); err != nil {
					return err
				}
			}
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	flags.StringVar(&o.InfraEnv, "infra-env", "", "the image of the InfraEnv `NAME` or ID")
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` in which it is written, as DIR/INFRAENV.iso")
	flags.StringVar(&o.To, "to", "", "`FILE` to write one image to, - for standard output")
	flags.BoolVar(&o.URL, "url", false, "print the address of the image instead")
	return command
}

func (o *isoOptions) run(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	infraEnvs, err := o.infraEnvs(ctx, service)
	if err != nil {
		return err
	}
	switch {
	case len(infraEnvs) == 0:
		return app.NotFound("download image of", o.Name+o.File, "the cluster has no InfraEnv", "{get infraenvs}")
	case o.To != "" && len(infraEnvs) > 1:
		return app.Usagef("--to takes one image, and the cluster has %d InfraEnvs; use --infra-env or --dir", len(infraEnvs))
	case o.URL:
		return o.printURLs(ctx, service, infraEnvs)
	}
	var files []output.Download
	for _, env := range infraEnvs {
		to := o.To
		if to == "" {
			dir, err := app.Folder(o.Dir)
			if err != nil {
				return err
			}
			to = filepath.Join(dir, app.FileName(env.Name)+".iso")
		}
		file, err := o.SaveTo(to, func(w io.Writer) error {
			return service.DownloadISO(ctx, env.ID, w, func(done int64, err error) {
				o.Say("the download of %s broke after %s: %v; going on", env.Name, bytesize.Text(done), err)
			})
		})
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return o.Saved(files, nil)
}

func (o *isoOptions) infraEnvs(ctx context.Context, service *install.Client) ([]model.InfraEnv, error) {
	if o.InfraEnv != "" {
		env, err := service.InfraEnvByNameOrID(ctx, o.InfraEnv)
		return []model.InfraEnv{env}, err
	}
	seen, err := o.FindCluster(ctx, service, o.Target)
	if err != nil {
		return nil, err
	}
	if seen.Observed != nil { // a file may name an InfraEnv that belongs to no cluster yet
		return seen.Observed.InfraEnvs, nil
	}
	return service.ListInfraEnvs(ctx, seen.Ref.ID)
}

type imageURL struct {
	InfraEnv string     `json:"infraEnv"`
	URL      string     `json:"url"`
	Expires  *time.Time `json:"expires,omitempty"`
}

func (o *isoOptions) printURLs(ctx context.Context, service *install.Client, infraEnvs []model.InfraEnv) error {
	var items []imageURL
	var urls []string
	for _, env := range infraEnvs {
		url, expires, err := service.DownloadISOURL(ctx, env.ID)
		if err != nil {
			return err
		}
		item := imageURL{InfraEnv: env.Name, URL: url}
		if !expires.IsZero() {
			item.Expires = &expires
		}
		items, urls = append(items, item), append(urls, url)
	}
	return o.Print(printer.Result{Data: output.List(items), Names: urls, Text: func() string { return app.Lines(urls) }})
}
