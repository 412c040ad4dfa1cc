// Package metal3 plays what provisions bare metal on a management cluster of Cluster API: its
// provider Metal3 (CAPM3) and the Bare Metal Operator, with the machines behind them. They
// speak to the API server and to nothing else; the machines boot what they were given, and
// find there the service that they call.
//
// What each part is taken from is in EVIDENCE.md.
package metal3

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
)

// Config says on which management cluster, with which machines.
type Config struct {
	// Kube is the management cluster's API server, with the kinds of Cluster API and of Metal3.
	Kube *rest.Config
	// Namespace limits the operators to one namespace; "" is all of them.
	Namespace string
	// HostsOnly leaves CAPM3 out, for a hub without the kinds of Cluster API.
	HostsOnly bool
	// Hardware are the machines of its BareMetalHosts.
	Hardware *Hardware
	// Clock is the time of the simulation.
	Clock clock.Clock
	// Logf takes a line about what happens; nil drops them. It never gets a secret.
	Logf func(format string, args ...any)
}

type operator struct {
	*store

	config Config
	clock  clock.Clock
	core   kubernetes.Interface
	logf   func(string, ...any)

	mu      sync.Mutex
	since   map[string]time.Time // by host and state, when it began
	remotes map[string]remote    // clients of workload clusters, by namespace and name

	running sync.WaitGroup
}

const side = 4

// Run provisions until ctx ends, and returns its cause.
func Run(ctx context.Context, config Config) error {
	kube := rest.CopyConfig(config.Kube)
	kube.QPS, kube.WarningHandler = -1, rest.NoWarnings{}
	o := &operator{config: config, clock: config.Clock, logf: config.Logf, since: map[string]time.Time{}, remotes: map[string]remote{}}
	if o.logf == nil {
		o.logf = func(string, ...any) {}
	}
	var err error
	if o.core, err = kubernetes.NewForConfig(kube); err != nil {
		return fmt.Errorf("provision machines: make a client: %w", err)
	}
	if o.store, err = newStore(kube); err != nil {
		return fmt.Errorf("provision machines: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer o.running.Wait()
	defer stop()
	defer context.AfterFunc(ctx, o.queue.ShutDown)()
	if err := o.open(ctx, o); err != nil {
		return fmt.Errorf("provision machines: %w", err)
	}
	for range side {
		o.running.Go(func() {
			for o.next(ctx) {
				continue
			}
		})
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (o *operator) next(ctx context.Context) bool {
	k, over := o.queue.Get()
	if over {
		return false
	}
	defer o.queue.Done(k)
	after, err := o.timely(ctx, k)
	switch {
	case err == nil:
		o.queue.Forget(k)
		if after > 0 {
			o.queue.AddAfter(k, o.clock.Wall(after))
		}
	case ctx.Err() != nil:
	default:
		if !expected(err) {
			o.logf("%s: %v", k, err)
		}
		o.queue.AddRateLimited(k)
	}
	return true
}

// timely looks at an object, which takes next to no time on the simulation's clock, and gives
// when it is to be looked at again; 0 is when something changes.
func (o *operator) timely(ctx context.Context, k key) (time.Duration, error) {
	defer clock.Freeze(o.clock)()
	switch k.resource {
	case hosts:
		return o.reconcileHost(ctx, k)
	case machines:
		return o.reconcileMachine(ctx, k)
	case clusters:
		return o.reconcileCluster(ctx, k)
	}
	return 0, nil
}

// spread has looked at what depends on an object.
func (o *operator) spread(k key, u *object) {
	look := func(resource, name string) {
		if name != "" {
			o.queue.Add(key{resource, k.namespace, name})
		}
	}
	switch k.resource {
	case machines, clusters:
		o.queue.Add(k)
	case hosts:
		o.queue.Add(k)
		if apiobject.Text(u, "spec", "consumerRef", "kind") == kindMachine {
			look(machines, apiobject.Text(u, "spec", "consumerRef", "name"))
		}
	case coreMachine:
		if apiobject.Text(u, "spec", "infrastructureRef", "kind") == kindMachine {
			look(machines, apiobject.Text(u, "spec", "infrastructureRef", "name"))
		}
		if cluster := o.get(key{coreCluster, k.namespace, apiobject.Text(u, "spec", "clusterName")}); cluster != nil &&
			u.GetDeletionTimestamp() != nil {
			look(clusters, apiobject.Text(cluster, "spec", "infrastructureRef", "name")) // which waits for the last
		}
	case coreCluster:
		look(clusters, apiobject.Text(u, "spec", "infrastructureRef", "name"))
		for _, m := range o.list(machines, k.namespace) {
			if m.GetLabels()[labelCluster] == k.name {
				look(machines, m.GetName())
			}
		}
	}
}

// begun is when a state of an object was first seen; what names the state, and others are forgotten.
func (o *operator) begun(of, what string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := of + " " + what
	if _, known := o.since[name]; !known {
		for other := range o.since {
			if len(other) > len(of) && other[:len(of)+1] == of+" " {
				delete(o.since, other)
			}
		}
		o.since[name] = o.clock.Now()
	}
	return o.since[name]
}

const (
	labelCluster    = "cluster.x-k8s.io/cluster-name"
	annotationPause = "cluster.x-k8s.io/paused"
)

func ownerOf(u *object, group, kind string) string {
	for _, owner := range u.GetOwnerReferences() {
		if owner.Kind == kind && len(owner.APIVersion) > len(group) && owner.APIVersion[:len(group)+1] == group+"/" {
			return owner.Name
		}
	}
	return ""
}

type condition struct{ kind, status, reason, message string }

const (
	yes = "True"
	no  = "False"
)

// timestamp is the present moment for those who read it beside what the API server and its other
// controllers write: their time is no simulation's.
func timestamp() string { return clock.Real().Now().UTC().Format(time.RFC3339) }

// setConditions puts conditions into a status, with the times of their last changes.
func setConditions(u *object, wanted ...condition) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	now := timestamp()
	for _, c := range wanted {
		list = apiobject.SetCondition(list, map[string]any{
			"type": c.kind, "status": c.status, "reason": c.reason, "message": c.message, "lastTransitionTime": now,
		})
	}
	set(u, list, "status", "conditions")
}
