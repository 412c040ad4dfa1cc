// Package agent has the commands of agent-based media: the steps that their units run,
// and how far these are.
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

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/internal/inmedia"
	"github.com/oaictl/oaictl/pkg/install/release"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The variables by which the units of agent-based media name their service.
const (
	mediaServiceVariable = "SERVICE_BASE_URL"
	mediaTokenVariable   = "USER_AUTH_TOKEN"
)

// agentOptions are what the steps of agent-based media need beside the variables
// of their units.
type agentOptions struct {
	*base.App
	ClientConfig string
	Failures     string
	RegistryCA   string
	MACs         []string
	Timeout      time.Duration
	PollInterval time.Duration
}

// agentStep is one step.
type agentStep func(*inmedia.Client, context.Context) (inmedia.Result, error)

// agentText is how a step is called and explained.
type agentText struct{ use, short, long, example string }

// NewCommand is `agent`.
func NewCommand(a *base.App) *cobra.Command {
	o := &agentOptions{App: a}
	command := base.Group("agent", "Carry out the steps of agent-based installation media")
	command.Long = `Carry out the steps of agent-based installation media: what the systemd units on
them run, against the assisted-service that the media bring along.

Each step takes its input from the variables and files that the units have, looks
at what is there, and does what is missing; so it can be run again at any time. The
service is the one that --service-url or SERVICE_BASE_URL names; the token in
USER_AUTH_TOKEN is sent as it is. Called as agent-installer-client, this program has
the steps registerCluster, registerInfraEnv, configure and importCluster.`
	for _, s := range agentSteps() {
		command.AddCommand(o.command(s.agentText, s.step))
	}
	command.AddCommand(o.statusCommand())
	return command
}

// NewMediaCommand is the whole tree where the program is called as the client that
// the units know.
func NewMediaCommand(a *base.App) *cobra.Command {
	o := &agentOptions{App: a}
	root := &cobra.Command{
		Use:               base.MediaName,
		Short:             "Carry out the steps of agent-based installation media",
		Args:              cobra.ArbitraryArgs,
		RunE:              unknownStep,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(command *cobra.Command, _ []string) error { return a.Prepare(command) },
	}
	root.SetFlagErrorFunc(a.BadFlag)
	a.Globals.Declare(root.PersistentFlags(), a.Identity.Backend)
	base.HideHubFlags(root.PersistentFlags()) // no step speaks to a hub
	for _, s := range agentSteps() {
		if name := base.MediaStep(s.use); name != "" {
			text := s.agentText
			text.use, text.example = name, ""
			root.AddCommand(o.command(text, s.step))
		}
	}
	return root
}

// unknownStep answers a call that names no step: units that do are mistaken, so
// it is an error even without a word.
func unknownStep(command *cobra.Command, given []string) error {
	if len(given) == 0 {
		return base.Usagef("no step is named")
	}
	return base.UnknownSubcommand(command, given)
}

func (o *agentOptions) command(text agentText, step agentStep) *cobra.Command {
	command := &cobra.Command{
		Use: text.use, Short: text.short, Long: text.long, Example: text.example, Args: base.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			client, err := o.client()
			if err != nil {
				return err
			}
			result, err := step(client, command.Context())
			if err != nil {
				return err
			}
			return o.Changed(document.Changed{Kind: result.Kind, Name: result.Name, ID: result.ID, Done: result.Done})
		},
	}
	o.declare(command)
	return command
}

func (o *agentOptions) declare(command *cobra.Command) {
	flags, files := command.Flags(), inmedia.DefaultFiles()
	o.declareFailures(flags)
	flags.StringVar(&o.ClientConfig, "client-config", files.ClientConfig, "`FILE` in which the ids of cluster and InfraEnv are noted for units")
	flags.StringVar(&o.RegistryCA, "registry-ca-file", "", "`FILE` with certificates (PEM) to trust registries by, besides the system's")
	flags.StringSliceVar(&o.MACs, "mac", nil, "`MAC` address of this machine (default: those of its interfaces)")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up waiting after this `TIME`")
	flags.DurationVar(&o.PollInterval, "poll-interval", 0, "`TIME` between looks at the service (default: 5s, and 10s for a node)")
}

func (o *agentOptions) declareFailures(flags *pflag.FlagSet) {
	flags.StringVar(&o.Failures, "failures-file", inmedia.DefaultFiles().Failures, "`FILE` in which hosts stand that cannot be configured")
}

