package hub

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// kind is a kind of object that the controllers watch or write.
type kind string

const (
	kindCluster        kind = hubapi.KindClusterDeployment
	kindInstall        kind = hubapi.KindAgentClusterInstall
	kindInfraEnv       kind = hubapi.KindInfraEnv
	kindNMState        kind = hubapi.KindNMStateConfig
	kindAgent          kind = hubapi.KindAgent
	kindClassification kind = hubapi.KindAgentClassification
	kindImageSet       kind = hubapi.KindClusterImageSet
	kindBareMetal      kind = hubapi.KindBareMetalHost
	kindSecret         kind = hubapi.KindSecret
	kindConfigMap      kind = hubapi.KindConfigMap
)

// resource is where a kind is served.
func (k kind) resource() schema.GroupVersionResource {
	for _, known := range hubapi.Kinds() {
		if known.Kind == string(k) {
			return known.GroupVersionResource()
		}
	}
	return schema.GroupVersionResource{}
}

// clusterScoped tells kinds that have no namespace.
func (k kind) clusterScoped() bool { return k == kindImageSet }

// watched lists the kinds that are watched; what is optional may have no
// definition on the server.
func watched() []kind {
	return []kind{kindCluster, kindInstall, kindInfraEnv, kindNMState, kindAgent, kindClassification, kindImageSet,
		kindBareMetal, kindSecret, kindConfigMap}
}

func (k kind) optional() bool { return k == kindBareMetal || k == kindClassification }
