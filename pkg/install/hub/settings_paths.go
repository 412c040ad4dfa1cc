package hub

import (
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
)

// installPaths are the fields of an AgentClusterInstall that a setting comes to.
// A setting without one has no place on a hub, or stands elsewhere.
func installPaths(key install.Setting) []path {
	spec := func(steps ...string) path { return append(path{"spec"}, steps...) }
	annotation := func(name string) path { return path{"metadata", "annotations", name} }
	userManaged := spec("networking", "userManagedNetworking") // follows from platform and count where the file does not say it
	switch key {
	case setting.ControlPlane:
		return []path{spec("provisionRequirements", "controlPlaneAgents"), userManaged}
	case setting.Workers:
		return []path{spec("provisionRequirements", "workerAgents")}
	case setting.Arbiters:
		return []path{spec("provisionRequirements", "arbiterAgents")}
	case setting.SSHKeys:
		return []path{spec("sshPublicKey")}
	case setting.NetworkType:
		return []path{spec("networking", "networkType")}
	case setting.MachineNet:
		return []path{spec("networking", "machineNetwork")}
	case setting.ClusterNet:
		return []path{spec("networking", "clusterNetwork")}
	case setting.ServiceNet:
		return []path{spec("networking", "serviceNetwork")}
	case setting.UserManaged:
		return []path{userManaged}
	case setting.APIVIPs:
		return []path{spec("apiVIPs")}
	case setting.IngressVIPs:
		return []path{spec("ingressVIPs")}
	case setting.LoadBalancer:
		return []path{spec("loadBalancer")}
	case setting.Platform:
		return []path{spec("platformType"), spec("external"), userManaged}
	case setting.Proxy:
		return []path{spec("proxy")}
	case setting.NTP:
		return []path{spec("ntpSources")}
	case setting.Hyperthreads:
		return []path{spec("controlPlane"), spec("compute"), spec("arbiter")}
	case setting.SchedulableCP:
		return []path{spec("mastersSchedulable")}
	case setting.DiskEncrypt:
		return []path{spec("diskEncryption")}
	case setting.IgnEndpoint:
		return []path{spec("ignitionEndpoint")}
	case setting.InstallConfig: // mirrors stand in the overrides as well
		return []path{annotation(hubapi.AnnotationInstallConfigOverrides), spec("mirrorRegistryRef")}
	case setting.Ignored:
		return []path{annotation(hubapi.AnnotationIgnoredClusterValidations), annotation(hubapi.AnnotationIgnoredHostValidations)}
	case setting.Tags:
		return []path{{"metadata", "labels", hubapi.LabelConsumer}, {"metadata", "labels", hubapi.LabelCluster}}
	}
	return nil
}

// infraEnvPaths are the fields of an InfraEnv that a setting comes to, but for
// the labels of nodes, which are not applied ([actor.passOn]).
func infraEnvPaths(key install.Setting) []path {
	annotation := func(name string) path { return path{"metadata", "annotations", name} }
	if key == setting.Ironic {
		return []path{annotation(hubapi.AnnotationEnableIronicAgent), annotation(hubapi.AnnotationIronicAgentImage), annotation(hubapi.AnnotationIPFamily)}
	}
	field := map[install.Setting]string{
		setting.SSHKeys: "sshAuthorizedKey", setting.Proxy: "proxy", setting.ExtraNTP: "additionalNTPSources", setting.NTP: "ntpSources",
		setting.TrustBundle: "additionalTrustBundle", setting.KernelArgs: "kernelArguments", setting.DiscIgnition: "ignitionConfigOverride",
		setting.ImageType: "imageType", setting.NetworkDelay: "networkDiscoveryDelaySeconds",
		setting.OSVersion: "osImageVersion", setting.AgentLabels: "agentLabels", setting.IPXE: "ipxeScriptType",
	}[key]
	switch {
	case field == "":
		return nil
	case key == setting.DiscIgnition, key == setting.TrustBundle: // mirrors stand there as well
		return []path{{"spec", field}, {"spec", "mirrorRegistryRef"}}
	}
	return []path{{"spec", field}}
}
