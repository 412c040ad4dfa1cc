package cli

import (
	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/streams"
)

// Tree is every command with its flags, for what is written from them: the
// manual and the completion scripts. Nothing in it is meant to be run.
func Tree() *cobra.Command {
	return newApp(identify(nil), streams.Streams{}, nil).rootCommand()
}
