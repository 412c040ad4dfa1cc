package inplaceupdate

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// answer is how far an update of a Machine is. Where it is neither done nor failed, it goes on.
type answer struct {
	done, failed bool
	text         string
}

func updateRunning(format string, arguments ...any) answer {
	return answer{text: fmt.Sprintf(format, arguments...)}
}

func updateDone(format string, arguments ...any) answer {
	return answer{done: true, text: fmt.Sprintf(format, arguments...)}
}

func updateFailed(format string, arguments ...any) answer {
	return answer{failed: true, text: fmt.Sprintf(format, arguments...)}
}

// progress is how far a Machine is on its way to its version: what else of it may change, Cluster API
// applies by itself.
func (e *Extension) progress(ctx context.Context, desired *clusterv1.Machine) answer {
	if desired.Spec.Version == "" {
		return updateDone("Machine %s has no version to come to", desired.Name)
	}
	// The hook may be called by others than Cluster API: only what the live Machine says is acted on, and what does not
	// exist is answered as what is not being updated. Cluster API asks about no Machine that is gone.
	machine := &clusterv1.Machine{}
	switch err := e.Management.Get(ctx, client.ObjectKeyFromObject(desired), machine); {
	case err != nil && !apierrors.IsNotFound(err):
		return updateRunning("Machine %s cannot be read: %v", desired.Name, err)
	case err != nil || !updatesTo(machine, desired.Spec.Version):
		return updateRunning("No update of Machine %s to %s is in progress", desired.Name, desired.Spec.Version)
	case machine.Status.NodeRef.Name == "":
		return updateRunning("Machine %s has no node yet", machine.Name)
	}
	cluster := types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}
	want, err := e.want(ctx, cluster)
	if err != nil {
		return updateRunning("What Cluster %s is to run is not known: %v", cluster.Name, err)
	}
	s, err := e.look(ctx, cluster)
	if err != nil {
		return updateRunning("Cluster %s does not answer, as it does not for a while in an upgrade of its control plane: %v", cluster.Name, err)
	}
	return judge(s, &want, machine.Status.NodeRef.Name, machine.Spec.Version)
}

// updatesTo reports whether a Machine is one of ours that Cluster API has begun to update in place to a version.
func updatesTo(machine *clusterv1.Machine, version string) bool {
	_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	config := machine.Spec.Bootstrap.ConfigRef
	return updating && machine.Spec.Version == version && config.APIGroup == bootstrapGroup && config.Kind == bootstrapKind
}

// What the machine config operator says of a node.
const (
	configWorking  = "Working"
	configDegraded = "Degraded"
)

// judge says how far a node is on its way to a version of Kubernetes.
func judge(s *upgrade.State, want *upgrade.Want, name, version string) answer {
	node := s.Node(name)
	if node == nil {
		return updateRunning("The cluster has no node %s", name)
	}
	config := &node.Config
	switch {
	case versions.AtLeast(node.Version, version) && config.State != configWorking:
		return updateDone("Node %s runs Kubernetes %s", name, node.Version)
	case config.State == configDegraded:
		return updateFailed("Node %s cannot be updated: %s", name, config.Reason)
	case config.State == configWorking:
		return updateRunning("Node %s is being updated to config %s", name, config.Desired)
	}
	d := s.Decide(want)
	switch pool := s.PoolOf(node); {
	case d.Verdict == model.VerdictFailed:
		return updateFailed("%s", d.Message)
	case d.Verdict == model.VerdictWaiting:
		return updateRunning("Node %s runs Kubernetes %s. %s", name, node.Version, d.Message)
	case d.Verdict != model.VerdictInstalled:
		return updateRunning("Node %s runs Kubernetes %s, and the upgrade to %s has not begun: the conditions of the %s say why", name,
			node.Version,
			want.Version, controlPlaneKind)
	case pool != nil && pool.Paused && !s.Updated(node):
		return updateDone("The cluster runs %s. Node %s stays at Kubernetes %s while MachineConfigPool %s is paused", want.Version, name,
			node.Version, pool.Name)
	case s.Updated(node):
		return updateDone("The cluster runs %s, and node %s Kubernetes %s", want.Version, name, node.Version)
	}
	return updateRunning("The cluster runs %s, and node %s is not updated yet", want.Version, name)
}

// want is what a Cluster is to run, as its control plane says.
func (e *Extension) want(ctx context.Context, key types.NamespacedName) (upgrade.Want, error) {
	var want upgrade.Want
	cluster := &clusterv1.Cluster{}
	if err := e.Management.Get(ctx, key, cluster); err != nil {
		return want, err
	}
	ref := cluster.Spec.ControlPlaneRef
	if ref.APIGroup != controlPlaneGroup || ref.Kind != controlPlaneKind {
		return want, fmt.Errorf("its control plane is no %s", controlPlaneKind)
	}
	plane, err := external.GetObjectFromContractVersionedRef(ctx, e.Management, ref, key.Namespace)
	if err != nil {
		return want, err
	}
	want.Version, _, _ = unstructured.NestedString(plane.Object, "spec", "distributionVersion")
	want.Image, _, _ = unstructured.NestedString(plane.Object, "spec", "config", "releaseImage")
	return want, nil
}

// looks are what was seen last of workload clusters.
type looks struct {
	mu sync.Mutex
	of map[types.NamespacedName]*look
}

// look is what was seen of one of them.
type look struct {
	mu    sync.Mutex // held while it is read
	at    time.Time  // when it had been
	state *upgrade.State
	err   error // why there is no state; both are nil before it was read
}

// look is the state of a workload cluster. If it does not answer, all callers that ask meanwhile share one wait: for
// Cluster API an answer that comes too late is a failure.
func (e *Extension) look(ctx context.Context, cluster types.NamespacedName) (*upgrade.State, error) {
	l := e.looks.get(cluster, e.Clock.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.state != nil || l.err != nil) && e.Clock.Now().Sub(l.at) < freshFor {
		return l.state, l.err
	}
	l.state, l.err = e.read(ctx, cluster)
	l.at = e.Clock.Now()
	return l.state, l.err
}

// read reads how a workload cluster stands, to its end: others than the caller, which may hang up, are answered by it too.
func (e *Extension) read(ctx context.Context, cluster types.NamespacedName) (*upgrade.State, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workloadTimeout)
	defer cancel()
	reader, err := e.Workload(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return upgrade.Read(ctx, reader, e.Clock.Now(), &upgrade.Want{}) // the control plane reports what blocks it
}

// forgottenAfter is when what was seen of a cluster goes.
const forgottenAfter = 10 * time.Minute

func (l *looks) get(cluster types.NamespacedName, now time.Time) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.of[cluster]
	if found != nil {
		return found
	}
	for key, other := range l.of {
		if other.mu.TryLock() {
			if now.Sub(other.at) > forgottenAfter {
				delete(l.of, key)
			}
			other.mu.Unlock()
		}
	}
	if l.of == nil {
		l.of = map[types.NamespacedName]*look{}
	}
	found = &look{at: now}
	l.of[cluster] = found
	return found
}
