package manifest

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// The kinds that a cluster is made of.
func kindNamespace() schema.GroupVersionKind { return kindOf("", "v1", hubapi.KindNamespace) }
func kindSecret() schema.GroupVersionKind    { return kindOf("", "v1", hubapi.KindSecret) }
func kindConfigMap() schema.GroupVersionKind { return kindOf("", "v1", hubapi.KindConfigMap) }
func kindClusterDeployment() schema.GroupVersionKind {
	return kindOf(hubapi.GroupHive, hubapi.VersionHive, hubapi.KindClusterDeployment)
}
func kindClusterImageSet() schema.GroupVersionKind {
	return kindOf(hubapi.GroupHive, hubapi.VersionHive, hubapi.KindClusterImageSet)
}
func kindAgentClusterInstall() schema.GroupVersionKind {
	return kindOf(hubapi.GroupHiveExtension, hubapi.VersionHiveExtension, hubapi.KindAgentClusterInstall)
}
func kindInfraEnv() schema.GroupVersionKind {
	return kindOf(hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindInfraEnv)
}
func kindNMStateConfig() schema.GroupVersionKind {
	return kindOf(hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindNMStateConfig)
}
func kindAgentClassification() schema.GroupVersionKind {
	return kindOf(hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindAgentClassification)
}
func kindBareMetalHost() schema.GroupVersionKind {
	return kindOf(hubapi.GroupMetal3, hubapi.VersionMetal3, hubapi.KindBareMetalHost)
}

func kindOf(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}
