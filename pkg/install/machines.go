package install

import (
	"context"
	"maps"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
)

// Machines is the plane of management controllers (BMCs) and the discovery
// media that machines boot through them. It is asked only for the hosts of the
// file that the next decision needs. Its methods are safe for concurrent use.
type Machines interface {
	// Observe looks at the named hosts only. What cannot be read of one is said
	// in its MachineState.Trouble; an error is one of the plane as a whole, such
	// as a context that ended; one that is a permanent *Fault ends the run.
	Observe(ctx context.Context, desired *Desired, observed *Observed, ask []string) (map[string]MachineState, error)
	// Act starts what an action of one of the machines' kinds stands for, and
	// does not wait for it. Action.Name is the host's name in the file.
	Act(ctx context.Context, desired *Desired, observed *Observed, action Action) error
}

// WithMachines gives the Client a plane that boots machines by itself.
// Without it, hosts are waited for until somebody boots them.
func WithMachines(machines Machines) Option {
	return func(client *Client) { client.machines = machines }
}

// observeMachines adds to an observation what the next decision needs of the
// machines, and brings forward what was known of the others.
func (client *Client) observeMachines(ctx context.Context, desired *Desired, prior, observed *Observed) error {
	if client.machines == nil || observed.Stale != "" {
		return nil
	}
	observed.Machines = map[string]MachineState{}
	var before map[string]MachineState
	if prior != nil {
		before = prior.Machines
	}
	maps.Copy(observed.Machines, before)
	ask, phases := decide.MachinesToAsk(desired, observed)
	if len(ask) == 0 {
		return nil
	}
	states, err := client.machines.Observe(ctx, desired, observed, ask)
	if err != nil && (ctx.Err() != nil || model.ForGood(err)) {
		return err
	}
	for _, name := range ask {
		state, known := states[name]
		switch {
		case err != nil:
			state = MachineState{Trouble: err.Error(), TroubleKind: model.TroubleOther}
		case !known:
			state = MachineState{Trouble: "nothing is known of its BMC", TroubleKind: model.TroubleOther}
		}
		if state.Trouble != "" && state.Fetch == (Fetched{}) { // what was known does not end with it
			state.Fetch = before[name].Fetch
		}
		state.Phase = phases[name]
		observed.Machines[name] = state
	}
	return nil
}
