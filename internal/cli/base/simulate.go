package base

import (
	"context"

	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
)

// SimulateSpeed is how much faster than in life a simulated install goes.
const SimulateSpeed = 300

// SimulatedMedia is where simulated BMCs read images: they are in this process.
const SimulatedMedia = "127.0.0.1:0"

// Simulated is a service and its machines that run. Stop switches everything off
// and returns what went wrong in it.
type Simulated struct {
	URL      string
	BMCProxy string // through which the machines' BMCs are reached
	Stop     func() error
}

func startSimulator(ctx context.Context, config simulator.Config) (Simulated, error) {
	// It is stopped by Stop alone: what ends ctx ends the watching first.
	running, err := simulator.Start(context.WithoutCancel(ctx), config)
	if err != nil {
		return Simulated{}, err
	}
	return Simulated{running.URL(), running.BMCProxy(), running.Close}, nil
}

// LoadScenario reads the file of --scenario, nil where there is none.
func LoadScenario(path string) (*scenario.Scenario, error) {
	if path == "" {
		return nil, nil
	}
	trouble, err := scenario.Load(path)
	if err != nil {
		return nil, &install.Fault{Code: install.CodeInput, Op: "read scenario", On: path, Err: scenarioError{WithoutPath(err)}}
	}
	return trouble, nil
}

// scenarioError is what is wrong with a scenario, a line for each mistake.
type scenarioError struct{ error }

func (scenarioError) MultiLine() {}

func (e scenarioError) Unwrap() error { return e.error }
