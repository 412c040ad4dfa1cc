package objects

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// Kind is a kind of object that the controllers watch or write.
type Kind string

// The kinds.
const (
	KindCluster        Kind = hubapi.KindClusterDeployment
	KindInstall        Kind = hubapi.KindAgentClusterInstall
	KindInfraEnv       Kind = hubapi.KindInfraEnv
	KindNMState        Kind = hubapi.KindNMStateConfig
	KindAgent          Kind = hubapi.KindAgent
	KindClassification Kind = hubapi.KindAgentClassification
	KindImageSet       Kind = hubapi.KindClusterImageSet
	KindBareMetal      Kind = hubapi.KindBareMetalHost
	KindSecret         Kind = hubapi.KindSecret
	KindConfigMap      Kind = hubapi.KindConfigMap
)

// Resource is where a kind is served.
func (k Kind) Resource() schema.GroupVersionResource {
	for _, known := range hubapi.Kinds() {
		if known.Kind == string(k) {
			return known.GroupVersionResource()
		}
	}
	return schema.GroupVersionResource{}
}

// ClusterScoped tells kinds that have no namespace.
func (k Kind) ClusterScoped() bool { return k == KindImageSet }

// Watched lists the kinds that are watched; what is optional may have no
// definition on the server.
func Watched() []Kind {
	return []Kind{KindCluster, KindInstall, KindInfraEnv, KindNMState, KindAgent, KindClassification, KindImageSet,
		KindBareMetal, KindSecret, KindConfigMap}
}

// Optional tells kinds that the API server may not serve.
func (k Kind) Optional() bool { return k == KindBareMetal || k == KindClassification }
