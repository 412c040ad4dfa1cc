package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// verified is `iso verify -o json`.
type verified struct {
	Image  string       `json:"image"`
	Sound  bool         `json:"sound"`
	Damage []iso.Damage `json:"damage"`
}

func (a *app) isoVerifyCommand() *cobra.Command {
	o := &imageOptions{app: a}
	command := &cobra.Command{
		Use:   "verify IMAGE",
		Short: "Check an image for damage",
		Long: `Check an image for damage: its directories and partition table, what was embedded,
and the root filesystem, piece by piece against the hashes that its initrd holds.
It ends with 1 where something is damaged, and lists what. What an image has no
checksum for cannot be checked.`,
		Example: `  oaictl iso verify cp-0.iso
  oaictl iso verify cp-0.iso -o json`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			damage, err := o.verify(command.Context(), given[0])
			if err != nil {
				return err
			}
			return o.tellDamage(given[0], damage)
		},
	}
	o.declare(command.Flags())
	return command
}

func (o *imageOptions) verify(ctx context.Context, location string) ([]iso.Damage, error) {
	file, err := o.fetch(ctx, location)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read from
	base, err := o.metered("checking", location, file.Path)
	var system *fs.PathError
	var fault *install.Fault
	switch {
	case errors.As(err, &system), errors.As(err, &fault):
		return nil, err
	case iso.IsNotISO(err):
		return nil, imageFault(err)
	case err != nil:
		return []iso.Damage{{Problem: strings.TrimPrefix(strings.TrimPrefix(err.Error(), file.Path+": "), fetch.Redact(location)+": ")}}, nil
	}
	defer func() { _ = base.close() }()
	return base.Verify(ctx)
}

func (o *imageOptions) tellDamage(location string, damage []iso.Damage) error {
	doc := verified{Image: location, Sound: len(damage) == 0, Damage: append([]iso.Damage{}, damage...)}
	err := o.print(printer.Result{Data: doc, Names: []string{location}, Text: func(w io.Writer) error {
		if doc.Sound {
			_, err := fmt.Fprintf(w, "%s is sound\n", location)
			return err
		}
		for _, d := range damage {
			if _, err := fmt.Fprintln(w, d.String()); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil || doc.Sound {
		return err
	}
	return &install.Fault{Code: install.CodeFailure, Op: "verify", On: location, Permanent: true, Err: fmt.Errorf("%s", plural(len(damage), "damaged place", "damaged places"))}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
