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
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/simulator"
	simulatedspoke "github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install/model"
)

type spokeOptions struct {
	simulatorOptions
	File      string
	ClusterID string
	Approvers []string
	Without   []string
	Off       []string
}

func newSpoke(a *app.App) *cobra.Command {
	o := &spokeOptions{simulatorOptions: simulatorOptions{App: a}}
	command := &cobra.Command{
		Use:   "spoke --kubeconfig FILE -f FILE",
		Short: "Play an installed cluster on an API server",
		Args:  app.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("kubeconfig") {
				return app.Usagef("simulator spoke needs --kubeconfig FILE: it takes the part of a cluster's operators, and never by a default")
			}
			return o.run(command.Context())
		},
	}
	o.declare(command)
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` that names the cluster and its hosts")
	flags.StringVar(&o.ClusterID, "cluster-id", "",
		"what the cluster calls itself, a `UUID`: that of spec.import, or one that follows from its name")
	flags.StringSliceVar(&o.Approvers, "approver", nil, "`NAME` of who else approves requests of kubelets, repeatable: "+
		strings.Join(approvers(), "|"))
	flags.StringSliceVar(&o.Without, "without", nil, "`HOST` of the file that is not part of the cluster yet, repeatable")
	flags.StringSliceVar(&o.Off, "off", nil, "`HOST` of the file whose machine is off, repeatable: its node goes silent")
	return command
}

func approvers() []string {
	return []string{simulatedspoke.ApproverMachine, simulatedspoke.ApproverAgent, simulatedspoke.ApproverDayOne}
}

func (o *spokeOptions) run(ctx context.Context) error {
	config, err := o.config(ctx)
	if err != nil {
		return err
	}
	played, err := simulatedspoke.New(config)
	if err != nil {
		return &model.Fault{Code: model.CodeInput, Op: "play the cluster of", On: o.File, Err: err}
	}
	if err := played.SetUp(ctx); err != nil {
		if ctx.Err() != nil {
			return app.Stopped(ctx, "simulator spoke", err)
		}
		return spokeFault(config.Kube, err)
	}
	for _, name := range o.Off {
		played.PowerOff(name)
	}
	fmt.Fprintln(o.IO.Out, played.Cluster().ID)
	o.Say("%s", o.plays(config.Kube, played.Cluster()))
	return app.Stopped(ctx, "simulator spoke", played.Run(ctx))
}

func (o *spokeOptions) config(ctx context.Context) (simulatedspoke.Config, error) {
	config := simulatedspoke.Config{Clock: clock.Scaled(max(o.Speed, 0)), Logf: o.note}
	if o.File == "" {
		return config, app.Usagef("simulator spoke needs -f FILE, which says what was installed")
	}
	trouble, err := o.trouble()
	if err != nil {
		return config, err
	}
	if config.Trouble, err = simulatedspoke.TroubleOf(trouble); err != nil {
		return config, &model.Fault{Code: model.CodeInput, Op: "read", On: o.Scenario, Err: err}
	}
	if config.Approvers, err = o.approvers(); err != nil {
		return config, err
	}
	if config.Kube, err = o.Globals.Kube.Config(); err != nil {
		return config, err
	}
	file, err := o.Load(ctx, o.File)
	if err != nil {
		return config, err
	}
	for flag, list := range map[string][]string{"--without": o.Without, "--off": o.Off} {
		for _, name := range list {
			if file.Host(name) == nil {
				return config, app.Usagef("%s %s: %s has no such host", flag, name, o.File)
			}
		}
	}
	if config.Cluster, err = simulator.SpokeOf(file, o.Seed, o.Without...); err != nil {
		return config, &model.Fault{Code: model.CodeInput, Op: "play the cluster of", On: o.File, Err: err}
	}
	if o.ClusterID != "" {
		config.Cluster.ID = o.ClusterID
	}
	return config, nil
}

// approvers are those that were named. The Agent controller approves for the hosts that are still to come.
func (o *spokeOptions) approvers() (simulatedspoke.Approvers, error) {
	var on simulatedspoke.Approvers
	for _, name := range o.Approvers {
		switch name {
		case simulatedspoke.ApproverMachine:
			on.Machine = true
		case simulatedspoke.ApproverDayOne:
			on.DayOne = true
		case simulatedspoke.ApproverAgent:
			if len(o.Without) == 0 {
				return on, app.Usagef("--approver %s approves for hosts that are being added: name them with --without", name)
			}
			on.Agents = o.Without
		default:
			return on, app.OneOf("--approver", name, approvers()...)
		}
	}
	return on, nil
}

func (o *spokeOptions) plays(kube *rest.Config, c simulatedspoke.Cluster) string {
	var nodes []string
	for _, list := range [][]simulatedspoke.Node{c.ControlPlane, c.Arbiters, c.Workers} {
		for i := range list {
			nodes = append(nodes, list[i].Name)
		}
	}
	who := "requests of kubelets are not approved"
	if len(o.Approvers) > 0 {
		who = "requests of kubelets are approved by " + strings.Join(o.Approvers, ", ")
	}
	text := fmt.Sprintf("Playing cluster %s.%s (OpenShift %s, id %s) on %s", c.Name, c.BaseDomain, c.Version, c.ID,
		strings.TrimSuffix(kube.Host, "/"))
	return text + ", with the nodes " + listtext.ListText(nodes) + "; " + who + ". Stop it with Ctrl-C."
}

func spokeFault(kube *rest.Config, err error) *model.Fault {
	fault := &model.Fault{
		Code: model.CodeFailure, Op: "play a cluster on", On: strings.TrimSuffix(kube.Host, "/"), Err: err,
		Next: "check --kubeconfig and --context",
	}
	if errors.Is(err, simulatedspoke.ErrRealCluster) {
		fault.Code, fault.Permanent = model.CodeUsage, true
		fault.Next = "give the --kubeconfig of an API server for simulations: go run ./internal/kubetest/serve --kubeconfig FILE, from the " +
			"sources of oaictl"
	}
	return fault
}

// joins makes machines that are added join the cluster that is played on an API server; nil without one.
func (o *hostsOptions) joins(ctx context.Context, config *simulator.BootConfig) error {
	if o.SpokeKubeconfig == "" {
		return nil
	}
	file := app.Kube{Kubeconfig: o.SpokeKubeconfig}
	kube, err := file.Config()
	if err != nil {
		if fault, is := errors.AsType[*model.Fault](err); is {
			fault.Next = "give --spoke-kubeconfig FILE of the API server on which simulator spoke plays a cluster"
		}
		return err
	}
	cluster, err := simulatedspoke.Find(ctx, kube)
	if err != nil {
		fault := spokeFault(kube, err)
		fault.Op = "join machines to the cluster on"
		if errors.Is(err, simulatedspoke.ErrNoCluster) {
			fault.Next = "start simulator spoke first"
		}
		return fault
	}
	trouble, err := simulatedspoke.TroubleOf(config.Scenario)
	if err != nil {
		return &model.Fault{Code: model.CodeInput, Op: "read", On: o.Scenario, Err: err}
	}
	played, err := simulatedspoke.New(simulatedspoke.Config{Kube: kube, Clock: config.Clock, Cluster: cluster, Trouble: trouble, Logf: o.note})
	if err != nil {
		return spokeFault(kube, err)
	}
	config.Joins = simulator.JoinSpoke(played)
	return nil
}
