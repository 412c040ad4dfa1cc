package hub

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
)

// deploymentSpec is the spec of a ClusterDeployment.
type deploymentSpec struct {
	hive.ClusterDeploymentSpec `json:",inline"`
}

// installed tells whether the cluster is recorded as installed.
func (s *deploymentSpec) installed() bool { return s.Installed != nil && *s.Installed }

// installSpec is the spec of an AgentClusterInstall.
type installSpec struct {
	hive.AgentClusterInstallSpec `json:",inline"`
}

// readSpec reads the spec of an object.
func readSpec[T any](o *object) (T, error) {
	var spec T
	fields, _, err := unstructured.NestedMap(o.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("read the spec of %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return spec, nil
}

// wanted are the hosts that are asked for.
func (s *installSpec) wanted() counts {
	r := s.ProvisionRequirements
	return counts{r.ControlPlaneAgents, r.ArbiterAgents, r.WorkerAgents}
}

// single tells whether a single node is asked for.
func (s *installSpec) single() bool { return s.wanted() == counts{masters: 1} }

// platforms are the hub's and the service's words for a platform. An empty word
// is left to the service.
func platforms() map[string]string {
	return map[string]string{
		hive.PlatformBareMetal: "baremetal", hive.PlatformNone: "none", hive.PlatformVSphere: "vsphere",
		hive.PlatformNutanix: "nutanix", hive.PlatformExternal: "external",
	}
}

// platformWord is the hub's word for a platform of the service.
func platformWord(rest string) string {
	for word, other := range platforms() {
		if other == rest {
			return word
		}
	}
	return ""
}

// vips are the virtual addresses: those of the list, or else the single one.
func vips(list []string, one string) []string {
	if len(list) == 0 && one != "" {
		return []string{one}
	}
	return list
}

// manifests are the names of the ConfigMaps with manifests.
func (s *installSpec) manifests() []string {
	var names []string
	for _, ref := range s.ManifestsConfigMapRefs {
		names = append(names, ref.Name)
	}
	if len(names) == 0 && s.ManifestsConfigMapRef != nil {
		names = append(names, s.ManifestsConfigMapRef.Name)
	}
	return names
}

// hyperthreading is the service's word for the roles that it is switched on for. Once
// one pool is named, those that are not have it switched off. A pool that says nothing
// of it has it: the API server fills that in.
func (s *installSpec) hyperthreading() string {
	worker := slices.IndexFunc(s.Compute, func(p hive.MachinePool) bool { return p.Name == "worker" })
	if s.ControlPlane == nil && s.Arbiter == nil && worker < 0 {
		return "all"
	}
	var on []string
	add := func(pool *hive.MachinePool, word string) {
		if pool != nil && pool.Hyperthreading != "Disabled" {
			on = append(on, word)
		}
	}
	add(s.ControlPlane, "masters")
	add(s.Arbiter, "arbiters")
	if worker >= 0 {
		add(&s.Compute[worker], "workers")
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ",")
}

// referred is the ClusterDeployment that a reference names.
func referred(ref *hubapi.Reference) key { return key{kindCluster, ref.Namespace, ref.Name} }
