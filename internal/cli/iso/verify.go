package iso

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/image"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// verified is `iso verify -o json`.
type verified struct {
	Image   string       `json:"image"`
	Sound   bool         `json:"sound"`
	Rebuilt bool         `json:"rebuilt"` // by another tool, which is no damage
	Damage  []iso.Damage `json:"damage"`
}

func newVerify(a *base.App) *cobra.Command {
	o := &image.Options{App: a}
	command := &cobra.Command{
		Use:   "verify IMAGE",
		Short: "Check an image for damage",
		Long: `Check an image for damage: its directories and partition table, what was embedded,
and the root filesystem, piece by piece against the hashes that its initrd holds.
What an image has no checksum for cannot be checked. An image that another tool
rebuilt is no damaged one; that it was rebuilt is said.

It ends with 0 for an image that is sound, with 1 where something is damaged, which
it lists, and with 3 for what is no live image, or no file that can be read.`,
		Example: `  oaictl iso verify cp-0.iso
  oaictl iso verify cp-0.iso -o json`,
		Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error {
			found, err := verify(command.Context(), o, given[0])
			if err != nil {
				return err
			}
			return tellVerified(o, found)
		},
	}
	o.Declare(command.Flags())
	return command
}

func verify(ctx context.Context, o *image.Options, location string) (verified, error) {
	file, err := o.FetchImage(ctx, location)
	if err != nil {
		return verified{}, err
	}
	defer func() { _ = file.Close() }() // it was only read from
	found := verified{Image: location, Damage: []iso.Damage{}}
	live, err := metered(o, "checking", location, file.Path)
	switch {
	case base.Is[*fs.PathError](err), base.Is[*install.Fault](err):
		return verified{}, err
	case iso.IsNotLive(err):
		return verified{}, image.SourceFault(location, err)
	case err != nil:
		problem := strings.TrimPrefix(strings.TrimPrefix(err.Error(), file.Path+": "), fetch.Redact(location)+": ")
		found.Damage = append(found.Damage, iso.Damage{Problem: problem})
		return found, nil
	}
	defer func() { _ = live.close() }()
	damage, err := live.Verify(ctx)
	if err != nil {
		return verified{}, err
	}
	found.Sound, found.Rebuilt, found.Damage = len(damage) == 0, live.Rebuilt(), append(found.Damage, damage...)
	return found, nil
}

func tellVerified(o *image.Options, found verified) error {
	err := o.Print(printer.Result{Data: found, Names: []string{found.Image}, Text: found.text})
	if err != nil || found.Sound {
		return err
	}
	return &install.Fault{Code: install.CodeFailure, Op: "verify", On: found.Image, Permanent: true, Err: errors.New(plural(len(found.Damage), "damaged place", "damaged places")), Next: "get or make the image anew"}
}

func (v verified) text() string {
	var lines []string
	for _, d := range v.Damage {
		lines = append(lines, d.String())
	}
	switch {
	case v.Sound && v.Rebuilt:
		lines = append(lines, v.Image+" is sound; "+iso.ErrRebuilt.Error())
	case v.Sound:
		lines = append(lines, v.Image+" is sound")
	case v.Rebuilt:
		lines = append(lines, iso.ErrRebuilt.Error())
	}
	return strings.Join(lines, "\n") + "\n"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
