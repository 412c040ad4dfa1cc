package iso

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/image"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/iso"
)

func newExtractPXE(a *base.App) *cobra.Command {
	o := &extractOptions{Options: image.Options{App: a}}
	location := ""
	command := &cobra.Command{
		Use:   "pxe IMAGE -d DIR",
		Short: "Write the files with which machines boot an image over the network",
		Long: `Write the files with which machines boot an image over the network: DIR/kernel,
DIR/initrd, DIR/rootfs.img and DIR/ipxe, a script for iPXE. What the image carries
is in the initrd. The script finds the others beside it, or, with --url, there.
For s390x there are initrd.addrsize, generic.ins and generic.prm too.`,
		Example: `  oaictl iso extract pxe cp-0.iso -d pxe
  oaictl iso extract pxe cp-0.iso -d pxe --force --url http://192.0.2.1/pxe`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.check(command); err != nil {
				return err
			}
			where, err := image.FolderURL(location)
			if err != nil {
				return err
			}
			return reading(command.Context(), &o.Options, given[0], func(live *image.Live) error { return o.pxe(command.Context(), live, where) })
		},
	}
	o.declare(command, "the files")
	command.Flags().StringVar(&location, "url", "", "`URL` at which machines find DIR")
	return command
}

func (o *extractOptions) pxe(ctx context.Context, live *image.Live, where string) error {
	n, err := live.Netboot(iso.Customization{Existing: iso.Merge})
	if err != nil {
		return live.Fault(err)
	}
	rootfs := ""
	if n.Rootfs != nil {
		rootfs = image.Beside(where, image.RootfsName)
	}
	files, err := image.NetbootFiles(n, where, rootfs)
	if err != nil {
		return err
	}
	if n.Rootfs != nil {
		files = append(files, image.File{Name: image.RootfsName, Image: n.Rootfs})
	}
	return o.Saved(image.WriteFiles(ctx, o.App, o.Dir, o.Force, files))
}

// minimalOptions are what `iso extract minimal` needs and what its flags say.
type minimalOptions struct {
	image.Options
	Out       image.Output
	RootfsURL string
}

func newExtractMinimal(a *base.App) *cobra.Command {
	o := &minimalOptions{Options: image.Options{App: a}}
	command := &cobra.Command{
		Use:   "minimal IMAGE -o OUT --rootfs-url URL",
		Short: "Write the minimal image, which fetches its root filesystem when it boots",
		Long: `Write the minimal image that a live image was built with. It has about a tenth of
its size, boots in the same ways, and fetches its root filesystem from --rootfs-url
when it does; "iso extract pxe" writes that as rootfs.img. IMAGE has to be as it was
built; OUT can be customised like any other.`,
		Example: `  oaictl iso extract minimal rhcos-live.iso -o minimal.iso --rootfs-url http://192.0.2.1/rootfs.img
  oaictl iso extract minimal rhcos-live.iso -o - --rootfs-url http://192.0.2.1/rootfs.img > minimal.iso`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			if !command.Flags().Changed("output") {
				o.Out.Path = ""
			}
			if o.RootfsURL == "" {
				return base.Usagef("%s needs --rootfs-url, where the root filesystem is fetched from", base.VerbOf(command))
			}
			if err := checkRootfsURL(o.RootfsURL); err != nil {
				return err
			}
			if err := image.CheckOutput(o.App, "-o", o.Out); err != nil {
				return err
			}
			return o.run(command.Context(), given[0])
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	flags.StringVarP(&o.Out.Path, "output", "o", "", "`OUT`, the image to write, - for standard output")
	flags.StringVar(&o.RootfsURL, "rootfs-url", "", "`URL` of rootfs.img: http, https or tftp")
	flags.BoolVar(&o.Out.Sync, "fsync", false, "wait until the image is on the disk")
	flags.BoolVar(&o.Out.Force, "force", false, "overwrite OUT")
	return command
}

func (o *minimalOptions) run(ctx context.Context, location string) error {
	return reading(ctx, &o.Options, location, func(live *image.Live) error {
		minimal, err := live.Minimal(ctx, o.RootfsURL)
		switch {
		case errors.Is(err, iso.ErrCustomized):
			return &install.Fault{Code: install.CodeInput, Permanent: true, Err: image.Named(location, live.File.Path, err), Next: "make the minimal image first, and customise that"}
		case err != nil:
			return live.Fault(err)
		}
		return o.Saved(image.WriteImage(ctx, o.App, minimal.Image(), o.Out))
	})
}
