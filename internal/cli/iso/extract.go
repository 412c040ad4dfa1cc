package iso

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/image"
	"github.com/oaictl/oaictl/internal/cli/printer"
)

// reading opens an image for as long as use lasts.
func reading(ctx context.Context, o *image.Options, location string, use func(*image.Live) error) error {
	live, err := o.OpenImage(ctx, location)
	if err != nil {
		return err
	}
	defer func() { _ = live.Close() }() // it was only read from
	return use(live)
}

func newExtractIgnition(a *base.App) *cobra.Command {
	o := &image.Options{App: a}
	command := &cobra.Command{
		Use:   "ignition IMAGE",
		Short: "Print the Ignition config that an image carries",
		Long: `Print the Ignition config that an image carries, byte for byte as it does. It may
hold secrets, such as a pull secret.`,
		Example: `  oaictl iso extract ignition cp-0.iso
  oaictl iso extract ignition cp-0.iso > config.ign`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			return reading(command.Context(), o, given[0], func(live *image.Live) error {
				config, err := live.Ignition()
				switch {
				case err != nil:
					return live.Fault(err)
				case config == nil:
					return live.Lacks("Ignition config")
				}
				return a.Print(printer.Result{Data: jsonText(config), Names: []string{"config.ign"}, Text: func() string { return string(config) }})
			})
		},
	}
	o.Declare(command.Flags())
	return command
}

// jsonText is a JSON text as the printer takes it; one that is none, as a string.
func jsonText(data []byte) any {
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return string(data)
	}
	return decoded
}

// kargsText is `iso extract kargs -o json`.
type kargsText struct {
	Current string `json:"current"`
}

func newExtractKargs(a *base.App) *cobra.Command {
	o := &image.Options{App: a}
	command := &cobra.Command{
		Use:   "kargs IMAGE",
		Short: "Print the kernel arguments of an image",
		Example: `  oaictl iso extract kargs cp-0.iso
  oaictl iso extract kargs https://mirror.example.com/rhcos-live.iso`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			return reading(command.Context(), o, given[0], func(live *image.Live) error {
				if live.Info().KargsLimit == 0 {
					return live.Lacks("kernel arguments that can be changed")
				}
				return a.Print(printer.Result{Data: kargsText{live.Kargs()}, Names: []string{live.Kargs()}, Text: func() string { return fmt.Sprintln(live.Kargs()) }})
			})
		},
	}
	o.Declare(command.Flags())
	return command
}

// extractOptions are what the verbs need that write files out of an image.
type extractOptions struct {
	image.Options
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
		return base.Usagef("%s needs -d DIR", base.VerbOf(command))
	}
	return nil
}

func newExtractNetwork(a *base.App) *cobra.Command {
	o := &extractOptions{Options: image.Options{App: a}}
	command := &cobra.Command{
		Use:   "network IMAGE -d DIR",
		Short: "Write the network profiles that an image carries",
		Long: `Write the network profiles of NetworkManager that an image carries for its live
system, each as a file that its owner alone may read.`,
		Example: `  oaictl iso extract network cp-0.iso -d network
  oaictl iso extract network cp-0.iso -d network --force`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.check(command); err != nil {
				return err
			}
			return reading(command.Context(), &o.Options, given[0], func(live *image.Live) error { return o.network(command.Context(), live) })
		},
	}
	o.declare(command, "the files")
	return command
}

func (o *extractOptions) network(ctx context.Context, live *image.Live) error {
	keyfiles, err := live.Keyfiles()
	switch {
	case err != nil:
		return live.Fault(err)
	case len(keyfiles) == 0:
		return live.Lacks("network profiles")
	}
	var files []image.File
	for _, k := range keyfiles {
		// An image may come from anybody: its names lead nowhere else.
		name := path.Base(path.Clean("/" + k.Name))
		if name == "/" {
			continue
		}
		files = append(files, image.File{Name: name, Content: k.Content})
	}
	return o.Saved(image.WriteFiles(ctx, o.App, o.Dir, o.Force, files))
}
