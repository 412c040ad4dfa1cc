package agent

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// wishesOf are what the spec of an AgentMachine asks of a host.
func wishesOf(from *agentv1.AgentMachineSpec) (pool.HostRequirements, error) {
	w := pool.HostRequirements{Arch: clustersettings.CanonicalWord[spec.Arch](from.CPUArchitecture), CPUs: int(ptr.Deref(from.MinCPUs, 0)),
		Role: spec.Role(from.Role)}
	if from.AgentLabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(from.AgentLabelSelector)
		if err != nil {
			return w, fmt.Errorf("spec.agentLabelSelector: %w", err)
		}
		w.Selector = selector
	}
	if from.MinMemory != nil {
		w.MemoryBytes = from.MinMemory.Value()
	}
	if from.MinDisk != nil {
		w.DiskBytes = from.MinDisk.Value()
	}
	for _, c := range from.SpreadConstraints {
		w.Spread = append(w.Spread, pool.Spread{Key: c.TopologyKey, MaxSkew: int(ptr.Deref(c.MaxSkew, 1)),
			Strict: c.WhenUnsatisfiable == corev1.DoNotSchedule})
	}
	return w, nil
}

// demands is what the cluster asks of the machine's host. It is clusterloop.ErrNotYet where that is not known yet.
func (s *scope) demands(ctx context.Context) (clusterspec.Demands, error) {
	if !isAssisted(s.cluster) {
		return clusterspec.Demands{}, nil
	}
	return s.Source.Demands(ctx, s.key, s.machine.Name)
}

// wishes are what the machine asks of its host, with what follows from its Machine and its cluster.
func (s *scope) wishes(asked clusterspec.Demands) (pool.HostRequirements, error) {
	w, err := wishesOf(&s.object.Spec)
	if err != nil {
		return w, err
	}
	if w.Role == "" {
		w.Role = roleOf(s.machine)
	}
	w.Domain = s.machine.Spec.FailureDomain
	w.Arch = cmp.Or(w.Arch, asked.Arch)
	w.Demand(asked.SingleNode)
	return w, nil
}

func roleOf(machine *clusterv1.Machine) spec.Role {
	switch {
	case machines.IsControlPlane(machine):
		return spec.ControlPlane
	case machines.IsArbiter(machine):
		return spec.Arbiter
	}
	return spec.Worker
}

// alike are the hosts of the machines that this one is spread among: those of one control plane, or
// of one MachineDeployment or MachineSet.
func (s *scope) alike(ctx context.Context, hosts []pool.Host) ([]pool.Host, error) {
	same := client.MatchingLabels{clusterv1.ClusterNameLabel: s.key.Name}
	switch labels := s.machine.Labels; {
	case machines.IsControlPlane(s.machine):
		same[clusterv1.MachineControlPlaneLabel] = labels[clusterv1.MachineControlPlaneLabel]
	case labels[clusterv1.MachineDeploymentNameLabel] != "":
		same[clusterv1.MachineDeploymentNameLabel] = labels[clusterv1.MachineDeploymentNameLabel]
	case labels[clusterv1.MachineSetNameLabel] != "":
		same[clusterv1.MachineSetNameLabel] = labels[clusterv1.MachineSetNameLabel]
	default:
		return nil, nil
	}
	list := &clusterv1.MachineList{}
	if err := s.Client.List(ctx, list, client.InNamespace(s.object.Namespace), same); err != nil {
		return nil, fmt.Errorf("list the Machines beside %s: %w", s.machine.Name, err)
	}
	others, err := s.others(ctx)
	if err != nil {
		return nil, err
	}
	var all []pool.Host
	for i := range list.Items {
		ref := list.Items[i].Spec.InfrastructureRef
		for j := range others {
			if m := &others[j]; m.Namespace == s.object.Namespace && ref.Kind == agentv1.MachineKind && m.Name == ref.Name {
				if h := pool.Find(hosts, hostOf(m)); h != nil {
					all = append(all, *h)
				}
			}
		}
	}
	return all, nil
}

// domainsOf are the failure domains of a cluster.
func domainsOf(cluster *agentv1.AgentCluster) []pool.Domain {
	if cluster == nil {
		return nil
	}
	domains := make([]pool.Domain, 0, len(cluster.Spec.FailureDomains))
	for i := range cluster.Spec.FailureDomains {
		of := &cluster.Spec.FailureDomains[i]
		selector, err := metav1.LabelSelectorAsSelector(&of.AgentLabelSelector)
		if err != nil || selector.Empty() {
			selector = labels.Nothing() // the webhook refuses the one, and an empty one selects none
		}
		domains = append(domains, pool.Domain{Name: of.Name, Closed: !ptr.Deref(of.ControlPlane, true), Selector: selector})
	}
	return domains
}
