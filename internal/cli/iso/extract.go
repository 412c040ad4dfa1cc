package iso

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/printer"
)

// reading opens an image for as long as use lasts.
func (o *imageOptions) reading(ctx context.Context, location string, use func(*liveImage) error) error {
	live, err := o.open(ctx, location)
	if err != nil {
		return err
	}
	defer func() { _ = live.close() }() // it was only read from
	return use(live)
}

func newExtractIgnition(a *base.App) *cobra.Command {
	o := &imageOptions{App: a}
	command := &cobra.Command{
		Use:   "ignition IMAGE",
		Short: "Print the Ignition config that an image carries",
		Long: `Print the Ignition config that an image carries, byte for byte as it does. It may
hold secrets, such as a pull secret.`,
		Example: `  oaictl iso extract ignition cp-0.iso
  oaictl iso extract ignition cp-0.iso > config.ign`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			return o.reading(command.Context(), given[0], func(live *liveImage) error {
				config, err := live.Ignition()
				switch {
				case err != nil:
					return live.fault(err)
				case config == nil:
					return live.lacks("Ignition config")
				}
				return a.Print(printer.Result{Data: jsonText(config), Names: []string{"config.ign"}, Text: func() string { return string(config) }})
			})
		},
	}
	o.declare(command.Flags())
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
	o := &imageOptions{App: a}
	command := &cobra.Command{
		Use:   "kargs IMAGE",
		Short: "Print the kernel arguments of an image",
		Example: `  oaictl iso extract kargs cp-0.iso
  oaictl iso extract kargs https://mirror.example.com/rhcos-live.iso`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			return o.reading(command.Context(), given[0], func(live *liveImage) error {
				if live.Info().KargsLimit == 0 {
					return live.lacks("kernel arguments that can be changed")
				}
				return a.Print(printer.Result{Data: kargsText{live.Kargs()}, Names: []string{live.Kargs()}, Text: func() string { return fmt.Sprintln(live.Kargs()) }})
			})
		},
	}
	o.declare(command.Flags())
	return command
}

// extractOptions are what the verbs need that write files out of an image.
type extractOptions struct {
	imageOptions
	Dir   string
	Force bool
}

func (o *extractOptions) declare(command *cobra.Command, what string) {
	flags := command.Flags()
	o.imageOptions.declare(flags)
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
	o := &extractOptions{imageOptions: imageOptions{App: a}}
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
			return o.reading(command.Context(), given[0], func(live *liveImage) error { return o.network(command.Context(), live) })
		},
	}
	o.declare(command, "the files")
	return command
}

func (o *extractOptions) network(ctx context.Context, live *liveImage) error {
	keyfiles, err := live.Keyfiles()
	switch {
	case err != nil:
		return live.fault(err)
	case len(keyfiles) == 0:
		return live.lacks("network profiles")
	}
	var files []smallFile
	for _, k := range keyfiles {
		// An image may come from anybody: its names lead nowhere else.
		name := path.Base(path.Clean("/" + k.Name))
		if name == "/" {
			continue
		}
		files = append(files, smallFile{name: name, content: k.Content})
	}
	return o.Saved(writeFiles(ctx, o.App, o.Dir, o.Force, files))
}
