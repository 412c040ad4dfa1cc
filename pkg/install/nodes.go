package install

import (
	"context"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Nodes is the plane of the installed cluster itself: its Nodes, and the requests of their
// kubelets for certificates. It is asked only where hosts are added. Its methods are safe for
// concurrent use.
type Nodes interface {
	// Observe reads the installed cluster. If it does not answer, or refuses the credentials, that is reported in
	// Spoke.Trouble; an error is that of a context that ended.
	Observe(ctx context.Context, desired *model.Desired, observed *model.Observed) (*model.Spoke, error)
	// Act carries out an action of one of the nodes' kinds, and does not wait for what it
	// starts.
	Act(ctx context.Context, desired *model.Desired, observed *model.Observed, action model.Action) error
	// Changed is closed once something differs from what the last Observe returned, so that a decision may differ, too.
	Changed() <-chan struct{}
}

// observeNodes adds to an observation what the next decision needs of the installed cluster.
func (client *Client) observeNodes(ctx context.Context, desired *model.Desired, observed *model.Observed) error {
	if client.nodes == nil || observed.Stale != "" || !decide.AsksSpoke(desired, observed) {
		return nil
	}
	if removal := desired.Options.Remove; removal != nil {
		own, nodes := *desired, *removal
		nodes.Nodes = decide.NodesToRemove(desired, observed)
		own.Options.Remove = &nodes
		desired = &own
	}
	spoke, err := client.nodes.Observe(ctx, desired, observed)
	if err != nil {
		return err
	}
	observed.Spoke = spoke
	return nil
}

// explainNodes looks at the installed cluster if hosts have been added to it. If the cluster cannot be read, that is a
// warning, and blocks no host.
func (client *Client) explainNodes(ctx context.Context, desired *model.Desired, observed *model.Observed) ([]model.Warning, error) {
	if client.nodes == nil || !nodeplan.AnyNew(observed) {
		return nil, nil
	}
	before := desired.Options.AddNodes
	desired.Options.AddNodes = true
	if err := client.observeNodes(ctx, desired, observed); err != nil {
		return nil, err
	}
	fault := decide.SpokeFault(opLook, desired, observed)
	if fault == nil {
		return nil, nil
	}
	observed.Spoke, desired.Options.AddNodes = nil, before
	return []model.Warning{{
		Key: "spoke/reached", Scope: model.ScopeCluster, Reason: "ClusterUnseen",
		Message: "the nodes themselves cannot be read: " + fault.Error(), Next: model.FaultOf(fault).Next,
	}}, nil
}

// await pauses until something changes, and reports whether that was in the installed cluster alone, or a person's
// answer: then only the cluster is observed again. Changes come in bursts, and what came together is observed together.
func (r *run) await(ctx context.Context, pause time.Duration) (glance bool, err error) {
	service, nodes := r.turns.Changed()
	began := r.clock.Now()
	switch which, err := r.turns.Await(ctx, pause, service, nodes, r.answer()); which {
	case 0:
		left := pause - r.clock.Now().Sub(began)
		return false, r.clock.Sleep(ctx, min(left, max(burst, lookShare*r.took)))
	case 1, 2:
		return true, r.clock.Sleep(ctx, burst)
	default:
		return false, err
	}
}

// burst is the shortest time for which changes are gathered. For a service that reports changes, the time is longer the
// longer a look takes, so that looking takes a small share of the time.
const (
	burst     = 100 * time.Millisecond
	lookShare = 10
)

// glance is an observation with what the installed cluster shows now. The part of the service is as it was before:
// nothing has been written since, otherwise all would be observed.
func (r *run) glance(ctx context.Context, prior *model.Observed) (*model.Observed, error) {
	now := *prior
	now.At = r.now()
	if err := r.observeNodes(ctx, r.desired, &now); err != nil {
		return nil, err
	}
	return &now, nil
}
