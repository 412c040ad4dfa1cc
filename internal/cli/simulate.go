package cli

import (
	"context"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// simulateSpeed is how much faster than in life a simulated install goes.
const simulateSpeed = 300

// simulation is what `create cluster --simulate` starts.
type simulation struct {
	clock    clock.Clock
	seed     int64
	scenario *scenario.Scenario
	cluster  *spec.Cluster
	log      func(format string, args ...any)
}

// simulatorFunc starts a service and its machines and says where they are. stop
// switches everything off and returns what went wrong in it.
type simulatorFunc func(ctx context.Context, s simulation) (url string, stop func() error, err error)

func startSimulator(ctx context.Context, s simulation) (string, func() error, error) {
	// It is stopped by stop alone: what ends ctx ends the watching first.
	running, err := simulator.Start(context.WithoutCancel(ctx), simulator.Config{Clock: s.clock, Seed: s.seed, Scenario: s.scenario, Cluster: s.cluster, Logf: s.log})
	if err != nil {
		return "", nil, err
	}
	return running.URL(), running.Close, nil
}
