// Package agent has the commands of agent-based media: the steps that their systemd units run, and a command that shows
// the progress of these steps.
package agent

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/agentmedia"
	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	mediaServiceVariable = "SERVICE_BASE_URL"
	mediaTokenVariable   = "USER_AUTH_TOKEN"
)

type agentOptions struct {
	*app.App
	ClientConfig string
	Failures     string
	RegistryCA   string
	MACs         []string
	Timeout      time.Duration
	PollInterval time.Duration
}

type agentStep struct {
	use, short string
	run        func(*agentmedia.Client, context.Context) (agentmedia.Result, error)
}

// NewCommand is `agent`.
func NewCommand(a *app.App) *cobra.Command {
	o := &agentOptions{App: a}
	command := app.Group("agent", "Carry out the steps of agent-based installation media")
	for _, s := range agentSteps() {
		command.AddCommand(o.command(s))
	}
	command.AddCommand(o.statusCommand())
	return command
}

// NewMediaCommand is the whole tree of the client that the units know.
func NewMediaCommand(a *app.App) *cobra.Command {
	o := &agentOptions{App: a}
	root := &cobra.Command{
		Use:   app.MediaName,
		Short: "Carry out the steps of agent-based installation media",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, given []string) error {
			if len(given) == 0 { // units that name no step are mistaken
				return app.Usagef("no step is named")
			}
			return app.UnknownSubcommand(command, given)
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(command *cobra.Command, _ []string) error { return a.Prepare(command) },
	}
	root.SetFlagErrorFunc(a.BadFlag)
	a.Globals.Declare(root.PersistentFlags(), a.Identity.Backend)
	app.HideHubFlags(root.PersistentFlags()) // no step speaks to a hub
	for _, s := range agentSteps() {
		if name := app.MediaStep(s.use); name != "" {
			command := o.command(s)
			command.Use, command.Long = name, app.LongHelp("agent "+s.use)
			root.AddCommand(command)
		}
	}
	return root
}

func (o *agentOptions) command(s agentStep) *cobra.Command {
	command := &cobra.Command{
		Use: s.use, Short: s.short, Args: app.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			client, err := o.client(command.Context())
			if err != nil {
				return err
			}
			result, err := s.run(client, command.Context())
			if err != nil {
				return err
			}
			return o.Changed(output.Changed{Kind: result.Kind, Name: result.Name, ID: result.ID, Done: result.Done})
		},
	}
	o.declare(command)
	return command
}

func (o *agentOptions) declare(command *cobra.Command) {
	flags, files := command.Flags(), agentmedia.DefaultFiles()
	o.declareFailures(flags)
	flags.StringVar(&o.ClientConfig, "client-config", files.ClientConfig,
		"`FILE` in which the ids of cluster and InfraEnv are noted for units")
	flags.StringVar(&o.RegistryCA, "registry-ca-file", "", "`FILE` with certificates (PEM) to trust registries by, besides the system's")
	flags.StringSliceVar(&o.MACs, "mac", nil, "`MAC` address of this machine (default: those of its interfaces)")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up waiting after this `TIME`")
	flags.DurationVar(&o.PollInterval, "poll-interval", 0, "`TIME` between looks at the service (default: 5s, and 10s for a node)")
}

func (o *agentOptions) declareFailures(flags *pflag.FlagSet) {
	flags.StringVar(&o.Failures, "failures-file", agentmedia.DefaultFiles().Failures,
		"`FILE` in which the hosts are listed that cannot be configured")
}

func (o *agentOptions) client(ctx context.Context) (*agentmedia.Client, error) {
	env, err := agentmedia.ReadEnvironment(o.Env.Lookup)
	if err != nil {
		return nil, app.Usagef("%w", err)
	}
	if err := app.CheckTimes(o.Timeout, o.PollInterval); err != nil {
		return nil, err
	}
	env.ClientConfig, env.Failures = o.ClientConfig, o.Failures
	macs, err := readMACs(o.MACs)
	if err != nil {
		return nil, err
	}
	service, err := o.service(ctx)
	if err != nil {
		return nil, err
	}
	client := &agentmedia.Client{
		Service: service, Clock: o.Clock, Env: env, Release: release.Read, Timeout: o.Timeout, Poll: o.PollInterval, Say: o.Say, Warn: o.Warn,
		RegistryCA: o.RegistryCA, NoteOptional: o.Identity.Name == app.MediaName, MACs: machineMACs,
	}
	if len(macs) > 0 {
		client.MACs = func() ([]string, error) { return macs, nil }
	}
	if oc, err := exec.LookPath("oc"); err == nil {
		client.OC = oc
	}
	return client, nil
}

