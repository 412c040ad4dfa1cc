package hub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// ErrNoClusterAPI is in the error if the Machines of a hub are asked for that has none.
var ErrNoClusterAPI = errors.New("it does not serve machines.cluster.x-k8s.io: it is no management cluster of Cluster API")

// Machines are the Machines of Cluster API that the user may see, by cluster and name, with their hosts. No observation
// reads them: they are for callers that ask what keeps one from becoming a node.
func (p *Plane) Machines(ctx context.Context) ([]machinecause.Machine, error) {
	read := &survey{api: p.api, found: map[machinecause.Ref]map[string]*unstructured.Unstructured{}}
	all, err := read.list(ctx, hubapi.ClusterAPI, "Machine")
	if err != nil {
		return nil, err
	}
	if all == nil {
		return nil, &model.Fault{
			Code: model.CodeUsage, Op: "list Machines", On: p.api.Host, Permanent: true, Err: ErrNoClusterAPI,
			Next: "check --kubeconfig and --context; hosts are asked for by {why host NAME} and {get hosts}",
		}
	}
	if err := read.referred(ctx, all); err != nil {
		return nil, err
	}
	hosts, err := p.machineHosts(ctx, read)
	if err != nil {
		return nil, err
	}
	out := make([]machinecause.Machine, 0, len(all))
	for _, u := range all {
		out = append(out, machinecause.Of(u, read.find, hosts))
	}
	slices.SortFunc(out, func(a, b machinecause.Machine) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// survey is what was read of Cluster API's objects: by kind, without a name, and by NAMESPACE/NAME. A kind that could
// not be read is not there.
type survey struct {
	api   *kube.Client
	found map[machinecause.Ref]map[string]*unstructured.Unstructured
}

// list reads the objects of a kind, nil where it is not served.
func (r *survey) list(ctx context.Context, group, kind string) (map[string]*unstructured.Unstructured, error) {
	key := machinecause.Ref{Group: group, Kind: kind}
	if known, read := r.found[key]; read {
		return known, nil
	}
	resource, err := r.api.Discover(ctx, schema.GroupKind{Group: group, Kind: kind})
	if err != nil || resource.Empty() {
		return nil, err
	}
	list, err := r.api.ListOf(ctx, resource, r.api.Namespace)
	if err != nil {
		return nil, err
	}
	r.found[key] = map[string]*unstructured.Unstructured{}
	for i := range list {
		r.found[key][kube.ID(list[i].GetNamespace(), list[i].GetName())] = &list[i]
	}
	return r.found[key], nil
}

// referred reads what Machines and their Clusters refer to. What the user may not read is left out: the Machine itself
// repeats the most of it.
func (r *survey) referred(ctx context.Context, all map[string]*unstructured.Unstructured) error {
	clusters, err := r.listAllowed(ctx, machinecause.Ref{Group: hubapi.ClusterAPI, Kind: "Cluster"})
	if err != nil {
		return err
	}
	kinds := map[machinecause.Ref]bool{}
	for _, objects := range []map[string]*unstructured.Unstructured{all, clusters} {
		for _, u := range objects {
			for _, ref := range machinecause.Refs(u) {
				kinds[machinecause.Ref{Group: ref.Group, Kind: ref.Kind}] = true
			}
		}
	}
	for kind := range kinds {
		if _, err := r.listAllowed(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

func (r *survey) listAllowed(ctx context.Context, ref machinecause.Ref) (map[string]*unstructured.Unstructured, error) {
	list, err := r.list(ctx, ref.Group, ref.Kind)
	if kube.NotAllowed(err) {
		return nil, nil
	}
	return list, err
}

func (r *survey) find(namespace string, ref machinecause.Ref) (*unstructured.Unstructured, bool) {
	list, read := r.found[machinecause.Ref{Group: ref.Group, Kind: ref.Kind}]
	return list[kube.ID(namespace, ref.Name)], read
}

// machineHosts are the hosts that may be Machines': those of the namespace, and of those that AgentMachines have theirs
// from.
func (p *Plane) machineHosts(ctx context.Context, read *survey) ([]machinecause.Host, error) {
	namespaces := []string{p.api.Namespace}
	for _, list := range read.found {
		for _, u := range list {
			if from, _, _ := unstructured.NestedString(u.Object, "status", "agentRef", "namespace"); from != "" && p.api.Namespace != "" &&
				!slices.Contains(namespaces, from) {
				namespaces = append(namespaces, from)
			}
		}
	}
	var hosts []machinecause.Host
	for i, namespace := range namespaces {
		found, err := p.api.ListIn(ctx, namespace, kube.Agents)
		if i > 0 && kube.NotAllowed(err) {
			continue // the namespace belongs to another user
		}
		if err != nil {
			return nil, err
		}
		for _, at := range kube.Sorted(found) {
			for _, u := range at.Store(kube.Agents).All() {
				host, err := ReadAgent(u, p.api.Now())
				if err != nil {
					return nil, err
				}
				hosts = append(hosts, machinecause.Host{Host: host, Namespace: u.GetNamespace(), AgentMachine: agentMachineOf(u),
					BareMetalHost: bareMetalHostOf(u)})
			}
		}
	}
	return hosts, nil
}

// agentMachineOf is the AgentMachine that an Agent is reserved for, NAMESPACE/NAME, "" for none.
func agentMachineOf(agent *unstructured.Unstructured) string {
	namespace, name, reserved := hubapi.AgentMachineOf(agent.GetLabels(), agent.GetAnnotations())
	if !reserved {
		return ""
	}
	return kube.ID(namespace, name)
}

func bareMetalHostOf(agent *unstructured.Unstructured) string {
	name := kube.Label(agent, hubapi.LabelAgentBMH)
	if name == "" {
		return ""
	}
	return kube.ID(agent.GetNamespace(), name)
}
