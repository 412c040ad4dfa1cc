package iso

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/iso"
)

// What the files of a network boot are called in a folder.
const (
	kernelName = "kernel"
	initrdName = "initrd"
	scriptName = "ipxe"
	rootfsName = "rootfs.img"
	// s390x knows the others by these.
	addrSizeName  = "initrd.addrsize"
	insName       = "generic.ins"
	parameterName = "generic.prm"
)

// scriptFolder is the folder that an iPXE script was fetched from, as iPXE has it.
const scriptFolder = "${cwduri}"

func newExtractPXE(a *base.App) *cobra.Command {
	o := &extractOptions{imageOptions: imageOptions{App: a}}
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
			where, err := folderURL(location)
			if err != nil {
				return err
			}
			return o.reading(command.Context(), given[0], func(live *liveImage) error { return o.pxe(command.Context(), live, where) })
		},
	}
	o.declare(command, "the files")
	command.Flags().StringVar(&location, "url", "", "`URL` at which machines find DIR")
	return command
}

func (o *extractOptions) pxe(ctx context.Context, live *liveImage, where string) error {
	n, err := live.Netboot(iso.Customization{Existing: iso.Merge})
	if err != nil {
		return live.fault(err)
	}
	rootfs := ""
	if n.Rootfs != nil {
		rootfs = beside(where, rootfsName)
	}
	files, err := netbootFiles(n, where, rootfs)
	if err != nil {
		return err
	}
	if n.Rootfs != nil {
		files = append(files, smallFile{name: rootfsName, image: n.Rootfs})
	}
	return o.Saved(writeFiles(ctx, o.App, o.Dir, o.Force, files))
}

// folderURL is the URL of a folder without its last slash, "" for none.
func folderURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", base.Usagef("--url is not the http or https URL of a folder")
	}
	return strings.TrimRight(text, "/"), nil
}

// beside is the URL of a file in a folder: of one whose URL is not known, as iPXE
// finds it.
func beside(folder, name string) string {
	if folder == "" {
		return scriptFolder + name
	}
	return folder + "/" + name
}

// netbootFiles are the files of one machine, all but the root filesystem. where is
// the URL of their folder, rootfs that of the root filesystem.
func netbootFiles(n *iso.Netboot, where, rootfs string) ([]smallFile, error) {
	files := []smallFile{
		{name: kernelName, image: n.Kernel},
		{name: initrdName, image: n.Initrd},
	}
	if n.Ins == "" {
		script := n.Script(beside(where, kernelName), beside(where, initrdName), rootfs)
		return append(files, smallFile{name: scriptName, content: []byte(script)}), nil
	}
	// No iPXE there that could tell where it is.
	if where == "" {
		return nil, base.Usagef("s390x needs --url: its parameters name the root filesystem's whole URL")
	}
	return append(files,
		smallFile{name: addrSizeName, content: n.AddrSize},
		smallFile{name: insName, content: []byte(n.Ins)},
		smallFile{name: parameterName, content: parameterFile(n, rootfs)},
	), nil
}

// parameterFile is s390x's generic.prm, whose kernel arguments name the whole URL of
// the root filesystem, "" where it is none of its own.
func parameterFile(n *iso.Netboot, rootfs string) []byte {
	parameters := n.Kargs
	if rootfs != "" {
		parameters = "coreos.live.rootfs_url=" + rootfs + " " + parameters
	}
	return []byte(parameters + "\n")
}

// minimalOptions are what `iso extract minimal` needs and what its flags say.
type minimalOptions struct {
	imageOptions
	Out       imageOutput
	RootfsURL string
}

func newExtractMinimal(a *base.App) *cobra.Command {
	o := &minimalOptions{imageOptions: imageOptions{App: a}}
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
			if err := checkOutput(o.App, "-o", o.Out); err != nil {
				return err
			}
			return o.run(command.Context(), given[0])
		},
	}
	flags := command.Flags()
	o.declare(flags)
	flags.StringVarP(&o.Out.Path, "output", "o", "", "`OUT`, the image to write, - for standard output")
	flags.StringVar(&o.RootfsURL, "rootfs-url", "", "`URL` of rootfs.img: http, https or tftp")
	flags.BoolVar(&o.Out.Sync, "fsync", false, "wait until the image is on the disk")
	flags.BoolVar(&o.Out.Force, "force", false, "overwrite OUT")
	return command
}

func (o *minimalOptions) run(ctx context.Context, location string) error {
	return o.reading(ctx, location, func(live *liveImage) error {
		minimal, err := live.Minimal(ctx, o.RootfsURL)
		switch {
		case errors.Is(err, iso.ErrCustomized):
			return &install.Fault{Code: install.CodeInput, Permanent: true, Err: named(location, live.file.Path, err), Next: "make the minimal image first, and customise that"}
		case err != nil:
			return live.fault(err)
		}
		return o.Saved(writeImage(ctx, o.App, minimal.Image(), o.Out))
	})
}
