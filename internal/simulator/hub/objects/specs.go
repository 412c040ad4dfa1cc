package objects

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
)

// DeploymentSpec is the spec of a ClusterDeployment.
type DeploymentSpec struct {
	hive.ClusterDeploymentSpec `json:",inline"`
}

// IsInstalled tells whether the cluster is recorded as installed.
func (s *DeploymentSpec) IsInstalled() bool { return s.Installed != nil && *s.Installed }

// InstallSpec is the spec of an AgentClusterInstall.
type InstallSpec struct {
	hive.AgentClusterInstallSpec `json:",inline"`
}

// Spec reads the spec of an object.
func Spec[T any](o *Object) (T, error) {
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

// Wanted are the hosts that are asked for.
func (s *InstallSpec) Wanted() Counts {
	r := s.ProvisionRequirements
	return Counts{r.ControlPlaneAgents, r.ArbiterAgents, r.WorkerAgents}
}

// Single tells whether a single node is asked for.
func (s *InstallSpec) Single() bool { return s.Wanted() == Counts{Masters: 1} }

// Platforms are the hub's and the service's words for a platform. An empty word is left to the service.
func Platforms() map[string]string {
	return map[string]string{
		hive.PlatformBareMetal: "baremetal", hive.PlatformNone: "none", hive.PlatformVSphere: "vsphere",
		hive.PlatformNutanix: "nutanix", hive.PlatformExternal: "external",
	}
}

// PlatformWord is the hub's word for a platform of the service.
func PlatformWord(rest string) string {
	for word, other := range Platforms() {
		if other == rest {
			return word
		}
	}
	return ""
}

// Vips are the virtual addresses: those of the list, or else the single one.
func Vips(list []string, one string) []string {
	if len(list) == 0 && one != "" {
		return []string{one}
	}
	return list
}

// Manifests are the names of the ConfigMaps with manifests.
func (s *InstallSpec) Manifests() []string {
	var names []string
	for _, ref := range s.ManifestsConfigMapRefs {
		names = append(names, ref.Name)
	}
	if len(names) == 0 && s.ManifestsConfigMapRef != nil {
		names = append(names, s.ManifestsConfigMapRef.Name)
	}
	return names
}

// Hyperthreading is the service's word for the roles that it is switched on for. Once
// one pool is named, those that are not have it switched off. A pool that says nothing
// of it has it: the API server fills that in.
func (s *InstallSpec) Hyperthreading() string {
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

// AgentSpec is the spec of an Agent.
type AgentSpec struct {
	agentinstall.AgentSpec `json:",inline"`
}

// Counts are numbers of hosts by role.
type Counts struct{ Masters, Arbiters, Workers int }

// Sum is how many hosts that are together.
func (c Counts) Sum() int { return c.Masters + c.Arbiters + c.Workers }

// InfraEnvSpec is the spec of an InfraEnv.
type InfraEnvSpec struct {
	agentinstall.InfraEnvSpec `json:",inline"`
}
