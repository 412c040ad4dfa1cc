package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// usage writes what cobra writes of a command, with the global flags folded into one line below the root. It is no
// template of cobra's: those bring text/template along.
func usage(command *cobra.Command) error {
	var out strings.Builder
	out.WriteString("Usage:")
	if command.Runnable() && command.HasParent() {
		fmt.Fprintf(&out, "\n  %s", command.UseLine())
	}
	if command.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\n  %s COMMAND", command.CommandPath())
	}
	if command.HasExample() {
		fmt.Fprintf(&out, "\n\nExamples:\n%s", command.Example)
	}
	if len(command.Groups()) == 0 && command.HasAvailableSubCommands() {
		out.WriteString("\n\nCommands:")
		listCommands(&out, command, "")
	}
	for _, group := range command.Groups() {
		fmt.Fprintf(&out, "\n\n%s", group.Title)
		listCommands(&out, command, group.ID)
	}
	switch flags := strings.TrimRightFunc(command.LocalFlags().FlagUsages(), unicode.IsSpace); {
	case !command.HasParent():
		fmt.Fprintf(&out, "\n\nFlags of every command:\n%s", flags)
	case command.HasAvailableLocalFlags():
		fmt.Fprintf(&out, "\n\nFlags:\n%s", flags)
	}
	if command.HasHelpSubCommands() {
		out.WriteString("\n\nHelp topics:")
		for _, topic := range command.Commands() {
			if topic.IsAdditionalHelpTopicCommand() {
				fmt.Fprintf(&out, "\n  %-*s %s", topic.CommandPathPadding(), topic.CommandPath(), topic.Short)
			}
		}
	}
	if command.HasParent() {
		fmt.Fprintf(&out, "\n\nFlags of every command: %s --help\n", command.Root().CommandPath())
	} else {
		fmt.Fprintf(&out, "\n\nMore about a command: %s COMMAND --help\n", command.CommandPath())
	}
	_, err := io.WriteString(command.OutOrStderr(), out.String())
	return err
}

// listCommands writes the commands of a group below a command, or all of them where it has no groups.
func listCommands(out *strings.Builder, parent *cobra.Command, group string) {
	for _, command := range parent.Commands() {
		if command.IsAvailableCommand() && (group == "" || command.GroupID == group) {
			fmt.Fprintf(out, "\n  %-*s %s", command.NamePadding(), command.Name(), command.Short)
		}
	}
}
