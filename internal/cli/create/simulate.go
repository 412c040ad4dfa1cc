package create

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// simulatedFolder is the folder below --dir for the results of simulated clusters. The name of no cluster has an
// underscore, so that this is never the folder of a real one.
const simulatedFolder = "_simulated"

// resultsApart makes the results of a simulated cluster be written into a folder of their own, in place of those of the
// last simulation: that cluster is gone.
func (o *createOptions) resultsApart(cluster *spec.Cluster) error {
	o.Dir = filepath.Join(o.Dir, simulatedFolder)
	if o.DryRun {
		return nil
	}
	before := filepath.Join(o.clusterDir(cluster), "auth")
	if err := os.RemoveAll(before); err != nil {
		return &model.Fault{
			Code: model.CodeFailure, Permanent: true, Op: "remove the results of the previous simulation in", On: before, Err: err,
			Next: "remove them yourself, or give another folder with --dir",
		}
	}
	return nil
}

// simulation is what is played in place of a service and machines.
type simulation struct {
	Simulate bool
	Speed    float64
	Seed     int64
	Scenario string
}

func (s *simulation) declare(flags *pflag.FlagSet, what string) {
	flags.BoolVar(&s.Simulate, "simulate", false, what)
	flags.Float64Var(&s.Speed, "speed", app.SimulateSpeed, "`N` times as fast as in life, with --simulate")
	flags.Int64Var(&s.Seed, "seed", 1, "`N` that decides chance, with --simulate")
	flags.StringVar(&s.Scenario, "scenario", "", "`FILE` with trouble to make, with --simulate")
}

// check refuses flags that cannot be used with a simulation.
func (s *simulation) check(o *runOptions) error {
	switch {
	case s.Simulate && o.boot.given("service-url"):
		return app.Usagef("--simulate and --service-url cannot be used together")
	case s.Simulate && o.Globals.Backend == app.BackendHub:
		return app.Usagef("--simulate simulates a REST service, not a hub: a hub needs an API server. To simulate a hub on your API " +
			"server, use `oaictl simulator hub --kubeconfig FILE -f FILE`, or give --backend rest")
	case s.Simulate && o.boot.given("bmc-proxy"):
		return app.Usagef("--simulate and --bmc-proxy cannot be used together: the BMCs are simulated too")
	case s.Simulate && s.Speed <= 0:
		return app.Usagef("--speed must be greater than zero")
	}
	for _, flag := range []string{"speed", "seed", "scenario"} {
		if !s.Simulate && o.boot.given(flag) {
			return app.Usagef("--%s needs --simulate", flag)
		}
	}
	return nil
}

// simulate starts a service that ends with the run.
func (o *runOptions) simulate(ctx context.Context, s simulation, cluster *spec.Cluster, log *runlog.Log) (*install.Client, func(), error) {
	o.Globals.Simulated = true
	trouble, err := app.LoadScenario(s.Scenario)
	if err != nil {
		return nil, nil, err
	}
	o.Say("Simulation: this command simulates the service and the machines, %g times faster than real time. All times are times "+
		"of the simulation.",
		s.Speed)
	o.clusterClock = clock.Scaled(s.Speed)
	running, err := o.StartSimulator(ctx, simulator.Config{Clock: o.clusterClock, Seed: s.Seed, Scenario: trouble, Cluster: cluster,
		Logf: log.Printf})
	if err != nil {
		return nil, nil, err
	}
	o.boot.BMCProxy = running.BMCProxy
	if !o.boot.given("media-listen") {
		o.boot.MediaListen = app.SimulatedMedia
	}
	to := app.Connection{Backend: app.BackendREST, ServiceURL: running.URL}
	service, err := o.DialWith(ctx, app.ClientConfig{Connection: to, Clock: o.clusterClock, Trace: o.Tracer(log.Exchange)})
	return service, func() {
		if err := running.Stop(); err != nil {
			o.Warn("the simulator: %v", err)
			log.Printf("the simulator: %v", err)
		}
	}, err
}
