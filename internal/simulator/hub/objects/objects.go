// Package objects has the kinds and specs of the objects of a hub, as the simulated operators read and write them.
package objects

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
)

// Kind is a kind of object that the controllers watch or write, by its name in hubapi.
type Kind string

// Resource is where a kind is served.
func (k Kind) Resource() schema.GroupVersionResource { return hubapi.Resource(string(k)) }

// ClusterScoped tells kinds that have no namespace.
func (k Kind) ClusterScoped() bool { return k == hubapi.KindClusterImageSet }

// Watched lists the kinds that are watched; what is optional may have no definition on the server.
func Watched() []Kind {
	return []Kind{
		hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall, hubapi.KindInfraEnv, hubapi.KindNMStateConfig, hubapi.KindAgent,
		hubapi.KindAgentClassification, hubapi.KindClusterImageSet, hubapi.KindBareMetalHost, hubapi.KindSecret, hubapi.KindConfigMap,
	}
}

// Optional tells kinds that the API server may not serve.
func (k Kind) Optional() bool {
	return k == hubapi.KindBareMetalHost || k == hubapi.KindAgentClassification
}

// ToJSON encodes a value; "" where it cannot be encoded.
func ToJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// SameJSON reports whether two texts are the same JSON. What is no JSON is compared as it is.
func SameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return ToJSON(x) == ToJSON(y)
}

// AsPrinted gives an object the form in which the service writes it back. The
// service reads objects into types of its own and writes them whole: what its
// types leave out when it is zero is gone afterwards, even if a client had said
// so on purpose, and what they always print is there.
func AsPrinted(k Kind, o *apiobject.Object) *apiobject.Object {
	o = o.DeepCopy()
	spec, found, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil || !found {
		return o
	}
	switch k {
	case hubapi.KindAgentClusterInstall:
		DropZero(spec)
	case hubapi.KindClusterDeployment:
		if _, said := spec["installed"]; !said {
			spec["installed"] = false
		}
		control, _ := spec["controlPlaneConfig"].(map[string]any)
		if control == nil {
			control = map[string]any{}
		}
		if control["servingCertificates"] == nil {
			control["servingCertificates"] = map[string]any{}
		}
		spec["controlPlaneConfig"] = control
	case hubapi.KindInfraEnv:
		DropZero(spec)
		if spec["nmStateConfigLabelSelector"] == nil {
			spec["nmStateConfigLabelSelector"] = map[string]any{}
		}
	}
	o.Object["spec"] = spec
	return o
}

// DropZero removes what is zero from a spec; structures stay, and what has a meaning when zero.
func DropZero(fields map[string]any) {
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			if name != "agentLabels" && name != "matchLabels" { // a label without a value stays
				DropZero(v)
			}
		case []any:
			if len(v) == 0 {
				delete(fields, name)
			}
		case nil:
			delete(fields, name)
		default:
			always := []string{"clusterID", "infraID", "userManagedNetworking"} // hive.ClusterMetadata has both of the first
			if reflect.ValueOf(v).IsZero() && !slices.Contains(always, name) {
				delete(fields, name)
			}
		}
	}
}

// DeploymentSpec is the spec of a ClusterDeployment.
type DeploymentSpec struct {
	hive.ClusterDeploymentSpec `json:",inline"`
}

// IsInstalled reports whether the cluster is recorded as installed.
func (s *DeploymentSpec) IsInstalled() bool { return s.Installed != nil && *s.Installed }

// InstallSpec is the spec of an AgentClusterInstall.
type InstallSpec struct {
	hive.AgentClusterInstallSpec `json:",inline"`
}

// Spec reads the spec of an object.
func Spec[T any](o *apiobject.Object) (T, error) {
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

// Single reports whether a single node is asked for.
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

// Counts are numbers of hosts by role.
type Counts struct{ Masters, Arbiters, Workers int }

// Sum is how many hosts that are together.
func (c Counts) Sum() int { return c.Masters + c.Arbiters + c.Workers }
