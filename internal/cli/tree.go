package cli

import (
	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/streams"
)

// Tree is the tree of commands, for what writes it down: the reference, man
// pages, completion scripts. It is not for running.
func Tree() *cobra.Command {
	return rootCommand(base.New(base.Identify([]string{"oaictl"}), streams.Streams{}, streams.Env{}))
}
