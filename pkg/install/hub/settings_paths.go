package hub

import (
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
)

// installPaths are the fields of an AgentClusterInstall that a setting comes to.
// A setting without one has no place on a hub, or stands elsewhere.
func installPaths(setting install.Setting) []path {
	spec := func(steps ...string) path { return append(path{"spec"}, steps...) }
	annotation := func(name string) path { return path{"metadata", "annotations", name} }
	userManaged := spec("networking", "userManagedNetworking") // follows from platform and count where the file does not say it
	switch setting {
	case install.SetControlPlane:
		return []path{spec("provisionRequirements", "controlPlaneAgents"), userManaged}
	case install.SetWorkers:
		return []path{spec("provisionRequirements", "workerAgents")}
	case install.SetArbiters:
		return []path{spec("provisionRequirements", "arbiterAgents")}
	case install.SetSSHKeys:
		return []path{spec("sshPublicKey")}
	case install.SetNetworkType:
		return []path{spec("networking", "networkType")}
	case install.SetMachineNet:
		return []path{spec("networking", "machineNetwork")}
	case install.SetClusterNet:
		return []path{spec("networking", "clusterNetwork")}
	case install.SetServiceNet:
		return []path{spec("networking", "serviceNetwork")}
	case install.SetUserManaged:
		return []path{userManaged}
	case install.SetAPIVIPs:
		return []path{spec("apiVIPs")}
	case install.SetIngressVIPs:
		return []path{spec("ingressVIPs")}
	case install.SetLoadBalancer:
		return []path{spec("loadBalancer")}
	case install.SetPlatform:
		return []path{spec("platformType"), spec("external"), userManaged}
	case install.SetProxy:
		return []path{spec("proxy")}
	case install.SetNTP:
		return []path{spec("ntpSources")}
	case install.SetHyperthreads:
		return []path{spec("controlPlane"), spec("compute"), spec("arbiter")}
	case install.SetSchedulableCP:
		return []path{spec("mastersSchedulable")}
	case install.SetDiskEncrypt:
		return []path{spec("diskEncryption")}
	case install.SetIgnEndpoint:
		return []path{spec("ignitionEndpoint")}
	case install.SetInstallConfig: // mirrors stand in the overrides as well
		return []path{annotation(hubapi.AnnotationInstallConfigOverrides), spec("mirrorRegistryRef")}
	case install.SetIgnored:
		return []path{annotation(hubapi.AnnotationIgnoredClusterValidations), annotation(hubapi.AnnotationIgnoredHostValidations)}
	case install.SetTags:
		return []path{{"metadata", "labels", hubapi.LabelConsumer}, {"metadata", "labels", hubapi.LabelCluster}}
	}
	return nil
}

// infraEnvPaths are the fields of an InfraEnv that a setting comes to, but for
// the labels of nodes, which are not applied ([actor.passOn]).
func infraEnvPaths(setting install.Setting) []path {
	annotation := func(name string) path { return path{"metadata", "annotations", name} }
	if setting == install.SetIronic {
		return []path{annotation(hubapi.AnnotationEnableIronicAgent), annotation(hubapi.AnnotationIronicAgentImage), annotation(hubapi.AnnotationIPFamily)}
	}
	field := map[install.Setting]string{
		install.SetSSHKeys: "sshAuthorizedKey", install.SetProxy: "proxy", install.SetExtraNTP: "additionalNTPSources", install.SetNTP: "ntpSources",
		install.SetTrustBundle: "additionalTrustBundle", install.SetKernelArgs: "kernelArguments", install.SetDiscIgnition: "ignitionConfigOverride",
		install.SetImageType: "imageType", install.SetNetworkDelay: "networkDiscoveryDelaySeconds",
		install.SetOSVersion: "osImageVersion", install.SetAgentLabels: "agentLabels", install.SetIPXE: "ipxeScriptType",
	}[setting]
	switch {
	case field == "":
		return nil
	case setting == install.SetDiscIgnition, setting == install.SetTrustBundle: // mirrors stand there as well
		return []path{{"spec", field}, {"spec", "mirrorRegistryRef"}}
	}
	return []path{{"spec", field}}
}
