package base

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/printer"
)

// The backends that --backend names.
const (
	BackendREST = "rest"
	BackendHub  = "hub"
)

// The values of --progress.
const (
	ProgressAuto  = "auto"
	ProgressTTY   = "tty"
	ProgressPlain = "plain"
	ProgressJSON  = "json"
)

// Globals are the flags that every command has.
type Globals struct {
	Connection
	Output   string
	Progress string
	Quiet    bool
	Verbose  int

	Format    printer.Format // Output, parsed
	typed     []string       // the flags of the connection that were typed, for hints
	Given     []string       // the names of the flags that were typed
	Simulated bool           // the service ends with this command
	file      string         // what was given with -f, where that can be given again
	MediaURL  string         // the service, where only the steps of media know it from their variable
}

// Connection is how a service is reached. No field holds a secret: tokens are
// read from files or from the environment, when they are needed.
type Connection struct {
	Backend          string
	ServiceURL       string
	TokenFile        string
	OfflineTokenFile string
	SSOURL           string
	ClientID         string
	ClientSecretFile string
	CAFile           string
	Insecure         bool
	Kube

	Token        string // from AI_TOKEN or OAICTL_TOKEN, never from a flag
	OfflineToken string // from AI_OFFLINETOKEN or OAICTL_OFFLINE_TOKEN
}

// Declare declares the flags; backend is the default of --backend.
func (g *Globals) Declare(flags *pflag.FlagSet, backend string) {
	flags.StringVar(&g.Backend, "backend", backend, "what to speak to: `rest|hub`")
	flags.StringVar(&g.ServiceURL, "service-url", "", "`URL` of the assisted-service, with or without /api/assisted-install")
	flags.StringVar(&g.TokenFile, "token-file", "", "`FILE` with an access token, or one of an agent-based installer")
	flags.StringVar(&g.OfflineTokenFile, "offline-token-file", "", "`FILE` with an offline token")
	flags.StringVar(&g.SSOURL, "sso-url", "", "`URL` that exchanges tokens, or only its server (default: Red Hat's)")
	flags.StringVar(&g.ClientID, "client-id", "", "`ID` of a service account")
	flags.StringVar(&g.ClientSecretFile, "client-secret-file", "", "`FILE` with the secret of the service account")
	flags.StringVar(&g.CAFile, "ca-file", "", "`FILE` with certificates (PEM) to trust besides the system's")
	flags.BoolVar(&g.Insecure, "insecure", false, "do not verify the service's certificate")
	g.Kube.declare(flags)
	flags.StringVarP(&g.Output, "output", "o", "table", "write results as `FORMAT`: table, wide, json, yaml, name or jsonpath=TEMPLATE")
	flags.StringVar(&g.Progress, "progress", ProgressAuto, "how progress is shown: `auto|tty|plain|json`")
	flags.BoolVar(&g.Quiet, "quiet", false, "show nothing but results and errors")
	flags.CountVarP(&g.Verbose, "verbose", "v", "say more; twice: every request")
}

// check refuses values that mean nothing, before anything is done.
func (g *Globals) check() error {
	format, err := printer.Parse(g.Output)
	if err != nil {
		return Usagef("%w", err)
	}
	g.Format = format
	if err := OneOf("--backend", g.Backend, BackendREST, BackendHub); err != nil {
		return err
	}
	if err := OneOf("--progress", g.Progress, ProgressAuto, ProgressTTY, ProgressPlain, ProgressJSON); err != nil {
		return err
	}
	if (g.ClientID == "") != (g.ClientSecretFile == "") {
		return Usagef("--client-id and --client-secret-file go together")
	}
	return nil
}

// OneOf refuses a value of a flag that is none of the allowed ones.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Usagef("%s %q is not one of %s", flag, value, strings.Join(allowed, ", "))
}

// Prepare is what every command does between its flags and its work: fill in
// what the environment and the configuration file say, and check.
func (a *App) Prepare(command *cobra.Command) error {
	if err := a.applySettings(command); err != nil {
		return err
	}
	a.Globals.typed = typedConnection(command)
	a.Globals.Given = typedFlags(command)
	if file := command.Flags().Lookup("file"); file != nil && file.Value.String() != "-" {
		a.Globals.file = file.Value.String()
	}
	a.Globals.Kube.readEnvironment(a.Env)
	return a.Globals.check()
}
