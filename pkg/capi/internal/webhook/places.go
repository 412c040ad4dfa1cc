package webhook

import (
	"regexp"
	"strings"
)

// teller is the object that says what a field of cluster.yaml says.
type teller string

const (
	// byControlPlane fields are below the spec of an OpenshiftAssistedControlPlane.
	byControlPlane teller = "OpenshiftAssistedControlPlane"
	// byConfig fields are below the spec of an OpenshiftAssistedConfig.
	byConfig teller = "OpenshiftAssistedConfig"
	// byCluster fields are below the spec of a Cluster.
	byCluster teller = "Cluster"
	// byMachines are what machines are there, and which objects Cluster API has of them.
	byMachines teller = "Machines"
	// byNobody fields have no meaning where Cluster API says what is installed.
	byNobody teller = ""
)

// place is where Cluster API says what a field of cluster.yaml says.
type place struct {
	file string // path in cluster.yaml; [] stands for an index
	by   teller
	at   string // path below the spec of that object; for byMachines and byNobody why
}

// places are all fields of cluster.yaml. A field stands for what is below it.
func places() []place {
	return []place{
		{"metadata.name", byControlPlane, "config.clusterName"},
		{"metadata.tags[]", byControlPlane, "config.tags[]"},

		{"spec.openshift.version", byControlPlane, "distributionVersion"},
		{"spec.openshift.arch", byControlPlane, "config.cpuArchitecture"},
		{"spec.openshift.releaseImage", byControlPlane, "config.releaseImage"},
		{"spec.openshift.imageSet", byControlPlane, "config.imageSetRef"},
		{"spec.baseDomain", byControlPlane, "config.baseDomain"},
		{"spec.pullSecret", byControlPlane, "config.pullSecretRef"},
		{"spec.sshKeys[]", byControlPlane, "config.sshAuthorizedKey"},

		{"spec.topology.controlPlane", byControlPlane, "replicas"},
		{"spec.topology.workers", byMachines, "the replicas of MachineDeployments and MachineSets, and Machines of nobody's"},
		{"spec.topology.arbiters", byControlPlane, "config.arbiterReplicas"},
		{"spec.topology.fencing", byControlPlane, "config.fencing"},
		{"spec.topology.required.workers", byControlPlane, "config.requiredWorkers"},
		{"spec.topology.required.within", byControlPlane, "config.workerWait"},
		{"spec.topology", byControlPlane, "replicas"},

		{"spec.network.type", byControlPlane, "config.networkType"},
		{"spec.network.machine[]", byControlPlane, "config.machineNetwork[].cidr"},
		{"spec.network.cluster[].cidr", byControlPlane, "config.clusterNetwork[].cidr"},
		{"spec.network.cluster[].hostPrefix", byControlPlane, "config.clusterNetwork[].hostPrefix"},
		{"spec.network.cluster", byControlPlane, "config.clusterNetwork"},
		{"spec.network.service[]", byControlPlane, "config.serviceNetwork[]"},
		{"spec.network.vips.api[]", byControlPlane, "config.apiVIPs[]"},
		{"spec.network.vips.ingress[]", byControlPlane, "config.ingressVIPs[]"},
		{"spec.network.vips", byControlPlane, "config.apiVIPs"},
		{"spec.network.loadBalancer", byControlPlane, "config.loadBalancer.type"},
		{"spec.network.userManaged", byControlPlane, "config.userManagedNetworking"},
		{"spec.network.mtu", byControlPlane, "config.mtu"},
		{"spec.network.ntp[]", byControlPlane, "config.ntpSources[]"},
		{"spec.network.defaults.ntp[]", byControlPlane, "config.additionalNTPSources[]"},
		{"spec.network.defaults.bmc", byMachines, "the BareMetalHosts that the infrastructure provider boots"},
		{"spec.network.defaults", byMachines, "the NMStateConfigs that nmStateConfigLabelSelector of each config selects"},

		{"spec.platform.type", byControlPlane, "config.platform.type"},
		{"spec.platform.external.name", byControlPlane, "config.platform.external.platformName"},
		{"spec.platform.external.cloudControllerManager", byControlPlane, "config.platform.external.cloudControllerManager"},
		{"spec.platform.external", byControlPlane, "config.platform.external"},
		{"spec.proxy.http", byControlPlane, "config.proxy.httpProxy"},
		{"spec.proxy.https", byControlPlane, "config.proxy.httpsProxy"},
		{"spec.proxy.no[]", byControlPlane, "config.proxy.noProxy"},
		{"spec.diskEncryption.mode", byControlPlane, "config.diskEncryption.mode"},
		{"spec.diskEncryption.on[]", byControlPlane, "config.diskEncryption.enableOn"},
		{"spec.diskEncryption.tang[]", byControlPlane, "config.diskEncryption.tangServers"},
		{"spec.hyperthreading[]", byControlPlane, "config.hyperthreading"},
		{"spec.schedulableControlPlane", byControlPlane, "config.mastersSchedulable"},
		{"spec.fips", byControlPlane, "config.fips"},
		{"spec.hold", byControlPlane, "config.holdInstallation"},

		{"spec.boot.method", byMachines, "the kind of the Machine's infrastructure object, and the image that it names"},
		{"spec.boot.image", byConfig, "imageType"},
		{"spec.infraEnv.bind", byMachines, "early, or late where the infrastructure object is an AgentMachine"},
		{"spec.infraEnv.ref", byMachines, "spec.infraEnvRefs of the AgentCluster"},
		{"spec.acceptUnknownHosts", byNobody, "each Machine is one host; no other is installed"},

		{"spec.registry.mirrors[].source", byControlPlane, "config.mirrors[].source"},
		{"spec.registry.mirrors[].mirrors[]", byControlPlane, "config.mirrors[].mirrors[]"},
		{"spec.registry.mirrors[].insecure", byControlPlane, "config.mirrors[].insecure"},
		{"spec.registry.trustBundle", byControlPlane, "config.additionalTrustBundle"},
		{"spec.manifests[]", byControlPlane, "config.manifestsConfigMapRefs[].name"},
		{"spec.operators[].name", byControlPlane, "config.operators[].name"},
		{"spec.operators[].properties", byControlPlane, "config.operators[].properties"},
		{"spec.bundles[].id", byControlPlane, "config.bundles[].name"},
		{"spec.bundles[].optional[]", byControlPlane, "config.bundles[].optional[]"},

		{"spec.discovery.kernelArgs[]", byConfig, "discoveryKernelArguments[]"},
		{"spec.discovery.ignition", byConfig, "discoveryIgnitionOverride"},
		{"spec.discovery.networkDelay", byConfig, "networkDelay"},
		{"spec.discovery.osVersion", byConfig, "osImageVersion"},
		{"spec.ignitionEndpoint.url", byControlPlane, "config.ignitionEndpoint.url"},
		{"spec.ignitionEndpoint.ca", byControlPlane, "config.ignitionEndpoint.caCertificateRef"},
		{"spec.import", byNobody, "a cluster whose kubeconfig answers is adopted; the control plane object is what says so"},
		{"spec.hub.agentLabels", byConfig, "agentLabels"},
		{"spec.hub.nodeLabels", byConfig, "nodeLabels"},
		{"spec.hub.classifications", byNobody, "who looks after the pool makes AgentClassifications, which concern every Agent of a namespace"},
		{"spec.hub.ironic", byNobody, "the infrastructure provider boots the machines"},
		{"spec.hub.ipxe", byNobody, "the infrastructure provider boots the machines"},
		{"spec.ignoreValidations.cluster[]", byControlPlane, "config.ignoreValidations.cluster[]"},
		{"spec.ignoreValidations.hosts[]", byControlPlane, "config.ignoreValidations.hosts[]"},
		{"spec.overrides.installConfig", byControlPlane, "config.installConfigOverrides"},
		{"spec.overrides.infraEnv", byNobody, "only fields with a schema are sent on behalf of an object"},
		{"spec.overrides.host", byNobody, "only fields with a schema are sent on behalf of an object"},

		{"spec.hosts[].name", byMachines, "the name of the Machine"},
		{"spec.hosts[].role", byMachines, "the labels of the Machine"},
		{"spec.hosts[].match", byMachines, "the InfraEnv of the Machine's config, its BareMetalHost, or the Agent that it reserved"},
		{"spec.hosts[].hostname", byConfig, "hostname"},
		{"spec.hosts[].arch", byConfig, "cpuArchitecture"},
		{"spec.hosts[].bmc", byMachines, "the Machine's BareMetalHost"},
		{"spec.hosts[].disk.hints", byConfig, "rootDeviceHints"},
		{"spec.hosts[].disk.keep[]", byConfig, "keepDisks[]"},
		{"spec.hosts[].net", byMachines, "the NMStateConfigs that nmStateConfigLabelSelector of the config selects"},
		{"spec.hosts[].labels", byConfig, "nodeLabels"},
		{"spec.hosts[].taints[]", byConfig, "taints[]"},
		{"spec.hosts[].addresses[]", byConfig, "allowedAddresses[]"},
		{"spec.hosts[].providerID", byConfig, "nodeRegistration.providerID"},
		{"spec.hosts[].machineConfigPool", byConfig, "machineConfigPool"},
		{"spec.hosts[].installerArgs[]", byConfig, "installerArgs[]"},
		{"spec.hosts[].ignition", byConfig, "ignitionOverride"},
		{"spec.hosts[].fencing", byControlPlane, "config.fencing"},
		{"spec.hosts[].discovery.pullSecret", byConfig, "pullSecretRef"},
		{"spec.hosts[].discovery.sshKeys[]", byConfig, "sshAuthorizedKey"},
		{"spec.hosts[].discovery.proxy.http", byConfig, "proxy.httpProxy"},
		{"spec.hosts[].discovery.proxy.https", byConfig, "proxy.httpsProxy"},
		{"spec.hosts[].discovery.proxy.no[]", byConfig, "proxy.noProxy"},
		{"spec.hosts[].discovery.ntp[]", byConfig, "additionalNTPSources[]"},
		{"spec.hosts[].discovery.kernelArgs[]", byConfig, "discoveryKernelArguments[]"},
		{"spec.hosts[].discovery.ignition", byConfig, "discoveryIgnitionOverride"},
		{"spec.hosts[].discovery.trustBundle", byConfig, "additionalTrustBundle"},
		{"spec.hosts[].discovery.osVersion", byConfig, "osImageVersion"},
		{"spec.hosts[].discovery.image", byConfig, "imageType"},
		{"spec.hosts[].discovery.networkDelay", byConfig, "networkDelay"},
		{"spec.hosts[].ignitionEndpoint.token", byConfig, "ignitionEndpoint.tokenRef"},
		{"spec.hosts[].ignitionEndpoint.headers", byConfig, "ignitionEndpoint.httpHeaders"},
	}
}