// The token goes out as it is: services of media know no other way.
func (o *agentOptions) service(ctx context.Context) (*rest.Plane, error) {
	to := o.Globals.Connection
	if to.Backend != app.BackendREST {
		return nil, app.Usagef("the steps of agent-based media speak to a service, and not to a hub: leave --backend out")
	}
	typed := slices.Contains(o.Globals.Given, "service-url")
	if to.ServiceURL == "" || o.Identity.Name == app.MediaName && !typed {
		if url := o.Env[mediaServiceVariable]; url != "" {
			to.ServiceURL, o.Globals.MediaURL = url, url
		}
	}
	if to.ServiceURL == "" {
		return nil, app.Usagef("no service is given: set %s, or give --service-url", mediaServiceVariable)
	}
	if to.Insecure {
		o.WarnInsecure(to.ServiceURL)
	}
	o.WarnPlain(to)
	raw := func(given rest.Credentials) rest.TokenSource {
		if given != (rest.Credentials{ClientID: to.ClientID, SSOURL: to.SSOURL}) {
			return nil
		}
		if token := o.Env[mediaTokenVariable]; token != "" {
			return agentmedia.RawToken(spec.NewSecret(token))
		}
		return agentmedia.NoToken()
	}
	return app.ClientConfig{Connection: to, Clock: o.Clock, Trace: o.Tracer(nil)}.Service(ctx, raw)
}

// readMACs gives MAC addresses the form in which hosts report theirs.
func readMACs(given []string) ([]string, error) {
	var macs []string
	for _, text := range given {
		mac, err := net.ParseMAC(text)
		if err != nil {
			return nil, app.Usagef("--mac %q is no MAC address", text)
		}
		macs = append(macs, mac.String())
	}
	return macs, nil
}

func machineMACs() ([]string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var macs []string
	for _, nic := range interfaces {
		if mac := nic.HardwareAddr.String(); mac != "" {
			macs = append(macs, mac)
		}
	}
	return macs, nil
}

// agentSteps are the steps in the order in which the units run them.
func agentSteps() []agentStep {
	return []agentStep{
		{"register-cluster", "Register the cluster of the medium", (*agentmedia.Client).RegisterCluster},
		{"register-infraenv", "Register the InfraEnv of the medium", (*agentmedia.Client).RegisterInfraEnv},
		{"configure-hosts", "Give hosts their roles, disks and fencing credentials", (*agentmedia.Client).Configure},
		{"import-cluster", "Import the installed cluster that nodes are added to", (*agentmedia.Client).ImportCluster},
		{"start-install", "Start the installation once all required hosts are ready", (*agentmedia.Client).StartInstall},
		{"add-node", "Install this machine into the imported cluster", (*agentmedia.Client).AddNode},
	}
}

type mediaStatus struct {
	Cluster  *output.Cluster  `json:"cluster,omitempty"`
	InfraEnv *output.InfraEnv `json:"infraEnv,omitempty"`
	Hosts    []output.Host    `json:"hosts"`
	Failures []string         `json:"failures"` // "<host>: <text>"
}

func (o *agentOptions) statusCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the medium",
		Args:  app.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			client, err := o.client(command.Context())
			if err != nil {
				return err
			}
			status, err := client.Status(command.Context())
			if err != nil {
				return err
			}
			if err := o.showStatus(status); err != nil {
				return err
			}
			return status.Trouble()
		},
	}
	o.declareFailures(command.Flags())
	return command
}

func (o *agentOptions) showStatus(s agentmedia.Status) error {
	shown := mediaStatus{Hosts: []output.Host{}, Failures: append([]string{}, s.Failures...)}
	var names []string
	if s.Cluster != nil {
		cluster := output.OfCluster(*s.Cluster)
		shown.Cluster = &cluster
		names = append(names, "cluster/"+cluster.Name)
	}
	if s.InfraEnv != nil {
		env := output.OfInfraEnv(*s.InfraEnv)
		shown.InfraEnv = &env
		names = append(names, "infraenv/"+env.Name)
	}
	for _, host := range s.Hosts {
		item := output.OfHost(host, "")
		shown.Hosts = append(shown.Hosts, item)
		names = append(names, "host/"+item.Name)
	}
	return o.Print(printer.Result{Data: shown, Names: names, Text: func() string { return o.statusText(shown) }})
}

func (o *agentOptions) statusText(s mediaStatus) string {
	cluster, env := "none", "none"
	if c := s.Cluster; c != nil {
		cluster = fmt.Sprintf("%s %s (%s)", c.Name, c.State, c.Status)
	}
	if e := s.InfraEnv; e != nil {
		env = e.Name
	}
	var text strings.Builder
	escape.Fprintf(&text, "Cluster:  %s\nInfraEnv: %s\n", cluster, env)
	for _, line := range s.Failures {
		escape.Fprintf(&text, "Failure:  %s\n", line)
	}
	if len(s.Hosts) == 0 {
		return text.String() + "Hosts:    none\n"
	}
	text.WriteByte('\n')
	hosts := printer.Result{Table: func() printer.Table { return o.HostTable(s.Hosts, false, nil) }}
	_ = o.Globals.Format.Print(&text, hosts) // into memory, which takes everything
	return text.String()
}
