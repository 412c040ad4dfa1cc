package agent

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/internal/inmedia"
)

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
