package iso

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/liveimage"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso"
)

func reading(ctx context.Context, o *liveimage.Options, location string, use func(*liveimage.Live) error) error {
	live, err := o.OpenImage(ctx, location)
	if err != nil {
		return err
	}
	defer func() { _ = live.Close() }() // it was only read from
	return use(live)
}

func newExtractIgnition(a *app.App) *cobra.Command {
	o := &liveimage.Options{App: a}
	return reader(o, "ignition IMAGE", "Print the Ignition config that an image carries", func(ctx context.Context, location string) error {
		return reading(ctx, o, location, func(live *liveimage.Live) error {
			config, err := live.Ignition()
			switch {
			case err != nil:
				return live.Fault(err)
			case config == nil:
				return live.Lacks("Ignition config")
			}
			return a.Print(printer.Result{Data: jsonText(config), Names: []string{"config.ign"}, Text: func() string { return string(config) }})
		})
	})
}

func jsonText(data []byte) any {
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return string(data)
	}
	return decoded
}

type kargsText struct {
	Current string `json:"current"`
}

func newExtractKargs(a *app.App) *cobra.Command {
	o := &liveimage.Options{App: a}
	return reader(o, "kargs IMAGE", "Print the kernel arguments of an image", func(ctx context.Context, location string) error {
		return reading(ctx, o, location, func(live *liveimage.Live) error {
			if live.Info().KargsLimit == 0 {
				return live.Lacks("kernel arguments that can be changed")
			}
			return a.Print(printer.Result{Data: kargsText{live.Kargs()}, Names: []string{live.Kargs()},
				Text: func() string { return fmt.Sprintln(live.Kargs()) }})
		})
	})
}

type extractOptions struct {
	liveimage.Options
	Dir   string
	Force bool
}

func (o *extractOptions) declare(command *cobra.Command, what string) {
	flags := command.Flags()
	o.Options.Declare(flags)
	flags.StringVarP(&o.Dir, "dir", "d", "", "`DIR` into which "+what+" are written; it is made")
	flags.BoolVar(&o.Force, "force", false, "overwrite files that are there")
}

func (o *extractOptions) check(command *cobra.Command) error {
	if o.Dir == "" {
		return app.Usagef("%s needs -d DIR", app.VerbOf(command))
	}
	return nil
}

func newExtractNetwork(a *app.App) *cobra.Command {
	o := &extractOptions{Options: liveimage.Options{App: a}}
	command := &cobra.Command{
		Use:   "network IMAGE -d DIR",
		Short: "Write the network profiles that an image carries",
		Args:  oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.check(command); err != nil {
				return err
			}
			return reading(command.Context(), &o.Options, given[0], func(live *liveimage.Live) error { return o.network(command.Context(), live) })
		},
	}
	o.declare(command, "the files")
	return command
}

func (o *extractOptions) network(ctx context.Context, live *liveimage.Live) error {
	keyfiles, err := live.NetworkFiles()
	switch {
	case err != nil:
		return live.Fault(err)
	case len(keyfiles) == 0:
		return live.Lacks("network profiles")
	}
	var files []liveimage.File
	for _, k := range keyfiles {
		// An image may come from an untrusted source: its names lead nowhere else.
		name := path.Base(path.Clean("/" + k.Name))
		if name == "/" {
			continue
		}
		files = append(files, liveimage.File{Name: name, Content: k.Content})
	}
	return o.Saved(liveimage.WriteFiles(ctx, o.App, o.Dir, o.Force, files))
}

func newExtractPXE(a *app.App) *cobra.Command {
	o := &extractOptions{Options: liveimage.Options{App: a}}
	location := ""
	command := &cobra.Command{
		Use:   "pxe IMAGE -d DIR",
		Short: "Write the files with which machines boot an image over the network",
		Args:  oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.check(command); err != nil {
				return err
			}
			where, err := liveimage.FolderURL(location)
			if err != nil {
				return err
			}
			return reading(command.Context(), &o.Options, given[0],
				func(live *liveimage.Live) error { return o.pxe(command.Context(), live, where) })
		},
	}
	o.declare(command, "the files")
	command.Flags().StringVar(&location, "url", "", "`URL` at which machines find DIR")
	return command
}

func (o *extractOptions) pxe(ctx context.Context, live *liveimage.Live, where string) error {
	n, err := live.Netboot(iso.Customization{Existing: iso.Merge})
	if err != nil {
		return live.Fault(err)
	}
	rootfs := ""
	if n.Rootfs != nil {
		rootfs = liveimage.Beside(where, liveimage.RootfsName)
	}
	files, err := liveimage.NetbootFiles(n, where, rootfs)
	if err != nil {
		return err
	}
	if n.Rootfs != nil {
		files = append(files, liveimage.File{Name: liveimage.RootfsName, Image: n.Rootfs})
	}
	return o.Saved(liveimage.WriteFiles(ctx, o.App, o.Dir, o.Force, files))
}

type minimalOptions struct {
	liveimage.Options
	Out       liveimage.Output
	RootfsURL string
}

func newExtractMinimal(a *app.App) *cobra.Command {
	o := &minimalOptions{Options: liveimage.Options{App: a}}
	command := &cobra.Command{
		Use:   "minimal IMAGE -o OUT --rootfs-url URL",
		Short: "Write the minimal image, which fetches its root filesystem when it boots",
		Args:  oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			if !command.Flags().Changed("output") {
				o.Out.Path = ""
			}
			if o.RootfsURL == "" {
				return app.Usagef("%s needs --rootfs-url, where the root filesystem is fetched from", app.VerbOf(command))
			}
			if err := checkRootfsURL(o.RootfsURL); err != nil {
				return err
			}
			if err := liveimage.CheckOutput(o.App, "-o", o.Out); err != nil {
				return err
			}
			return o.run(command.Context(), given[0])
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	o.Out.Declare(flags)
	flags.StringVar(&o.RootfsURL, "rootfs-url", "", "`URL` of rootfs.img: http, https or tftp")
	return command
}

func (o *minimalOptions) run(ctx context.Context, location string) error {
	return reading(ctx, &o.Options, location, func(live *liveimage.Live) error {
		minimal, err := live.Minimal(ctx, o.RootfsURL)
		switch {
		case errors.Is(err, iso.ErrCustomized):
			return &model.Fault{Code: model.CodeInput, Permanent: true, Err: liveimage.Named(location, live.File.Path, err),
				Next: "make the minimal image first, and customise that"}
		case err != nil:
			return live.Fault(err)
		}
		return o.Saved(liveimage.WriteImage(ctx, o.App, minimal.Image(), o.Out))
	})
}
