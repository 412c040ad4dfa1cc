package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// Kind is a kind of object as the API server serves it.
type Kind struct {
	schema.GroupVersionResource
	Name string // as it stands in an object: InfraEnv
	// Selector is what of a cluster's namespace is watched: a label selector, "" for
	// all objects of the kind.
	Selector string
}

// Namespaces are of Kubernetes itself, of no namespace.
func Namespaces() Kind { return Kind{hubapi.Namespaces(), hubapi.KindNamespace, ""} }

// Secrets are of Kubernetes itself.
func Secrets() Kind { return Kind{hubapi.Secrets(), hubapi.KindSecret, ""} }

// ClusterDeployments are of Hive.
func ClusterDeployments() Kind {
	return Kind{hubapi.ClusterDeployments(), hubapi.KindClusterDeployment, ""}
}

// ClusterImageSets are of Hive, of no namespace.
func ClusterImageSets() Kind { return Kind{hubapi.ClusterImageSets(), hubapi.KindClusterImageSet, ""} }

// AgentClusterInstalls are of the assisted-service.
func AgentClusterInstalls() Kind {
	return Kind{hubapi.AgentClusterInstalls(), hubapi.KindAgentClusterInstall, ""}
}

// InfraEnvs are of the assisted-service.
func InfraEnvs() Kind { return Kind{hubapi.InfraEnvs(), hubapi.KindInfraEnv, ""} }

// NMStateConfigs are of the assisted-service.
func NMStateConfigs() Kind { return Kind{hubapi.NMStateConfigs(), hubapi.KindNMStateConfig, ""} }

// Agents are of the assisted-service.
func Agents() Kind { return Kind{hubapi.Agents(), hubapi.KindAgent, ""} }

// BareMetalHosts are of the Bare Metal Operator.
func BareMetalHosts() Kind { return Kind{hubapi.BareMetalHosts(), hubapi.KindBareMetalHost, ""} }

// AgentClassifications are of the assisted-service.
func AgentClassifications() Kind {
	return Kind{hubapi.AgentClassifications(), hubapi.KindAgentClassification, ""}
}

// ConfigMaps are those of oaictl only: a namespace has others that are nobody's
// business here.
func ConfigMaps() Kind { return Kind{hubapi.ConfigMaps(), hubapi.KindConfigMap, hubapi.LabelCluster} }

// Required are the kinds without which a hub installs nothing.
func Required() []Kind {
	return []Kind{ClusterDeployments(), ClusterImageSets(), AgentClusterInstalls(), InfraEnvs(), NMStateConfigs(), Agents()}
}

// Watched are the kinds that are watched in a cluster's namespace, where the hub
// has them.
func Watched() []Kind {
	return []Kind{ClusterDeployments(), AgentClusterInstalls(), InfraEnvs(), NMStateConfigs(), Agents(), ConfigMaps(), BareMetalHosts(), AgentClassifications()}
}

// Known are all kinds that are read or written.
func Known() []Kind {
	return append(Required(), Namespaces(), Secrets(), ConfigMaps(), BareMetalHosts(), AgentClassifications())
}

// KindOf finds the kind of an object that is to be written.
func KindOf(name string) (Kind, error) {
	for _, k := range Known() {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("no %s is ever written", name)
}

// ClusterWide says whether objects of the kind stand in no namespace.
func (k Kind) ClusterWide() bool {
	return k.Name == hubapi.KindNamespace || k.Name == hubapi.KindClusterImageSet
}

// adoptable says whether an object of the kind, under the name that the
// cluster's own would have, goes with a cluster that is taken over.
func (k Kind) adoptable() bool {
	switch k.Name {
	case hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall, hubapi.KindConfigMap, hubapi.KindSecret:
		return true
	}
	return false
}
