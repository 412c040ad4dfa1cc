package simulator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	simulatedhub "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type hubOptions struct {
	simulatorOptions
	File     string
	Hive     bool
	Webhooks bool
	Auth     bool
}

func newHub(a *app.App) *cobra.Command {
	o := &hubOptions{simulatorOptions: simulatorOptions{App: a}}
	command := &cobra.Command{
		Use:   "hub --kubeconfig FILE [-f FILE]",
		Short: "Play the operators of a hub on an API server, and machines for it",
		Args:  app.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("kubeconfig") {
				return app.Usagef("simulator hub needs --kubeconfig FILE: it takes the part of a hub's operators, and never by a default")
			}
			return o.run(command.Context())
		},
	}
	o.declare(command)
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` that names the machines")
	flags.BoolVar(&o.Hive, "hive", false, "play Hive's operator, too, which records installed clusters")
	flags.BoolVar(&o.Auth, "local-auth", false, "accept only machines, with the token in their image, as the service of a real hub does")
	flags.BoolVar(&o.Webhooks, "webhooks", false, "register admission webhooks that are served on loopback: for an API server on this machine")
	return command
}

func (o *hubOptions) run(ctx context.Context) error {
	trouble, err := o.trouble()
	if err != nil {
		return err
	}
	kube, err := o.Globals.Kube.Config()
	if err != nil {
		return err
	}
	mode := auth.None
	if o.Auth {
		mode = auth.Local
	}
	config := simulator.Config{
		Clock: clock.Scaled(o.Speed), Seed: o.Seed, Scenario: trouble, KubeAPI: true, Auth: mode,
		Images: simulatedhub.Images(kube, o.Globals.Kube.Scope()), Logf: o.note,
	}
	if o.File != "" {
		if config.Cluster, err = o.Load(ctx, o.File); err != nil {
			return err
		}
	}
	if err := playable(ctx, kube); err != nil {
		return err
	}
	if _, err := simulatedhub.AddImageSets(ctx, kube); err != nil {
		o.Warn("%v: files then have to say which release they mean", err) // a hub with others is one, too
	}
	running, err := simulator.Start(ctx, config)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.IO.Out, running.URL())
	o.Say("%s", o.plays(kube, config.Cluster))
	if proxy := running.BMCProxy(); proxy != "" {
		o.Say("The machines' BMCs answer through the proxy %s: give create cluster --bmc-proxy.", proxy)
	}
	err = simulatedhub.Run(ctx, simulatedhub.Config{
		Kube: kube, Namespace: o.Globals.Kube.Scope(), Service: running.URL(), Callers: running.Callers(), Clock: config.Clock, Reader: o.Clock,
		Hive: o.Hive, Webhooks: o.Webhooks, Logf: o.note,
	})
	if ctx.Err() != nil {
		_ = running.Close()
		return app.Stopped(ctx, "simulator hub", err)
	}
	return errors.Join(err, running.Close())
}

func (o *hubOptions) plays(kube *rest.Config, c *spec.Cluster) string {
	where, machines := "in all namespaces", "no machines: give -f FILE for some"
	if namespace := o.Globals.Kube.Scope(); namespace != "" {
		where = "in namespace " + namespace
	}
	if c != nil {
		machines = "the machines of cluster " + c.Metadata.Name
		var names []string
		for _, host := range c.Spec.Hosts {
			names = append(names, host.Name)
		}
		if len(names) > 0 && len(names) <= mostNamed {
			machines += " (" + strings.Join(names, ", ") + ")"
		}
		machines += ", which boot once its InfraEnv has an image"
	}
	operators := "the assisted-service's operator"
	if o.Hive {
		operators += " and Hive's"
	}
	return fmt.Sprintf("Playing %s on %s, %s, and %s. Stop it with Ctrl-C.", operators, strings.TrimSuffix(kube.Host, "/"), where, machines)
}

const mostNamed = 10

// playable refuses an API server on which a hub cannot, or must not, be played.
func playable(ctx context.Context, kube *rest.Config) error {
	name, err := simulatedhub.AgentServiceConfig(ctx, kube)
	if err != nil {
		return hubFault(kube, err)
	}
	if name != "" {
		fault := hubFault(kube, fmt.Errorf("it is a real hub: it has the AgentServiceConfig %s", name))
		fault.Code, fault.Permanent = model.CodeUsage, true
		fault.Next = "give the --kubeconfig of an API server for simulations"
		return fault
	}
	missing, err := simulatedhub.Missing(ctx, kube)
	if err != nil {
		return hubFault(kube, err)
	}
	if len(missing) > 0 {
		fault := hubFault(kube, fmt.Errorf("it does not serve %s", strings.Join(missing, ", ")))
		fault.Permanent = true
		fault.Next = "kubectl apply --server-side -f test/crds/manifests, from the sources of oaictl; or start an API server that has them: " +
			"go run ./internal/kubetest/serve --kubeconfig FILE"
		return fault
	}
	return nil
}

func hubFault(kube *rest.Config, err error) *model.Fault {
	return &model.Fault{Code: model.CodeFailure, Op: "play a hub on", On: strings.TrimSuffix(kube.Host, "/"), Err: err,
		Next: "check --kubeconfig and --context"}
}
