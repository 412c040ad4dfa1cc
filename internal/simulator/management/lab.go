package management

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// LabConfig says what a lab has: a service, or a hub, the machines of files, and the nodes that they become. Cluster and
// Clock are required.
type LabConfig struct {
	// Listen is the address of the service; empty is a free one on loopback.
	Listen string
	// Hub is the API server of a hub, as an administrator; nil has a service that is spoken to by REST.
	Hub *rest.Config
	// Nodes is the API server on which the installed cluster is played; nil has no nodes.
	Nodes *rest.Config
	// Cluster names the machines that boot as soon as there is an image for them.
	Cluster *spec.Cluster
	// Later names machines that boot once the cluster takes more hosts.
	Later []*spec.Cluster
	// Clock is the time of the simulation.
	Clock clock.Clock
	// Reader is the clock of the commands that read the hub: see hub.Config.
	Reader clock.Clock
	// Seed decides on everything that would be chance.
	Seed int64
	// Scenario is the trouble that is made; nil for none.
	Scenario *scenario.Scenario
	// Logf takes a line about each thing that happens; nil drops them. It never gets a secret.
	Logf func(format string, args ...any)
	// Report takes a line about each stage of the machines: see simulator.BootConfig. It may be nil.
	Report func(format string, args ...any)
}

// Lab is a service or a hub, with machines and the cluster that is installed on them.
type Lab struct {
	*Site

	bmcs string
}

// StartLab starts everything, until ctx ends or Close is called.
func StartLab(ctx context.Context, config LabConfig) (*Lab, error) {
	if config.Logf == nil {
		config.Logf = func(string, ...any) {}
	}
	if config.Listen == "" {
		config.Listen = "127.0.0.1:0"
	}
	ctx, stop := context.WithCancel(ctx)
	around := Config{Kube: config.Hub, Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, Logf: config.Logf}
	if config.Nodes != nil {
		around.Servers = []*rest.Config{config.Nodes}
	}
	lab := &Lab{Site: &Site{config: around, ctx: ctx, stop: stop}}
	if err := lab.start(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("start the lab: %w", err), lab.Close())
	}
	return lab, nil
}

func (l *Lab) start(ctx context.Context, config LabConfig) error {
	if err := l.serve(ctx, config.Listen, config.Hub != nil); err != nil {
		return err
	}
	if err := l.clusters.prepare(ctx); err != nil {
		return err
	}
	boots := simulator.BootConfig{
		ServiceURL: l.url, Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, Cluster: config.Cluster,
		Joins: l.clusters.join, JoinsAll: true, Logf: l.says("machine"), Report: config.Report,
	}
	if config.Hub != nil {
		if _, err := hub.AddImageSets(ctx, config.Hub); err != nil {
			return err
		}
		boots.Images = hub.Images(config.Hub, "")
		l.play("hub", func() error {
			return hub.Run(
				ctx,
				hub.Config{Kube: config.Hub, Service: l.url, Callers: l.callers, Clock: config.Clock, Reader: config.Reader, Logf: l.says("hub")},
			)
		})
	}
	for _, file := range config.Later {
		later := boots
		later.Cluster, later.Day = file, host.Day2
		l.play("machines", func() error { return simulator.BootAgain(ctx, later) })
	}
	bmcs, doors, err := simulator.OpenBMCs(boots)
	if err != nil {
		return err
	}
	if bmcs != nil {
		boots.BMCs, l.bmcs = bmcs, "http://"+doors.Addr().String()
		l.play("BMCs", func() error { return bmcs.Serve(ctx, doors) })
	}
	l.play("machines", func() error { return simulator.BootAgain(ctx, boots) })
	return nil
}

// BMCProxy is the HTTP proxy through which the machines' BMCs are reached at the addresses that the file has for them;
// empty where it has none.
func (l *Lab) BMCProxy() string { return l.bmcs }
