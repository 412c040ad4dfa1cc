package download

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

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
				return app.Usagef("--infra-env and a cluster exclude each other")
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
	var files []document.Download
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
	return o.Print(printer.Result{Data: document.List(items), Names: urls, Text: func() string { return app.Lines(urls) }})
}
