package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/install/hub"
)

// HubPool is the Agents of a hub. An Agent carries the name of the AgentMachine that has it, so that other clients that
// take Agents leave it alone, and so that of two writes at the same time one is refused.
type HubPool struct {
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Clock says since when a spec is refused.
	Clock clock.Clock
	// Namespace is where Agents are taken from; "" for the namespace of each AgentMachine.
	Namespace string
}

var _ Pool = (*HubPool)(nil)

// HostKind is what a host is called.
func (p *HubPool) HostKind() string { return hubapi.KindAgent }

// RecordsReservation reports that Agents record the AgentMachine that they are reserved for.
func (p *HubPool) RecordsReservation() bool { return true }

// HostNamespace is the namespace that Agents are taken from.
func (p *HubPool) HostNamespace(own string) string {
	if p.Namespace != "" {
		return p.Namespace
	}
	return own
}

// Opens reports whether an Agent is in the namespace that Agents are taken from.
func (p *HubPool) Opens(namespace string, host types.NamespacedName) bool {
	return host.Namespace == p.HostNamespace(namespace)
}

// newAgent is an empty Agent, to be read into.
func newAgent() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgent))
	return u
}

func newAgents() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	gvk := hubapi.GroupVersionKind(hubapi.KindAgent)
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	return list
}

// hostOf is an Agent as a host.
func (p *HubPool) hostOf(u *unstructured.Unstructured) (pool.Host, error) {
	host, err := hub.ReadAgent(withoutChecks(u), p.Clock.Now())
	if err != nil {
		return pool.Host{}, err
	}
	return pool.OfAgent(u, &host)
}

// withoutChecks is an Agent without the results of its checks, which are long and which a pool does not ask for. It shares all
// else with u.
func withoutChecks(u *unstructured.Unstructured) *unstructured.Unstructured {
	status, is := u.Object["status"].(map[string]any)
	if !is || status["validationsInfo"] == nil {
		return u
	}
	shown, said := maps.Clone(u.Object), maps.Clone(status)
	delete(said, "validationsInfo")
	shown["status"] = said
	return &unstructured.Unstructured{Object: shown}
}

// Hosts are the Agents of the namespace that is watched for them, of the InfraEnvs that the
// AgentCluster names.
func (p *HubPool) Hosts(ctx context.Context, namespace string, cluster *agentv1.AgentCluster) ([]pool.Host, error) {
	list := newAgents()
	if err := p.Client.List(ctx, list, client.InNamespace(p.HostNamespace(namespace)), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Agents: %w", err)
	}
	hosts := make([]pool.Host, 0, len(list.Items))
	for i := range list.Items {
		if !isOfPool(list.Items[i].GetLabels()[hubapi.LabelAgentInfraEnv], cluster) {
			continue
		}
		host, err := p.hostOf(&list.Items[i])
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	pool.Sort(hosts)
	return hosts, nil
}

// isOfPool reports whether an InfraEnv is one of those that an AgentCluster names, if it names any.
func isOfPool(infraEnv string, cluster *agentv1.AgentCluster) bool {
	return cluster == nil || len(cluster.Spec.InfraEnvRefs) == 0 ||
		slices.ContainsFunc(cluster.Spec.InfraEnvRefs, func(r agentv1.InfraEnvReference) bool { return r.Name == infraEnv })
}

// Host is an Agent as it is cached. One of another namespace than Agents are taken from is no host.
func (p *HubPool) Host(ctx context.Context, namespace string, host types.NamespacedName, _ string) (*pool.Host, error) {
	return p.get(ctx, p.Client, namespace, host)
}

// UncachedHost is an Agent as it is at this moment.
func (p *HubPool) UncachedHost(ctx context.Context, namespace string, host types.NamespacedName, _ string) (*pool.Host, error) {
	return p.get(ctx, p.Live, namespace, host)
}

func (p *HubPool) get(ctx context.Context, reader client.Reader, namespace string, name types.NamespacedName) (*pool.Host, error) {
	if name.Namespace != p.HostNamespace(namespace) {
		return nil, nil
	}
	u, err := read(ctx, reader, name)
	if u == nil || err != nil {
		return nil, err
	}
	host, err := p.hostOf(u)
	return &host, err
}

// read is an Agent, nil where there is none.
func read(ctx context.Context, reader client.Reader, name types.NamespacedName) (*unstructured.Unstructured, error) {
	u := newAgent()
	err := reader.Get(ctx, name, u)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Agent %s: %w", name.Name, err)
	}
	return u, nil
}

// Reserve writes the AgentMachine's name onto an Agent that carries none, and is not bound to another cluster.
func (p *HubPool) Reserve(ctx context.Context, host, machine types.NamespacedName, isOurs func(*pool.Host) bool) error {
	found, err := p.change(ctx, host, func(u *unstructured.Unstructured, h *pool.Host) error {
		if h.IsOwnedBy(machine) {
			return nil
		}
		if h.Reserved || h.Deleting || h.Cluster != "" && !isOurs(h) {
			return errTaken
		}
		putOwner(u, machine)
		return nil
	})
	if err == nil && !found {
		return errTaken
	}
	return err
}

// putOwner writes an AgentMachine's name onto an Agent.
func putOwner(u *unstructured.Unstructured, machine types.NamespacedName) {
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[agentv1.AgentMachineRefLabel] = pool.LabelOf(machine.Name)
	annotations[agentv1.AgentMachineRefNamespaceAnnotation] = machine.Namespace
	annotations[pool.AnnotationOwner] = machine.Namespace + "/" + machine.Name
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
}

// Release takes the AgentMachine's name off its Agent.
func (p *HubPool) Release(ctx context.Context, host, machine types.NamespacedName) error {
	_, err := p.change(ctx, host, func(u *unstructured.Unstructured, h *pool.Host) error {
		if !h.IsOwnedBy(machine) {
			return nil
		}
		labels, annotations := u.GetLabels(), u.GetAnnotations()
		delete(labels, agentv1.AgentMachineRefLabel)
		delete(annotations, agentv1.AgentMachineRefNamespaceAnnotation)
		delete(annotations, pool.AnnotationOwner)
		u.SetLabels(labels)
		u.SetAnnotations(annotations)
		return nil
	})
	return err
}

// attempts is how often a change of an Agent is tried again after a conflict: its service writes to it often.
const attempts = 5

// change changes an Agent as it is at this moment, and only that: what was decided holds for what is
// written. It is false where the Agent is gone.
func (p *HubPool) change(ctx context.Context, name types.NamespacedName,
	change func(*unstructured.Unstructured, *pool.Host) error) (bool, error) {
	var err error
	for range attempts {
		var now *unstructured.Unstructured
		if now, err = read(ctx, p.Live, name); now == nil || err != nil {
			return false, err
		}
		host, unreadable := p.hostOf(now)
		if unreadable != nil {
			return false, unreadable
		}
		changed := now.DeepCopy()
		if err := change(changed, &host); err != nil {
			return true, err
		}
		if equality.Semantic.DeepEqual(now.Object, changed.Object) {
			return true, nil
		}
		err = p.Client.Patch(ctx, changed, client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{}))
		switch {
		case err == nil:
			return true, nil
		case apierrors.IsNotFound(err):
			return false, nil
		case !apierrors.IsConflict(err):
			return false, fmt.Errorf("write Agent %s: %w", name.Name, err)
		}
	}
	return false, fmt.Errorf("write Agent %s, which changes too often: %w", name.Name, err)
}
