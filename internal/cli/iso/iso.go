// Package iso has the commands on live images, but for the server.
package iso

import (
	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
)

// NewCommand is `iso`, without what serves images.
func NewCommand(a *base.App) *cobra.Command {
	return base.Group("iso", "Customise, read, check and serve live images",
		newCustomize(a), newShow(a), newVerify(a),
		base.Group("extract", "Take something out of an image",
			newExtractIgnition(a), newExtractKargs(a), newExtractNetwork(a),
			newExtractPXE(a), newExtractMinimal(a)))
}

// oneImage takes the single argument of a verb on an image.
func oneImage(name string) cobra.PositionalArgs {
	return func(command *cobra.Command, given []string) error {
		if len(given) != 1 {
			return base.Usagef("%s needs one %s, a path or a URL, and has %d", base.VerbOf(command), name, len(given))
		}
		return nil
	}
}
