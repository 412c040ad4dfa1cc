package simulator

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	simulatedhub "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type hostsOptions struct {
	simulatorOptions
	File          string
	InfraEnv      string
	Count         int
	Boot          string
	HostTokenFile string
	BMCListen     string
	// SpokeKubeconfig is of the API server on which the cluster is played that added machines join.
	SpokeKubeconfig string
}

func newHosts(a *app.App) *cobra.Command {
	o := &hostsOptions{simulatorOptions: simulatorOptions{App: a}}
	command := &cobra.Command{
		Use:   "hosts -f FILE | --infra-env NAME|ID --count N",
		Short: "Play machines that boot the discovery image of any assisted-service",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	o.declare(command)
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` that names the machines")
	flags.StringVar(&o.InfraEnv, "infra-env", "", "InfraEnv `NAME` or ID whose image is booted")
	flags.IntVar(&o.Count, "count", 0, "`N` machines boot it")
	flags.StringVar(&o.Boot, "boot", string(host.Day1), "when they boot: `day1|day2`, at once or once the cluster takes more hosts")
	flags.StringVar(&o.HostTokenFile, "host-token-file", "", "`FILE` with the token that agents send, where the service wants one")
	flags.StringVar(&o.BMCListen, "bmc-listen", "", "`ADDRESS` on which the machines' BMCs answer, as a proxy that leads to nothing else")
	flags.StringVar(&o.SpokeKubeconfig, "spoke-kubeconfig", "",
		"`FILE` of the API server on which simulator spoke plays the cluster: machines that are added join it")
	return command
}

func (o *hostsOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	trouble, err := o.trouble()
	if err != nil {
		return err
	}
	config := simulator.BootConfig{
		ServiceURL: o.Globals.ServiceURL, Clock: clock.Scaled(o.Speed), Seed: o.Seed, Scenario: trouble,
		InfraEnv: o.InfraEnv, Count: o.Count, Day: host.BootDay(o.Boot), Logf: o.note,
		Waits:  func(what string) { o.Say("Waiting for %s", what) },
		Report: o.Say,
	}
	if o.File != "" {
		if config.Cluster, err = o.machines(ctx); err != nil {
			return err
		}
	}
	if config.HTTPClient, err = rest.HTTPClient(o.Globals.CAFile, o.Globals.Insecure); err != nil {
		return err
	}
	if o.Globals.Insecure {
		o.Warn("--insecure: the certificate of %s is not verified", app.HostOf(o.Globals.ServiceURL))
	}
	if err := o.tokens(ctx, &config); err != nil {
		return err
	}
	if o.Globals.Backend == app.BackendHub {
		kube, err := o.Globals.Kube.Config()
		if err != nil {
			return err
		}
		config.Images = simulatedhub.Images(kube, o.Globals.Kube.Scope())
	}
	if err := o.joins(ctx, &config); err != nil {
		return err
	}
	boot := simulator.Boot
	if o.BMCListen != "" {
		boot = o.bootByBMC
	}
	if err := boot(ctx, config); err != nil {
		return app.Stopped(ctx, "simulator hosts", err)
	}
	return nil
}

// machines are those of the file. One of kind Nodes is for a cluster that is installed.
func (o *hostsOptions) machines(ctx context.Context) (*spec.Cluster, error) {
	file, err := o.LoadMachines(ctx, o.File)
	if err != nil || file.Existing() == "" {
		return file, err
	}
	if o.Boot != string(host.Day2) {
		return nil, app.Usagef("%s is of kind Nodes, whose hosts boot once their cluster takes more: give --boot %s", o.File, host.Day2)
	}
	_, name, found := strings.Cut(file.Existing(), "/") // NAMESPACE/NAME of a hub
	if !found {
		name = file.Existing()
	}
	name, domain, _ := strings.Cut(name, ".")
	return file.AddedTo(spec.Target{Name: name, BaseDomain: domain})
}

// bootByBMC lets the machines' BMCs answer for as long as the machines run.
func (o *hostsOptions) bootByBMC(ctx context.Context, config simulator.BootConfig) error {
	var err error
	config.BMCs, err = simulator.NewBMCs(config)
	switch {
	case err != nil:
		return &model.Fault{Code: model.CodeInput, Op: "make the BMCs of", On: o.File, Err: err}
	case config.BMCs == nil:
		return app.Usagef("--bmc-listen: no host of %s boots through a BMC: this needs bmc.address, bmc.credentials and boot.method redfish",
			o.File)
	}
	listener, err := net.Listen("tcp", o.BMCListen)
	if err != nil {
		return &model.Fault{Code: model.CodeFailure, Op: "listen on", On: o.BMCListen, Err: err, Next: "choose another address with " +
			"--bmc-listen"}
	}
	fmt.Fprintln(o.IO.Out, "http://"+listener.Addr().String())
	running, stop := context.WithCancelCause(ctx)
	var answers sync.WaitGroup
	answers.Go(func() { stop(config.BMCs.Serve(running, listener)) })
	if err = simulator.Boot(running, config); err == nil {
		// The client that has installed them still ejects their media, and looks again later.
		o.Say("Every machine has come to its end; their BMCs answer until this command is stopped.")
		<-running.Done()
		err = context.Cause(running)
	}
	stop(nil)
	answers.Wait()
	return err
}

func (o *hostsOptions) check() error {
	byName := o.InfraEnv != "" || o.Count != 0
	switch {
	case o.Globals.ServiceURL == "":
		return app.Usagef("no service is given: give --service-url, or set OAICTL_SERVICE_URL or AI_URL")
	case (o.File != "") == byName:
		return app.Usagef("simulator hosts needs -f FILE, or --infra-env and --count")
	case o.BMCListen != "" && o.File == "":
		return app.Usagef("--bmc-listen needs -f FILE, which says where the BMCs are")
	case byName && (o.InfraEnv == "" || o.Count < 1):
		return app.Usagef("--infra-env and --count go together, and there is at least one machine")
	}
	return app.OneOf("--boot", o.Boot, string(host.Day1), string(host.Day2))
}

// tokens are what InfraEnvs are listed with, and what the machines send.
func (o *hostsOptions) tokens(ctx context.Context, config *simulator.BootConfig) error {
	credentials, err := app.Interruptible(ctx, o.Globals.Credentials)
	if err != nil {
		return err
	}
	source, err := credentials.Authorise(config.HTTPClient, o.Globals.CAFile, o.Clock)
	if err != nil {
		return err
	}
	name, value, err := source.Header(ctx)
	if err != nil {
		return err
	}
	if strings.EqualFold(name, "Authorization") {
		config.UserToken = value
	}
	if o.HostTokenFile != "" {
		secret, err := app.Interruptible(ctx, func() (spec.Secret, error) { return app.ReadSecret("--host-token-file", o.HostTokenFile) })
		if err != nil {
			return err
		}
		config.HostToken = secret.Reveal()
	}
	return nil
}