// client is what carries out the steps.
func (o *agentOptions) client() (*inmedia.Client, error) {
	env, err := inmedia.ReadEnvironment(o.Env.Lookup)
	if err != nil {
		return nil, base.Usagef("%w", err)
	}
	if o.Timeout < 0 || o.PollInterval < 0 {
		return nil, base.Usagef("a time is never negative")
	}
	env.ClientConfig, env.Failures = o.ClientConfig, o.Failures
	macs, err := readMACs(o.MACs)
	if err != nil {
		return nil, err
	}
	service, err := o.service()
	if err != nil {
		return nil, err
	}
	client := &inmedia.Client{
		Service: service, Clock: o.Clock, Env: env, Release: release.Read, Timeout: o.Timeout, Poll: o.PollInterval, Say: o.Say, Warn: o.Warn,
		RegistryCA: o.RegistryCA, NoteOptional: o.Identity.Name == base.MediaName, MACs: machineMACs,
	}
	if len(macs) > 0 {
		client.MACs = func() ([]string, error) { return macs, nil }
	}
	if oc, err := exec.LookPath("oc"); err == nil {
		client.OC = oc
	}
	return client, nil
}

// service reaches the service of the medium. Its token goes out as it is: these
// services know no other way.
func (o *agentOptions) service() (*rest.Plane, error) {
	to := o.Globals.Connection
	if to.Backend != base.BackendREST {
		return nil, base.Usagef("the steps of agent-based media speak to a service, and not to a hub: leave --backend out")
	}
	typed := slices.Contains(o.Globals.Given, "service-url")
	if to.ServiceURL == "" || o.Identity.Name == base.MediaName && !typed {
		if url := o.Env.Get(mediaServiceVariable); url != "" {
			to.ServiceURL, o.Globals.MediaURL = url, url
		}
	}
	if to.ServiceURL == "" {
		return nil, base.Usagef("no service is named: set %s, or give --service-url", mediaServiceVariable)
	}
	if to.Insecure {
		o.WarnInsecure(to.ServiceURL)
	}
	o.WarnPlain(to)
	raw := func(given rest.Credentials) rest.TokenSource {
		if given != (rest.Credentials{ClientID: to.ClientID, SSOURL: to.SSOURL}) {
			return nil
		}
		if token := o.Env.Get(mediaTokenVariable); token != "" {
			return inmedia.RawToken(spec.NewSecret(token))
		}
		return inmedia.NoToken()
	}
	return base.ClientConfig{Connection: to, Clock: o.Clock, Trace: o.Tracer(nil)}.Service(raw)
}

// readMACs are the addresses that were given, in the form in which hosts report theirs.
func readMACs(given []string) ([]string, error) {
	var macs []string
	for _, text := range given {
		mac, err := net.ParseMAC(text)
		if err != nil {
			return nil, base.Usagef("--mac %q is no MAC address", text)
		}
		macs = append(macs, mac.String())
	}
	return macs, nil
}

// machineMACs are the addresses of this machine's interfaces.
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

// agentStepEntry ties a step to its text.
type agentStepEntry struct {
	agentText
	step agentStep
}

