package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	simulatedhub "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
)

// hubOptions are what `simulator hub` needs and what its flags say.
type hubOptions struct {
	simulatorOptions
	File     string
	Hive     bool
	Webhooks bool
}

func (a *app) simulatorHubCommand() *cobra.Command {
	o := &hubOptions{simulatorOptions: simulatorOptions{app: a}}
	command := &cobra.Command{
		Use:   "hub --kubeconfig FILE [-f FILE]",
		Short: "Play the operators of a hub on an API server, and machines for it",
		Long: `Play the assisted-service's operator on an API server that has its custom
resources and nobody who looks after them, until stopped; and the machines of a
cluster.yaml, which boot as soon as there is an image for them. Another shell
installs them with create cluster --backend hub.

It takes the part of the hub's own operators. So the kubeconfig is given on the
command line each time, and an API server that has an AgentServiceConfig, which is
a hub in earnest, is refused.

The address that is printed is that of the simulated service behind the hub.`,
		Example: `  oaictl simulator hub --kubeconfig kubeconfig -f cluster.yaml --speed 100
  oaictl simulator hub --kubeconfig kubeconfig -f cluster.yaml --hive --webhooks`,
		Args: args(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("kubeconfig") {
				return usagef("simulator hub needs --kubeconfig FILE: it takes the part of a hub's operators, and never by a default")
			}
			return o.run(command.Context())
		},
	}
	o.declare(command)
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` that names the machines")
	flags.BoolVar(&o.Hive, "hive", false, "play Hive's operator, too, which records installed clusters")
	flags.BoolVar(&o.Webhooks, "webhooks", false, "register admission webhooks that are served on loopback: for an API server on this machine")
	return command
}

func (o *hubOptions) run(ctx context.Context) error {
	trouble, err := o.trouble()
	if err != nil {
		return err
	}
	kube, err := o.globals.kube.config()
	if err != nil {
		return err
	}
	config := simulator.Config{Clock: clock.Scaled(o.Speed), Seed: o.Seed, Scenario: trouble, KubeAPI: true, Logf: o.note}
	if o.File != "" {
		if config.Cluster, err = o.load(ctx, o.File); err != nil {
			return err
		}
	}
	if err := noHubInEarnest(ctx, kube); err != nil {
		return err
	}
	running, err := simulator.Start(ctx, config)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.io.Out, running.URL())
	if proxy := running.BMCProxy(); proxy != "" {
		o.say("The machines' BMCs answer through the proxy %s: give create cluster --bmc-proxy.", proxy)
	}
	err = simulatedhub.Run(ctx, simulatedhub.Config{
		Kube: kube, Namespace: o.globals.kube.scope(), Service: running.URL(), Clock: config.Clock, Hive: o.Hive, Webhooks: o.Webhooks, Logf: o.note,
	})
	if ctx.Err() != nil {
		_ = running.Close()
		return stopped(ctx, "simulator hub", err)
	}
	return errors.Join(err, running.Close())
}

// noHubInEarnest refuses an API server on which somebody has set up the
// assisted-service itself.
func noHubInEarnest(ctx context.Context, kube *rest.Config) error {
	name, err := simulatedhub.Earnest(ctx, kube)
	fault := &install.Fault{Code: install.CodeFailure, Op: "play a hub on", On: kube.Host, Err: err, Next: "check --kubeconfig and --context"}
	switch {
	case err != nil:
		return fault
	case name != "":
		fault.Code, fault.Permanent = install.CodeUsage, true
		fault.Err = fmt.Errorf("it is a hub in earnest: it has the AgentServiceConfig %s", name)
		fault.Next = "give --kubeconfig of an API server that is there to be played on"
		return fault
	}
	return nil
}
