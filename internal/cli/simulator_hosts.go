package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostsOptions are what `simulator hosts` needs and what its flags say.
type hostsOptions struct {
	simulatorOptions
	File          string
	InfraEnv      string
	Count         int
	Boot          string
	HostTokenFile string
}

func (a *app) simulatorHostsCommand() *cobra.Command {
	o := &hostsOptions{simulatorOptions: simulatorOptions{app: a}}
	command := &cobra.Command{
		Use:   "hosts -f FILE | --infra-env NAME|ID --count N",
		Short: "Play machines that boot the discovery image of any assisted-service",
		Long: `Play machines: those that a cluster.yaml names, or a number of them in one
InfraEnv. They register, are installed, reboot and become a cluster, with any
assisted-service. The command ends when each of them has come to its end.

With --boot day2 only those are switched on that the cluster does not have, once
there is an image that they can be added with: see add-node.`,
		Example: `  oaictl simulator hosts --service-url http://127.0.0.1:8090 -f cluster.yaml --speed 10
  oaictl simulator hosts --service-url http://127.0.0.1:8090 --infra-env pool --count 5`,
		Args: args(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	o.declare(command)
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` that names the machines")
	flags.StringVar(&o.InfraEnv, "infra-env", "", "InfraEnv `NAME` or ID whose image is booted")
	flags.IntVar(&o.Count, "count", 0, "`N` machines boot it")
	flags.StringVar(&o.Boot, "boot", string(host.Day1), "when they boot: `day1|day2`, at once or once the cluster takes more hosts")
	flags.StringVar(&o.HostTokenFile, "host-token-file", "", "`FILE` with the token that agents send, where the service wants one")
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
		ServiceURL: o.globals.ServiceURL, Clock: clock.Scaled(o.Speed), Seed: o.Seed, Scenario: trouble,
		InfraEnv: o.InfraEnv, Count: o.Count, Day: host.BootDay(o.Boot), Logf: o.note,
		Waits: func(what string) { o.say("Waiting for %s", what) },
	}
	if o.File != "" {
		if config.Cluster, err = spec.Load(ctx, o.File, o.specEnv()); err != nil {
			return err
		}
	}
	if config.HTTPClient, err = rest.HTTPClient(o.globals.CAFile, o.globals.Insecure); err != nil {
		return err
	}
	if o.globals.Insecure {
		o.warn("--insecure: the certificate of %s is not verified", hostOf(o.globals.ServiceURL))
	}
	if err := o.tokens(ctx, &config); err != nil {
		return err
	}
	if err := simulator.Boot(ctx, config); err != nil {
		return stopped(ctx, "simulator hosts", err)
	}
	return nil
}

func (o *hostsOptions) check() error {
	byName := o.InfraEnv != "" || o.Count != 0
	switch {
	case o.globals.ServiceURL == "":
		return usagef("no service is named: give --service-url, or set OAICTL_SERVICE_URL or AI_URL")
	case (o.File != "") == byName:
		return usagef("simulator hosts needs -f FILE, or --infra-env and --count")
	case byName && (o.InfraEnv == "" || o.Count < 1):
		return usagef("--infra-env and --count go together, and there is at least one machine")
	}
	return oneOf("--boot", o.Boot, string(host.Day1), string(host.Day2))
}

// tokens are what InfraEnvs are listed with, and what the machines send.
func (o *hostsOptions) tokens(ctx context.Context, config *simulator.BootConfig) error {
	credentials, err := o.globals.credentials()
	if err != nil {
		return err
	}
	source, err := rest.Authorise(credentials, rest.Exchanger{Client: config.HTTPClient, Clock: o.clock, CAFile: o.globals.CAFile})
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
		secret, err := readSecret("--host-token-file", o.HostTokenFile)
		if err != nil {
			return err
		}
		config.HostToken = secret.Reveal()
	}
	return nil
}