// agentSteps are the steps in the order in which the units run them.
func agentSteps() []agentStepEntry {
	return []agentStepEntry{
		{agentText{
			use: "register-cluster", short: "Register the cluster of the medium",
			long: `Register the cluster that the manifests of the medium describe, if the service has
none, set its install-config overrides and upload its extra manifests. A manifest
that the cluster has with another content is not written over.

The version and the architectures of the release come from its image: from the
mirrors that registries.conf names, else from its own registry, else from oc, where
there is one.`,
			example: `  oaictl agent register-cluster --service-url http://127.0.0.1:8090
  oaictl agent register-cluster --service-url http://127.0.0.1:8090 --registry-ca-file mirror-ca.pem`,
		}, (*inmedia.Client).RegisterCluster},
		{agentText{
			use: "register-infraenv", short: "Register the InfraEnv of the medium",
			long: `Register the InfraEnv that the manifests of the medium describe, if the service has
none. It belongs to the service's cluster, or to none while there is none. The labels
of each NMStateConfig have to be those that the InfraEnv selects by.`,
			example: `  oaictl agent register-infraenv --service-url http://127.0.0.1:8090
  oaictl agent register-infraenv --service-url http://127.0.0.1:8090 -o name`,
		}, (*inmedia.Client).RegisterInfraEnv},
		{agentText{
			use: "configure-hosts", short: "Give hosts their roles, disks and fencing credentials",
			long: `Give the hosts the roles, installation disks and fencing credentials that the folder
HOST_CONFIG_DIR has for them, until all of them have registered and are as it says.
Hosts that cannot be configured stand in a file, a line each, for as long as they
cannot. The folder is read again in each round. With WORKFLOW_TYPE=addnodes only the
configuration of this machine counts.`,
			example: `  oaictl agent configure-hosts --service-url http://127.0.0.1:8090 --timeout 30m
  oaictl agent configure-hosts --service-url http://127.0.0.1:8090 --failures-file failures.txt`,
		}, (*inmedia.Client).Configure},
		{agentText{
			use: "import-cluster", short: "Import the installed cluster that nodes are added to",
			long: `Make a record of the installed cluster that CLUSTER_ID, CLUSTER_NAME and
CLUSTER_API_VIP_DNS_NAME name, and configure it as the folder CLUSTER_CONFIG_DIR
says. A record that is there already is found by the cluster's id, and completed.`,
			example: `  oaictl agent import-cluster --service-url http://127.0.0.1:8090
  oaictl agent import-cluster --service-url http://127.0.0.1:8090 -o json`,
		}, (*inmedia.Client).ImportCluster},
		{agentText{
			use: "start-install", short: "Start the installation once all required hosts are ready",
			long: `Wait for the cluster, and until exactly as many hosts are ready as are required,
and start the installation. Hosts whose InfraEnv was registered before the cluster are
bound to it. The number of hosts is that of REQUIRED_MASTER_NODES, REQUIRED_ARBITER_NODES
and REQUIRED_WORKER_NODES, else that of the AgentClusterInstall. While hosts cannot be
configured, nothing is started. A preparation that fails is tried again three times.
The command ends once the installation runs.`,
			example: `  oaictl agent start-install --service-url http://127.0.0.1:8090
  oaictl agent start-install --service-url http://127.0.0.1:8090 --timeout 2h`,
		}, (*inmedia.Client).StartInstall},
		{agentText{
			use: "add-node", short: "Install this machine into the imported cluster",
			long: `Wait until the service knows this machine, by the MAC addresses of its interfaces,
and install it into the cluster that was imported. The command ends once the service
has begun to.`,
			example: `  oaictl agent add-node --service-url http://127.0.0.1:8090
  oaictl agent add-node --service-url http://127.0.0.1:8090 --mac 52:54:00:00:00:01`,
		}, (*inmedia.Client).AddNode},
	}
}

// mediaStatus is what `agent status` prints.
type mediaStatus struct {
	Cluster  *document.Cluster  `json:"cluster,omitempty"`
	InfraEnv *document.InfraEnv `json:"infraEnv,omitempty"`
	Hosts    []document.Host    `json:"hosts"`
	Failures []string           `json:"failures"` // "<host>: <text>"
}

func (o *agentOptions) statusCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Show where things stand on the medium",
		Long: `Show the cluster, the InfraEnv and the hosts of the medium's service, and what keeps
hosts from being configured. It ends with 7 where the installation has failed, and
with 6 while it cannot proceed.`,
		Example: `  oaictl agent status --service-url http://127.0.0.1:8090
  oaictl agent status --service-url http://127.0.0.1:8090 -o jsonpath={.cluster.state}`,
		Args: base.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			client, err := o.client()
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

func (o *agentOptions) showStatus(s inmedia.Status) error {
	shown := mediaStatus{Hosts: []document.Host{}, Failures: append([]string{}, s.Failures...)}
	var names []string
	if s.Cluster != nil {
		cluster := document.OfCluster(*s.Cluster)
		shown.Cluster = &cluster
		names = append(names, "cluster/"+cluster.Name)
	}
	if s.InfraEnv != nil {
		env := document.OfInfraEnv(*s.InfraEnv)
		shown.InfraEnv = &env
		names = append(names, "infraenv/"+env.Name)
	}
	for _, host := range s.Hosts {
		item := document.OfHost(host, "")
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
	hosts := printer.Result{Table: func() printer.Table { return o.HostTable(s.Hosts, false) }}
	_ = o.Globals.Format.Print(&text, hosts) // into memory, which takes everything
	return text.String()
}
