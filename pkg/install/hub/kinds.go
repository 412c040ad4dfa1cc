package hub

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// kind is a kind of object as the API server serves it.
type kind struct {
	schema.GroupVersionResource
	name string // as it stands in an object: InfraEnv
	// with is what of a cluster's namespace is watched: a label selector, "" for
	// all objects of the kind.
	with string
}

func namespaces() kind { return kind{hubapi.Namespaces(), hubapi.KindNamespace, ""} }
func secrets() kind    { return kind{hubapi.Secrets(), hubapi.KindSecret, ""} }
func clusterDeployments() kind {
	return kind{hubapi.ClusterDeployments(), hubapi.KindClusterDeployment, ""}
}
func clusterImageSets() kind { return kind{hubapi.ClusterImageSets(), hubapi.KindClusterImageSet, ""} }
func agentInstalls() kind {
	return kind{hubapi.AgentClusterInstalls(), hubapi.KindAgentClusterInstall, ""}
}
func infraEnvs() kind      { return kind{hubapi.InfraEnvs(), hubapi.KindInfraEnv, ""} }
func nmStateConfigs() kind { return kind{hubapi.NMStateConfigs(), hubapi.KindNMStateConfig, ""} }
func agents() kind         { return kind{hubapi.Agents(), hubapi.KindAgent, ""} }
func bareMetalHosts() kind { return kind{hubapi.BareMetalHosts(), hubapi.KindBareMetalHost, ""} }

func agentClassifications() kind {
	return kind{hubapi.AgentClassifications(), hubapi.KindAgentClassification, ""}
}

// configMaps are those of oaictl only: a namespace has others that are nobody's
// business here.
func configMaps() kind { return kind{hubapi.ConfigMaps(), hubapi.KindConfigMap, hubapi.LabelCluster} }

// required are the kinds without which a hub installs nothing.
func required() []kind {
	return []kind{clusterDeployments(), clusterImageSets(), agentInstalls(), infraEnvs(), nmStateConfigs(), agents()}
}

// watched are the kinds that are watched in a cluster's namespace, where the hub
// has them.
func watched() []kind {
	return []kind{clusterDeployments(), agentInstalls(), infraEnvs(), nmStateConfigs(), agents(), configMaps(), bareMetalHosts(), agentClassifications()}
}

// known are all kinds that are read or written.
func known() []kind {
	return append(required(), namespaces(), secrets(), configMaps(), bareMetalHosts(), agentClassifications())
}

// byKind finds the kind of an object that is to be written.
func byKind(name string) (kind, bool) {
	for _, k := range known() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// clusterWide says whether objects of the kind stand in no namespace.
func (k kind) clusterWide() bool {
	return k.name == hubapi.KindNamespace || k.name == hubapi.KindClusterImageSet
}

// adoptable says whether an object of the kind, under the name that the
// cluster's own would have, goes with a cluster that is taken over.
func (k kind) adoptable() bool {
	switch k.name {
	case hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall, hubapi.KindConfigMap, hubapi.KindSecret:
		return true
	}
	return false
}