var indices = regexp.MustCompile(`\[\d*\]`)

// lookUp is the place of a field of cluster.yaml, with the indices filled in, and what of the
// path lies below that place. It is the longest that fits.
func lookUp(path string) (found place, below string, ok bool) {
	plain := indices.ReplaceAllString(path, "[]")
	for _, p := range places() {
		switch {
		case p.file == plain+"[]": // the list as a whole
			if i := strings.LastIndex(p.at, "[]"); i >= 0 {
				p.at = p.at[:i]
			}
			p.file = plain
		case !covers(p.file, plain):
			continue
		}
		if len(p.file) > len(found.file) {
			found, ok = p, true
		}
	}
	if !ok {
		return place{}, "", false
	}
	numbers := indices.FindAllString(path, -1)
	used := strings.Count(found.file, "[]")
	below = indexed(plain[len(found.file):], numbers[used:])
	if strings.HasPrefix(found.file, "spec.hosts[]") {
		numbers, used = numbers[1:], used-1
	}
	found.at = indexed(found.at, numbers[:used])
	return found, below, true
}

// covers says whether a field is another one, or above it.
func covers(field, path string) bool {
	rest, below := strings.CutPrefix(path, field)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// indexed fills indices into a path, as far as it has room for them.
func indexed(path string, numbers []string) string {
	for _, number := range numbers {
		path = strings.Replace(path, "[]", number, 1)
	}
	return path
}
