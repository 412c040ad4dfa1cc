// Package fieldpaths says where Cluster API's objects say what a cluster.yaml says, and copies what both say in the same way.
package fieldpaths

import (
	"regexp"
	"strings"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Teller is the object that says what a field of cluster.yaml says.
type Teller string

const (
	// ByControlPlane fields are below the spec of an OpenshiftAssistedControlPlane.
	ByControlPlane Teller = "OpenshiftAssistedControlPlane"
	// ByConfig fields are below the spec of an OpenshiftAssistedConfig.
	ByConfig Teller = "OpenshiftAssistedConfig"
	// ByCluster fields are below the spec of a Cluster.
	ByCluster Teller = "Cluster"
	// ByMachines are what machines are there, and which objects Cluster API has of them.
	ByMachines Teller = "Machines"
	// ByNobody fields have no meaning where Cluster API says what is installed.
	ByNobody Teller = ""
)

// Place is where Cluster API says what a field of cluster.yaml says.
type Place struct {
	File string // path in cluster.yaml; [] is any index
	By   Teller
	At   string // path below the spec of that object; for ByMachines and ByNobody why
}

type (
	controlPlaneConfig = controlplanev1.OpenshiftAssistedControlPlaneConfigSpec
	machineConfig      = bootstrapv1.OpenshiftAssistedConfigSpec
)

// row is a field of cluster.yaml.
type row struct {
	file string
	by   Teller
	at   string
	// ofCluster and ofHost say in cluster.yaml what the object says of the cluster or of a machine. They are nil where more
	// is to be done than that.
	ofCluster func(to *spec.Cluster, from *controlPlaneConfig)
	ofHost    func(to *spec.Host, from *machineConfig)
}

// all are the fields of cluster.yaml. A field includes the fields below it.
func all() []row {
	return []row{
		{file: "metadata.name", by: ByControlPlane, at: "config.clusterName"},
		{file: "metadata.tags[]", by: ByControlPlane, at: "config.tags[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Metadata.Tags = from.Tags
		}},

		{file: "spec.openshift.version", by: ByControlPlane, at: "distributionVersion"},
		{file: "spec.openshift.arch", by: ByControlPlane, at: "config.cpuArchitecture"},
		{file: "spec.openshift.releaseImage", by: ByControlPlane, at: "config.releaseImage", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.OpenShift.ReleaseImage = from.ReleaseImage
		}},
		{file: "spec.openshift.imageSet", by: ByControlPlane, at: "config.imageSetRef"},
		{file: "spec.baseDomain", by: ByControlPlane, at: "config.baseDomain", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.BaseDomain = from.BaseDomain
		}},
		{file: "spec.pullSecret", by: ByControlPlane, at: "config.pullSecretRef"},
		{file: "spec.sshKeys[]", by: ByControlPlane, at: "config.sshAuthorizedKey"},

		{file: "spec.topology.controlPlane", by: ByControlPlane, at: "replicas"},
		{file: "spec.topology.workers", by: ByMachines, at: "the replicas of MachineDeployments and MachineSets, and Machines of nobody's"},
		{file: "spec.topology.arbiters", by: ByControlPlane, at: "config.arbiterReplicas"},
		{file: "spec.topology.fencing", by: ByControlPlane, at: "config.fencing", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Topology.Fencing = from.Fencing != nil
		}},
		{file: "spec.topology.required.workers", by: ByControlPlane, at: "config.requiredWorkers"},
		{file: "spec.topology.required.within", by: ByControlPlane, at: "config.workerWait"},
		{file: "spec.topology", by: ByControlPlane, at: "replicas"},

		{file: "spec.network.type", by: ByControlPlane, at: "config.networkType", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.Type = spec.NetworkType(from.NetworkType)
		}},
		{file: "spec.network.machine[]", by: ByControlPlane, at: "config.machineNetwork[].cidr", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.Machine = machineNetworks(from.MachineNetwork)
		}},
		{file: "spec.network.cluster[].cidr", by: ByControlPlane, at: "config.clusterNetwork[].cidr"},
		{file: "spec.network.cluster[].hostPrefix", by: ByControlPlane, at: "config.clusterNetwork[].hostPrefix"},
		{file: "spec.network.cluster", by: ByControlPlane, at: "config.clusterNetwork", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.Cluster = clusterNetworks(from.ClusterNetwork)
		}},
		{file: "spec.network.service[]", by: ByControlPlane, at: "config.serviceNetwork[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.Service = from.ServiceNetwork
		}},
		{file: "spec.network.vips.api[]", by: ByControlPlane, at: "config.apiVIPs[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.VIPs.API = from.APIVIPs
		}},
		{file: "spec.network.vips.ingress[]", by: ByControlPlane, at: "config.ingressVIPs[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.VIPs.Ingress = from.IngressVIPs
		}},
		{file: "spec.network.vips", by: ByControlPlane, at: "config.apiVIPs"},
		{file: "spec.network.loadBalancer", by: ByControlPlane, at: "config.loadBalancer.type", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.LoadBalancer = loadBalancer(from.LoadBalancer)
		}},
		{file: "spec.network.userManaged", by: ByControlPlane, at: "config.userManagedNetworking", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.UserManaged = from.UserManagedNetworking
		}},
		{file: "spec.network.mtu", by: ByControlPlane, at: "config.mtu", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.MTU = int(from.MTU)
		}},
		{file: "spec.network.ntp[]", by: ByControlPlane, at: "config.ntpSources[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.NTP = from.NTPSources
		}},
		{file: "spec.network.defaults.ntp[]", by: ByControlPlane, at: "config.additionalNTPSources[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Network.Defaults.NTP = from.AdditionalNTPSources
		}},
		{file: "spec.network.defaults.bmc", by: ByMachines, at: "the BareMetalHosts that the infrastructure provider boots"},
		{file: "spec.network.defaults", by: ByMachines, at: "the NMStateConfigs that nmStateConfigLabelSelector of each config selects"},

		{file: "spec.platform.type", by: ByControlPlane, at: "config.platform.type"},
		{file: "spec.platform.external.name", by: ByControlPlane, at: "config.platform.external.platformName"},
		{file: "spec.platform.external.cloudControllerManager", by: ByControlPlane, at: "config.platform.external.cloudControllerManager"},
		{file: "spec.platform.external", by: ByControlPlane, at: "config.platform.external", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Platform.External = externalPlatform(from.Platform.External)
		}},
		{file: "spec.proxy.http", by: ByControlPlane, at: "config.proxy.httpProxy", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Proxy = Proxy(from.Proxy)
		}},
		{file: "spec.proxy.https", by: ByControlPlane, at: "config.proxy.httpsProxy"},
		{file: "spec.proxy.noProxy[]", by: ByControlPlane, at: "config.proxy.noProxy"},
		{file: "spec.diskEncryption.mode", by: ByControlPlane, at: "config.diskEncryption.mode"},
		{file: "spec.diskEncryption.enableOn[]", by: ByControlPlane, at: "config.diskEncryption.enableOn"},
		{file: "spec.diskEncryption.tang[]", by: ByControlPlane, at: "config.diskEncryption.tangServers"},
		{file: "spec.hyperthreading[]", by: ByControlPlane, at: "config.hyperthreading"},
		{file: "spec.schedulableControlPlane", by: ByControlPlane, at: "config.mastersSchedulable", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.SchedulableControlPlane = from.MastersSchedulable
		}},
		{file: "spec.fips", by: ByControlPlane, at: "config.fips", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.FIPS = from.FIPS
		}},
		{file: "spec.hold", by: ByControlPlane, at: "config.holdInstallation"},

		{file: "spec.boot.method", by: ByMachines, at: "the kind of the Machine's infrastructure object, and the image that it names"},
		{file: "spec.boot.image", by: ByConfig, at: "imageType"},
		{file: "spec.infraEnv.bind", by: ByMachines, at: "early, or late where the infrastructure object is an AgentMachine"},
		{file: "spec.infraEnv.ref", by: ByMachines, at: "spec.infraEnvRefs of the AgentCluster"},
		{file: "spec.acceptUnknownHosts", by: ByNobody, at: "each Machine is one host; no other is installed"},

		{file: "spec.registry.mirrors[].source", by: ByControlPlane, at: "config.mirrors[].source"},
		{file: "spec.registry.mirrors[].mirrors[]", by: ByControlPlane, at: "config.mirrors[].mirrors[]"},
		{file: "spec.registry.mirrors[].insecure", by: ByControlPlane, at: "config.mirrors[].insecure"},
		{file: "spec.registry.trustBundle", by: ByControlPlane, at: "config.additionalTrustBundle"},
		{file: "spec.manifests[]", by: ByControlPlane, at: "config.manifestsConfigMapRefs[].name"},
		{file: "spec.operators[].name", by: ByControlPlane, at: "config.operators[].name"},
		{file: "spec.operators[].properties", by: ByControlPlane, at: "config.operators[].properties"},
		{file: "spec.bundles[].id", by: ByControlPlane, at: "config.bundles[].name", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.Bundles = bundles(from.Bundles)
		}},
		{file: "spec.bundles[].optional[]", by: ByControlPlane, at: "config.bundles[].optional[]"},

		{file: "spec.discovery.kernelArgs[]", by: ByConfig, at: "discoveryKernelArguments[]"},
		{file: "spec.discovery.ignition", by: ByConfig, at: "discoveryIgnitionOverride"},
		{file: "spec.discovery.networkDelay", by: ByConfig, at: "networkDelay"},
		{file: "spec.discovery.osVersion", by: ByConfig, at: "osImageVersion"},
		{file: "spec.ignitionEndpoint.url", by: ByControlPlane, at: "config.ignitionEndpoint.url"},
		{file: "spec.ignitionEndpoint.ca", by: ByControlPlane, at: "config.ignitionEndpoint.caCertificateRef"},
		{file: "spec.import", by: ByNobody, at: "a cluster whose kubeconfig answers is adopted; the control plane object is what says so"},
		{file: "spec.hub.agentLabels", by: ByConfig, at: "agentLabels"},
		{file: "spec.hub.nodeLabels", by: ByConfig, at: "nodeLabels"},
		{file: "spec.hub.classifications", by: ByNobody, at: "who looks after the pool makes AgentClassifications, which concern every Agent of a namespace"},
		{file: "spec.hub.ironic", by: ByNobody, at: "the infrastructure provider boots the machines"},
		{file: "spec.hub.ipxe", by: ByNobody, at: "the infrastructure provider boots the machines"},
		{file: "spec.ignoreValidations.cluster[]", by: ByControlPlane, at: "config.ignoreValidations.cluster[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.IgnoreValidations.Cluster = from.IgnoreValidations.Cluster
		}},
		{file: "spec.ignoreValidations.hosts[]", by: ByControlPlane, at: "config.ignoreValidations.hosts[]", ofCluster: func(to *spec.Cluster, from *controlPlaneConfig) {
			to.Spec.IgnoreValidations.Hosts = from.IgnoreValidations.Hosts
		}},
		{file: "spec.overrides.installConfig", by: ByControlPlane, at: "config.installConfigOverrides"},
		{file: "spec.overrides.infraEnv", by: ByNobody, at: "only fields with a schema are sent on behalf of an object"},
		{file: "spec.overrides.host", by: ByNobody, at: "only fields with a schema are sent on behalf of an object"},

		{file: "spec.hosts[].name", by: ByMachines, at: "the name of the Machine"},
		{file: "spec.hosts[].role", by: ByMachines, at: "the labels of the Machine"},
		{file: "spec.hosts[].match", by: ByMachines, at: "the InfraEnv of the Machine's config, its BareMetalHost, or the Agent that it reserved"},
		{file: "spec.hosts[].hostname", by: ByConfig, at: "hostname"},
		{file: "spec.hosts[].arch", by: ByConfig, at: "cpuArchitecture"},
		{file: "spec.hosts[].bmc", by: ByMachines, at: "the Machine's BareMetalHost"},
		{file: "spec.hosts[].disk.hints", by: ByConfig, at: "rootDeviceHints", ofHost: func(to *spec.Host, from *machineConfig) {
			to.Disk.Hints = diskHints(from.RootDeviceHints)
		}},
		{file: "spec.hosts[].disk.keep[]", by: ByConfig, at: "keepDisks[]", ofHost: func(to *spec.Host, from *machineConfig) {
			to.Disk.Keep = from.KeepDisks
		}},
		{file: "spec.hosts[].net", by: ByMachines, at: "the NMStateConfigs that nmStateConfigLabelSelector of the config selects"},
		{file: "spec.hosts[].labels", by: ByConfig, at: "nodeLabels"},
		{file: "spec.hosts[].taints[]", by: ByConfig, at: "taints[]", ofHost: func(to *spec.Host, from *machineConfig) {
			to.Taints = taints(from.Taints)
		}},
		{file: "spec.hosts[].addresses[]", by: ByConfig, at: "allowedAddresses[]", ofHost: func(to *spec.Host, from *machineConfig) {
			to.Addresses = from.AllowedAddresses
		}},
		{file: "spec.hosts[].providerID", by: ByConfig, at: "nodeRegistration.providerID"},
		{file: "spec.hosts[].machineConfigPool", by: ByConfig, at: "machineConfigPool", ofHost: func(to *spec.Host, from *machineConfig) {
			to.MachineConfigPool = from.MachineConfigPool
		}},
		{file: "spec.hosts[].installerArgs[]", by: ByConfig, at: "installerArgs[]"},
		{file: "spec.hosts[].ignition", by: ByConfig, at: "ignitionOverride"},
		{file: "spec.hosts[].fencing", by: ByControlPlane, at: "config.fencing"},
		{file: "spec.hosts[].discovery.pullSecret", by: ByConfig, at: "pullSecretRef"},
		{file: "spec.hosts[].discovery.sshKeys[]", by: ByConfig, at: "sshAuthorizedKey"},
		{file: "spec.hosts[].discovery.proxy.http", by: ByConfig, at: "proxy.httpProxy"},
		{file: "spec.hosts[].discovery.proxy.https", by: ByConfig, at: "proxy.httpsProxy"},
		{file: "spec.hosts[].discovery.proxy.noProxy[]", by: ByConfig, at: "proxy.noProxy"},
		{file: "spec.hosts[].discovery.ntp[]", by: ByConfig, at: "additionalNTPSources[]"},
		{file: "spec.hosts[].discovery.kernelArgs[]", by: ByConfig, at: "discoveryKernelArguments[]"},
		{file: "spec.hosts[].discovery.ignition", by: ByConfig, at: "discoveryIgnitionOverride"},
		{file: "spec.hosts[].discovery.trustBundle", by: ByConfig, at: "additionalTrustBundle"},
		{file: "spec.hosts[].discovery.osVersion", by: ByConfig, at: "osImageVersion"},
		{file: "spec.hosts[].discovery.image", by: ByConfig, at: "imageType"},
		{file: "spec.hosts[].discovery.networkDelay", by: ByConfig, at: "networkDelay"},
		{file: "spec.hosts[].ignitionEndpoint.token", by: ByConfig, at: "ignitionEndpoint.tokenRef"},
		{file: "spec.hosts[].ignitionEndpoint.headers", by: ByConfig, at: "ignitionEndpoint.httpHeaders"},
	}
}

var indices = regexp.MustCompile(`\[\d*\]`)

// LookUp is the place of a field of cluster.yaml, with the indices filled in, and what of the
// path lies below that place. It is the longest that fits.
func LookUp(path string) (found Place, below string, ok bool) {
	plain := indices.ReplaceAllString(path, "[]")
	for _, r := range all() {
		p := Place{r.file, r.by, r.at}
		switch {
		case p.File == plain+"[]": // the list as a whole
			if i := strings.LastIndex(p.At, "[]"); i >= 0 {
				p.At = p.At[:i]
			}
			p.File = plain
		case !covers(p.File, plain):
			continue
		}
		if len(p.File) > len(found.File) {
			found, ok = p, true
		}
	}
	if !ok {
		return Place{}, "", false
	}
	numbers := indices.FindAllString(path, -1)
	used := strings.Count(found.File, "[]")
	below = indexed(plain[len(found.File):], numbers[used:])
	if strings.HasPrefix(found.File, "spec.hosts[]") {
		numbers, used = numbers[1:], used-1
	}
	found.At = indexed(found.At, numbers[:used])
	return found, below, true
}

// covers reports whether a field is the field of the path, or above it.
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
