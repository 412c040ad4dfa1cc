// Package media has the commands that make and serve the images of the hosts of a file: create images and iso serve.
package media

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/liveimage"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

type createImagesOptions struct {
	hostMediaOptions
	Dir     string
	Netboot bool
	URL     string
	Sync    bool
}

// NewCreateImages is `create images`.
func NewCreateImages(a *app.App) *cobra.Command {
	o := &createImagesOptions{hostMediaOptions: hostMediaOptions{Options: liveimage.Options{App: a}}}
	command := &cobra.Command{
		Use:     "images -f FILE",
		Aliases: []string{"image"},
		Short:   "Write every host's own discovery image",
		Args:    app.NoArguments,
		RunE:    app.Run(o.run),
	}
	flags := command.Flags()
	o.declare(flags)
	flags.StringVarP(&o.Dir, "dir", "d", ".", "`DIR` into which they are written; it is made")
	flags.BoolVar(&o.Netboot, "netboot", false, "write what machines boot over the network")
	flags.StringVar(&o.URL, "url", "", "`URL` at which machines find DIR, with --netboot")
	flags.BoolVar(&o.Sync, "fsync", false, "wait until the images are on the disk")
	return command
}

func (o *createImagesOptions) run(ctx context.Context) error {
	if err := o.check("create images"); err != nil {
		return err
	}
	if o.URL != "" && !o.Netboot {
		return app.Usagef("--url needs --netboot")
	}
	where, err := liveimage.FolderURL(o.URL)
	if err != nil {
		return err
	}
	cluster, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	media, err := o.images(ctx, cluster, nil)
	if err != nil {
		return err
	}
	defer func() { _ = media.Close() }() // it was only read from
	if err := o.openBases(ctx, media); err != nil {
		return err
	}
	dir, err := app.Folder(o.Dir)
	if err != nil {
		return err
	}
	write := o.writeISO
	if o.Netboot {
		write = func(ctx context.Context, dir string, media *boot.Images, host *spec.Host) ([]output.Download, error) {
			return o.writeNetboot(ctx, dir, where, media, host)
		}
	}
	var written []output.Download
	for n := range media.Cluster.Spec.Hosts {
		files, err := write(ctx, dir, media, &media.Cluster.Spec.Hosts[n])
		if err != nil {
			return err
		}
		written = append(written, files...)
	}
	if o.Netboot {
		files, err := o.writeRootfs(ctx, dir, media)
		if err != nil {
			return err
		}
		written = append(written, files...)
	}
	return o.Saved(written, nil)
}

func (o *createImagesOptions) writeISO(ctx context.Context, dir string, media *boot.Images, host *spec.Host) ([]output.Download, error) {
	made, result, err := media.Of(host.Name).ISO(ctx, host.Name)
	if err != nil {
		return nil, liveimage.ContentFault(err)
	}
	for _, w := range result.Warnings {
		if o.Globals.Verbose > 0 {
			o.Say("%s: %s", host.Name, w)
		}
	}
	return liveimage.WriteImage(ctx, o.App, made, liveimage.Output{Path: filepath.Join(dir, app.FileName(host.Name)+".iso"), Force: true,
		Sync: o.Sync})
}

func (o *createImagesOptions) writeNetboot(ctx context.Context, dir, where string, media *boot.Images,
	host *spec.Host) ([]output.Download, error) {
	n, err := media.Of(host.Name).Netboot(ctx, host.Name)
	if err != nil {
		return nil, liveimage.ContentFault(err)
	}
	name, mine := app.FileName(host.Name), ""
	rootfs := liveimage.ScriptFolder + "../" + rootfsOf(media, host.Name)
	if where != "" {
		mine, rootfs = where+"/"+name, where+"/"+rootfsOf(media, host.Name)
	}
	if n.Rootfs == nil {
		rootfs = ""
	}
	files, err := liveimage.NetbootFiles(n, mine, rootfs)
	if err != nil {
		return nil, err
	}
	return liveimage.WriteFiles(ctx, o.App, filepath.Join(dir, name), true, files)
}

