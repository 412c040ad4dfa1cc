package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/capi"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

type managementOptions struct {
	simulatorOptions
	Assets    string
	Dir       string
	Namespace string
	Cluster   string
	Hosts     int
	Workloads int
	Share     bool
	Apart     bool
	Gates     []string
}

// mostWorkloads is how many workload clusters are played at once, each on an API server of its own.
const mostWorkloads = 2

func newManagement(a *app.App) *cobra.Command {
	o := &managementOptions{simulatorOptions: simulatorOptions{App: a}}
	command := &cobra.Command{
		Use:   "management",
		Short: "Run a management cluster of Cluster API, with machines and the clusters that are installed on them",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	o.declare(command)
	flags := command.Flags()
	flags.Lookup("speed").DefValue, o.Speed = "60", 60
	flags.StringVar(&o.Assets, "assets", "", "`DIR` with the programs of Kubernetes and Cluster API, which are built else")
	flags.StringVar(&o.Dir, "dir", "management", "`DIR` to write kubeconfigs into")
	flags.StringVar(&o.Namespace, "hosts-namespace", "default", "`NAMESPACE` to make BareMetalHosts in")
	flags.StringVar(&o.Cluster, "cluster", "", "`TEMPLATE` of a Cluster to make and install, too: compact, ha, metal3 or sno")
	flags.IntVar(&o.Hosts, "hosts", 6, "`N` BareMetalHosts to make, each with a machine")
	flags.IntVar(&o.Workloads, "workload-servers", 1,
		fmt.Sprintf("`N` API servers (up to %d) on which workload clusters are played, one on each", mostWorkloads))
	flags.BoolVar(&o.Share, "share", false, "play all workload clusters on one API server: only their nodes, whose names then have to differ")
	flags.BoolVar(&o.Apart, "without-providers", false, "run no providers of oaictl: another shell does, by a command that is printed")
	flags.StringSliceVar(&o.Gates, "feature-gate", nil, "`NAME=BOOL` of the core of Cluster API, repeatable")
	return command
}

func (o *managementOptions) run(ctx context.Context) error {
	trouble, err := o.trouble()
	if err != nil {
		return err
	}
	switch {
	case o.Hosts < 0 || o.Workloads < 0:
		return app.Usagef("--hosts and --workload-servers cannot be below zero")
	case o.Workloads > mostWorkloads:
		return app.Usagef("--workload-servers %d: %d are the most, each takes 400 MB; --share plays more clusters on one", o.Workloads,
			mostWorkloads)
	}
	var cluster []byte
	if o.Cluster != "" {
		if cluster, err = o.clusterOf(); err != nil {
			return err
		}
	}
	o.Say(startsServers)
	starter, err := newStarter(ctx, "run a management cluster", o.Assets, o.IO.Err)
	if err != nil {
		return ended(ctx, "simulator management", "run a management cluster", err)
	}
	defer starter.close()
	leave, err := occupy(o.Dir)
	if err != nil {
		return err
	}
	defer leave()
	if cluster != nil {
		if err := replaceable(o.clusterKubeconfig()); err != nil {
			return err
		}
	}
	running, stop := context.WithCancelCause(ctx)
	starter.fail = stop
	err = o.around(running, starter, trouble, cluster)
	if broken := context.Cause(running); broken != nil {
		err = broken // and the error that followed from it
	}
	stop(nil)
	starter.running.Wait()
	return ended(ctx, "simulator management", "run a management cluster", err)
}

// around starts everything, and plays it until ctx ends.
func (o *managementOptions) around(ctx context.Context, from *starter, trouble *scenario.Scenario, cluster []byte) error {
	servers, err := o.startServers(ctx, from)
	if err != nil {
		return err
	}
	log := o.log()
	capi.SetLogger(log) // before anything speaks to an API server
	site, err := management.Start(ctx, management.Config{
		Kube: servers.management, Servers: servers.workloads, Shared: servers.shared, Clock: clock.Scaled(o.Speed), Reader: o.Clock,
		Seed: o.Seed, Scenario: trouble, Logf: o.note,
	})
	if err != nil {
		return err
	}
	if err := management.MakeHosts(ctx, servers.management, o.Namespace, "lab", o.Hosts); err != nil {
		return errors.Join(err, site.Close())
	}
	ready := func() {
		fmt.Fprintln(o.IO.Out, servers.said.Kubeconfig)
		for _, line := range o.plays(servers, site) {
			o.Say("%s", line)
		}
		if cluster == nil {
			return
		}
		from.running.Go(func() {
			if err := o.makeCluster(ctx, servers.management, cluster); err != nil && ctx.Err() == nil {
				from.fail(err)
			}
		})
	}
	return errors.Join(o.provide(ctx, servers, site, capi.Options{
		// where installed clusters are played
		Clock: o.Clock, Log: log, Release: management.Release, AllowEndpoints: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}, ready), site.Close())
}

// provide runs the providers until ctx ends, or something else that is played does. It calls ready once they answer.
func (o *managementOptions) provide(ctx context.Context, s *servers, site *management.Site, options capi.Options, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(site.Context(), stop)()
	if o.Apart {
		ready()
		<-ctx.Done()
		return nil
	}
	return capi.Serve(ctx, s.management, options, capi.Serving{
		WebhookPort: s.said.WebhookPort, WebhookCertDir: s.said.WebhookCertDir, Ready: ready,
	})
}

// log shows warnings, and more for each --verbose.
func (o *managementOptions) log() logr.Logger {
	level := slog.LevelWarn - slog.Level(4*o.Globals.Verbose)
	return logr.FromSlogHandler(slog.NewTextHandler(o.IO.Err, &slog.HandlerOptions{Level: level}))
}

// servers are the API servers that run.
type servers struct {
	said               served // of the management cluster
	management, shared *rest.Config
	workloads          []*rest.Config
}

// startServers starts the management cluster, which builds what is not there, and then the others.
func (o *managementOptions) startServers(ctx context.Context, from *starter) (*servers, error) {
	kinds, err := providerManifests(from.scratch)
	if err != nil {
		return nil, err
	}
	args := []string{"--management", "--install", kinds}
	for _, gate := range o.Gates {
		args = append(args, "--feature-gate", gate)
	}
	s := &servers{}
	if s.said, s.management, err = from.start(ctx, filepath.Join(o.Dir, "management.kubeconfig"), args...); err != nil {
		return nil, err
	}
	count := o.Workloads
	if o.Share {
		count = 1
	}
	for i := range count {
		_, config, err := from.start(ctx, filepath.Join(o.Dir, fmt.Sprintf("workload-%d.kubeconfig", i)))
		if err != nil {
			return nil, err
		}
		if o.Share {
			s.shared = config
		} else {
			s.workloads = append(s.workloads, config)
		}
	}
	return s, nil
}

// providerManifests writes what the providers are installed by into a folder.
func providerManifests(folder string) (string, error) {
	files, err := components.Files(components.Options{SelfManaged: true}) // no cert-manager runs
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "providers")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name, "-components.yaml") {
			continue
		}
		content := components.Expand(f.Content, func(string) (string, bool) { return "", false })
		if err := os.WriteFile(filepath.Join(folder, f.Name), content, 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

func (o *managementOptions) plays(s *servers, site *management.Site) []string {
	plays := "no workload cluster is played"
	switch {
	case o.Share:
		plays = "the nodes of all workload clusters are on one API server"
	case len(s.workloads) == 1:
		plays = "one workload cluster is played at a time"
	case len(s.workloads) > 1:
		plays = fmt.Sprintf("%d workload clusters are played at a time", len(s.workloads))
	}
	kubeconfig := listtext.Quoted(s.said.Kubeconfig)
	lines := []string{
		fmt.Sprintf("%s is a management cluster of Cluster API, %g times as fast as in life, with %d machines behind its BareMetalHosts; %s.",
			s.said.Host, o.Speed, o.Hosts, plays),
		"The assisted-service is at " + site.ServiceURL() + ".",
		"Next, in another shell:",
	}
	if o.Apart {
		lines = append(lines, fmt.Sprintf("  %s controller --kubeconfig %s --allow-endpoint 127.0.0.0/8 --webhook-port %d --webhook-cert-dir "+
			"%s --metrics-bind-address 0 --health-address 0 --log-format text",
			o.Identity.Name, kubeconfig, s.said.WebhookPort, listtext.Quoted(s.said.WebhookCertDir)))
	}
	return append(lines,
		"  "+listtext.Quoted(s.said.Kubectl)+" --kubeconfig "+kubeconfig+" -n "+o.Namespace+" get baremetalhosts",
		"  "+listtext.Quoted(s.said.Clusterctl)+" --kubeconfig "+kubeconfig+" -n "+o.Namespace+" describe cluster NAME",
		fmt.Sprintf("Stop it with Ctrl-C. The folder %s stays; delete it afterwards.", listtext.Quoted(o.Dir)))
}

// sourceTree is the folder of oaictl's sources at or above the working folder; "" outside of them.
func sourceTree() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/oaictl/oaictl\n") {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", nil
		}
		folder = above
	}
}
