package simulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type labOptions struct {
	simulatorOptions
	File         string
	Later        []string
	Hub          bool
	WithoutNodes bool
	Dir          string
	Assets       string
	Listen       string
}

// labMedia is where the images of machines with a BMC are served in a lab.
const labMedia = "127.0.0.1:8880"

func newLab(a *app.App) *cobra.Command {
	o := &labOptions{simulatorOptions: simulatorOptions{App: a}}
	command := &cobra.Command{
		Use:   "lab -f FILE",
		Short: "Play a service or a hub, machines, and the cluster that is installed on them, in one command",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	o.declare(command)
	flags := command.Flags()
	flags.Lookup("speed").DefValue, o.Speed = "60", 60
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` that names the machines")
	flags.StringSliceVar(&o.Later, "later", nil,
		"`FILE` of machines that boot once the cluster takes more hosts, of kind Cluster or Nodes, repeatable")
	flags.BoolVar(&o.Hub, "hub", false, "play a hub in place of a service that is spoken to by REST")
	flags.BoolVar(&o.WithoutNodes, "without-nodes", false,
		"play no nodes: what happens in the installed cluster is not seen, and no API server is needed for it")
	flags.StringVar(&o.Dir, "dir", "lab", "`DIR` to write the environment and kubeconfigs into")
	flags.StringVar(&o.Assets, "assets", "", "`DIR` with the programs of Kubernetes, which are built else")
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:0", "`ADDRESS` of the service")
	return command
}

func (o *labOptions) run(ctx context.Context) error {
	if o.File == "" {
		return app.Usagef("simulator lab needs -f FILE, which names the machines")
	}
	config, err := o.config(ctx)
	if err != nil {
		return err
	}
	leave, err := occupy(o.Dir)
	if err != nil {
		return err
	}
	defer leave()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Hub || !o.WithoutNodes {
		o.Say(startsServers)
		starter, err := newStarter(ctx, "run a lab", o.Assets, o.IO.Err)
		if fault, is := errors.AsType[*model.Fault](err); is && !o.Hub {
			fault.Next = "leave the nodes out with --without-nodes, which needs no API server; or " + fault.Next
		}
		if err != nil {
			return ended(ctx, "simulator lab", "run a lab", err)
		}
		defer starter.close()
		starter.fail = stop
		defer func() { stop(nil); starter.running.Wait() }()
		if err := o.startServers(running, starter, &config); err != nil {
			return ended(ctx, "simulator lab", "run a lab", err)
		}
	}
	lab, err := management.StartLab(running, config)
	if err != nil {
		return ended(ctx, "simulator lab", "run a lab", err)
	}
	environment := filepath.Join(o.Dir, "environment")
	err = os.WriteFile(environment, []byte(o.environment(lab)), 0o600)
	if err == nil {
		defer func() { _ = os.Remove(environment) }()
		fmt.Fprintln(o.IO.Out, environment)
		for _, line := range o.plays(config.Cluster, environment) {
			o.Say("%s", line)
		}
		<-lab.Context().Done()
	}
	err = errors.Join(err, lab.Close())
	if broken := context.Cause(running); broken != nil && ctx.Err() == nil {
		err = broken // and the error that followed from it
	}
	return ended(ctx, "simulator lab", "run a lab", err)
}

// config is what the files and flags say.
func (o *labOptions) config(ctx context.Context) (management.LabConfig, error) {
	config := management.LabConfig{Listen: o.Listen, Clock: clock.Scaled(max(o.Speed, 0)), Reader: o.Clock, Seed: o.Seed, Logf: o.note,
		Report: o.Say}
	var err error
	if config.Scenario, err = o.trouble(); err != nil {
		return config, err
	}
	if config.Cluster, err = o.Load(ctx, o.File); err != nil {
		return config, err
	}
	for _, file := range o.Later {
		later, err := o.LoadMachines(ctx, file)
		if err == nil {
			later, err = later.AddedTo(spec.Target{Name: config.Cluster.Metadata.Name, BaseDomain: config.Cluster.Spec.BaseDomain})
		}
		if err != nil {
			return config, err
		}
		config.Later = append(config.Later, later)
	}
	return config, nil
}

// startServers starts the API servers, which builds them where they are not there yet.
func (o *labOptions) startServers(ctx context.Context, from *starter, config *management.LabConfig) error {
	var err error
	if o.Hub {
		if _, config.Hub, err = from.start(ctx, o.hubKubeconfig()); err != nil {
			return err
		}
	}
	if !o.WithoutNodes {
		_, config.Nodes, err = from.start(ctx, filepath.Join(o.Dir, "nodes.kubeconfig"))
	}
	return err
}

func (o *labOptions) hubKubeconfig() string { return filepath.Join(o.Dir, "hub.kubeconfig") }

// environment are the variables by which commands reach the lab, for a shell.
func (o *labOptions) environment(lab *management.Lab) string {
	list := [][2]string{{"OAICTL_SERVICE_URL", lab.ServiceURL()}}
	if o.Hub {
		kubeconfig := o.hubKubeconfig()
		if whole, err := filepath.Abs(kubeconfig); err == nil {
			kubeconfig = whole
		}
		list = [][2]string{{"OAICTL_BACKEND", app.BackendHub}, {"KUBECONFIG", kubeconfig}}
	}
	if proxy := lab.BMCProxy(); proxy != "" {
		list = append(list, [2]string{"OAICTL_BMC_PROXY", proxy}, [2]string{"OAICTL_MEDIA_LISTEN", labMedia},
			[2]string{"OAICTL_MEDIA_URL", "http://" + labMedia})
	}
	var text strings.Builder
	for _, variable := range list {
		fmt.Fprintf(&text, "export %s=%s\n", variable[0], listtext.Quoted(variable[1]))
	}
	return text.String()
}

func (o *labOptions) plays(c *spec.Cluster, environment string) []string {
	what := "an assisted-service"
	if o.Hub {
		what = "a hub"
	}
	with := ", and the nodes of the cluster that is installed on them"
	if o.WithoutNodes {
		with = ""
	}
	return []string{
		fmt.Sprintf("Playing %s, the machines of %s%s, %g times as fast as in life. The machines boot once there is an image for them.", what,
			c.Metadata.Name, with, o.Speed),
		"Next, in another shell:",
		"  . " + listtext.Quoted(environment),
		"  " + o.Identity.Name + " create cluster -f " + listtext.Quoted(o.File),
		fmt.Sprintf("Stop it with Ctrl-C. The folder %s stays; delete it afterwards, with the results of the clusters that you install.",
			listtext.Quoted(o.Dir)),
	}
}
