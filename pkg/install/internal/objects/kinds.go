package objects

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// The kinds that a cluster is made of.
func kindNamespace() schema.GroupVersionKind { return KindOf("", "v1", hubapi.KindNamespace) }

func KindSecret() schema.GroupVersionKind { return KindOf("", "v1", hubapi.KindSecret) }

func kindConfigMap() schema.GroupVersionKind { return KindOf("", "v1", hubapi.KindConfigMap) }

func kindClusterDeployment() schema.GroupVersionKind {
	return KindOf(hubapi.GroupHive, hubapi.VersionHive, hubapi.KindClusterDeployment)
}

func KindClusterImageSet() schema.GroupVersionKind {
	return KindOf(hubapi.GroupHive, hubapi.VersionHive, hubapi.KindClusterImageSet)
}

func KindAgentClusterInstall() schema.GroupVersionKind {
	return KindOf(hubapi.GroupHiveExtension, hubapi.VersionHiveExtension, hubapi.KindAgentClusterInstall)
}

func KindInfraEnv() schema.GroupVersionKind {
	return KindOf(hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindInfraEnv)
}

func kindNMStateConfig() schema.GroupVersionKind {
	return KindOf(hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindNMStateConfig)
}

func kindAgentClassification() schema.GroupVersionKind {
	return KindOf(hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindAgentClassification)
}

func KindBareMetalHost() schema.GroupVersionKind {
	return KindOf(hubapi.GroupMetal3, hubapi.VersionMetal3, hubapi.KindBareMetalHost)
}

func KindOf(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}
