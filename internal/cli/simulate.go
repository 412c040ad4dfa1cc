package cli

import (
	"context"
	"errors"
	"io/fs"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
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

// simulatedMedia is where simulated BMCs read images: they are in this process.
const simulatedMedia = "127.0.0.1:0"

// simulated is a service and its machines that run. stop switches everything off
// and returns what went wrong in it.
type simulated struct {
	url      string
	bmcProxy string // through which the machines' BMCs are reached
	stop     func() error
}

// simulatorFunc starts a service and its machines.
type simulatorFunc func(ctx context.Context, s simulation) (simulated, error)

func startSimulator(ctx context.Context, s simulation) (simulated, error) {
	// It is stopped by stop alone: what ends ctx ends the watching first.
	running, err := simulator.Start(context.WithoutCancel(ctx), simulator.Config{Clock: s.clock, Seed: s.seed, Scenario: s.scenario, Cluster: s.cluster, Logf: s.log})
	if err != nil {
		return simulated{}, err
	}
	return simulated{running.URL(), running.BMCProxy(), running.Close}, nil
}

func loadScenario(path string) (*scenario.Scenario, error) {
	if path == "" {
		return nil, nil
	}
	trouble, err := scenario.Load(path)
	if err != nil {
		if cause, is := errors.AsType[*fs.PathError](err); is {
			err = cause.Err
		}
		return nil, &install.Fault{Code: install.CodeInput, Op: "read scenario", On: path, Err: scenarioError{err}}
	}
	return trouble, nil
}

// scenarioError is what is wrong with a scenario, a line for each mistake.
type scenarioError struct{ error }

func (scenarioError) lines() {}

func (e scenarioError) Unwrap() error { return e.error }
