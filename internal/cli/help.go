package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
)

// usageTemplate is cobra's, with the global flags folded into one line below
// the root: they are the same everywhere.
const usageTemplate = `Usage:{{if .Runnable}}{{if .HasParent}}
  {{.UseLine}}{{end}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasParent}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{else}}

Flags of every command:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasHelpSubCommands}}

Help topics:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .CommandPath .CommandPathPadding}} {{.Short}}{{end}}{{end}}{{end}}
{{if .HasParent}}
Flags of every command: {{.Root.CommandPath}} --help
{{else}}
More about a command: {{.CommandPath}} COMMAND --help
{{end}}`

// helpCommand is `help [COMMAND|TOPIC]`.
func helpCommand(a *base.App) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND|TOPIC]",
		Short:       "Help about a command or a topic",
		Annotations: map[string]string{base.NoConfig: "true"},
		RunE: func(command *cobra.Command, args []string) error {
			target, rest, err := command.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return base.Usagef("no help about %q", strings.Join(args, " "))
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

// helpTopics are pages of help that belong to no command.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "environment", Short: "Variables and the configuration file", Long: environmentTopic, Args: cobra.NoArgs},
		{Use: "exit-codes", Short: "What each exit code means", Long: exitCodesTopic(), Args: cobra.NoArgs},
	}
}

const environmentTopic = `Every flag that is not a permission can be set by a variable: OAICTL_ and the
flag's name in capitals, with _ for -. A flag beats a variable, a variable
beats the configuration file, and the file beats the default.

  OAICTL_SERVICE_URL, AI_URL           the assisted-service
  OAICTL_TOKEN, AI_TOKEN               an access token (no flag: it is a secret)
  OAICTL_OFFLINE_TOKEN, AI_OFFLINETOKEN
                                       an offline token (no flag: it is a secret)
  KUBECONFIG                           the kubeconfig of a hub, as with kubectl
  OAICTL_BACKEND, OAICTL_NAMESPACE     rest or hub, and where on a hub
  OAICTL_OUTPUT, OAICTL_PROGRESS, …    as -o, --progress, …
  OAICTL_CONFIG                        the configuration file itself
  XDG_CONFIG_HOME                      where it is found: oaictl/config.yaml below it,
                                       or below ~/.config
  NO_COLOR                             no colours
  CI, TERM=dumb                        plain lines instead of the live table
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY    how the service is reached

The configuration file holds flags by their names:

  service-url: https://assisted.example.com
  token-file: /home/me/.config/oaictl/token
  output: wide

--yes, --reimage, --adopt, --accept-loss, --orphan, --resend-secrets, --with-secrets and
--simulate are permissions: they are given on the command line each time and nowhere
else.`

// exitCodes is what each code means. docs and help print the same list.
var exitCodes = [...]struct {
	code    string
	meaning string
}{
	{"0", "done; optional workers may still be missing, and the command that adds them is shown"},
	{"1", "failure"},
	{"2", "the command line cannot be understood, or a permission (--yes) is missing"},
	{"3", "the input file is wrong"},
	{"4", "not authorised"},
	{"5", "not found, ambiguous, or someone else's"},
	{"6", "validations block that only a changed file can cure (after five minutes)"},
	{"7", "the install failed or was cancelled"},
	{"8", "timed out; the install is still running"},
	{"9", "waited for a person for longer than --user-timeout"},
	{"10", "installed, but degraded, or required hosts are missing"},
	{"130", "interrupted (Ctrl-C); nothing is undone"},
	{"143", "terminated (SIGTERM); nothing is undone"},
}

func exitCodesTopic() string {
	var text strings.Builder
	text.WriteString("oaictl ends with one of these codes:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&text, "  %-4s %s\n", c.code, c.meaning)
	}
	text.WriteString("\nplan ends with 0 whether or not there is something to do. create cluster --detach\nends with 0 once there is nothing left but to wait, and with 7 for an install that failed.")
	return text.String()
}