func (o *createImagesOptions) writeRootfs(ctx context.Context, dir string, media *boot.Images) ([]output.Download, error) {
	var written []output.Download
	for _, part := range media.Groups {
		n, err := part.Netboot(ctx, part.Hosts[0].Name)
		if err != nil {
			return nil, liveimage.ContentFault(err)
		}
		if n.Rootfs == nil {
			continue
		}
		files, err := liveimage.WriteFiles(ctx, o.App, dir, true, []liveimage.File{{Name: rootfsOf(media, part.Hosts[0].Name), Image: n.Rootfs}})
		if err != nil {
			return nil, err
		}
		written = append(written, files...)
	}
	return written, nil
}

// rootfsOf has the architecture in its name where there are several.
func rootfsOf(media *boot.Images, host string) string {
	if len(media.Groups) < 2 {
		return liveimage.RootfsName
	}
	return "rootfs-" + string(media.Of(host).Arch) + ".img"
}

type hostMediaOptions struct {
	liveimage.Options
	File string
	Base string

	service *install.Client // once it was reached
}

func (o *hostMediaOptions) declare(flags *pflag.FlagSet) {
	o.Options.Declare(flags)
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVar(&o.Base, "base", "", "`FILE` or URL of the live image that all are made of (default: the service's)")
}

func (o *hostMediaOptions) check(name string) error {
	switch {
	case o.File == "":
		return app.Usagef("%s needs -f FILE", name)
	case o.SHA256 != "" && o.Base == "":
		return app.Usagef("--sha256 needs --base")
	case o.Base != "":
		return app.CheckSource(o.Base, o.SHA256)
	}
	return nil
}

func (o *hostMediaOptions) cluster(ctx context.Context) (*spec.Cluster, error) {
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return nil, err
	}
	if len(cluster.Spec.Hosts) == 0 {
		return nil, &model.Fault{Code: model.CodeInput, Op: "make images of", On: o.File, Permanent: true, Err: errors.New("it names no hosts"),
			Next: model.Command("download iso -f", listtext.Quoted(o.File))}
	}
	return cluster, nil
}

// images fails where a host has no InfraEnv yet. server is nil where they go into files.
func (o *hostMediaOptions) images(ctx context.Context, cluster *spec.Cluster, server *serve.Server) (*boot.Images, error) {
	var err error
	if o.service, err = o.Dial(ctx); err != nil {
		return nil, err
	}
	config := boot.ImagesConfig{Service: o.service.Backend, Spec: cluster, Server: server,
		Open: func(ctx context.Context, source fetch.Source) (*iso.Base, io.Closer, error) {
			made, err := o.OpenSource(ctx, source)
			if err != nil {
				return nil, nil, err
			}
			return made.Base, made.File, nil
		}}
	if o.Base != "" {
		config.Base = fetch.Source{Location: o.Base, SHA256: o.SHA256}
	}
	images, err := boot.NewImages(ctx, config)
	return images, app.SeveralArchs(o.notRegistered(err))
}

func (o *hostMediaOptions) notRegistered(err error) error {
	fault, is := errors.AsType[*model.Fault](err)
	missing, none := errors.AsType[*boot.NoInfraEnvError](err)
	if !is || !none {
		return err
	}
	advised := *fault
	advised.Next = model.Command("create cluster -f", listtext.Quoted(o.File), "--detach")
	if missing.Installed {
		advised.Err = errors.New("the cluster is installed; use oaictl add-node to add hosts")
		advised.Next = model.Command("add-node -f", listtext.Quoted(o.File))
	}
	return &advised
}

func (o *hostMediaOptions) openBases(ctx context.Context, images *boot.Images) error {
	carried, err := images.Open(ctx)
	o.WarnCarried(carried, o.Base)
	fault, is := errors.AsType[*model.Fault](err)
	if problem, wrong := errors.AsType[*boot.BaseError](err); is && wrong {
		advised := *fault
		advised.Next = app.ImageAdvice(problem)
		return &advised
	}
	return err
}
