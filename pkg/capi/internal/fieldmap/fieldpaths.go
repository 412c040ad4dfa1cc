// Package fieldmap translates a field of cluster.yaml into the field of a Cluster API object that has the same meaning, and
// copies what both write in the same way.
package fieldmap

import (
	"regexp"
	"strings"
	"sync"
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

// all are the fields of cluster.yaml. A field includes the fields below it. A field of an object with the same value says so
// itself, by the tag same; the others have their rows here.
var all = sync.OnceValue(func() []Place {
	places := []Place{
		{"metadata.name", ByControlPlane, "config.clusterName"},

		{"spec.openshift.version", ByControlPlane, "distributionVersion"},
		{"spec.openshift.arch", ByControlPlane, "config.cpuArchitecture"},
		{"spec.openshift.imageSet", ByControlPlane, "config.imageSetRef"},
		{"spec.pullSecret", ByControlPlane, "config.pullSecretRef"},
		{"spec.sshKeys[]", ByControlPlane, "config.sshAuthorizedKey"},

		{"spec.topology.controlPlane", ByControlPlane, "replicas"},
		{"spec.topology.workers", ByMachines, "the replicas of MachineDeployments and MachineSets, and Machines without an owner"},
		{"spec.topology.arbiters", ByControlPlane, "config.arbiterReplicas"},
		{"spec.topology.fencing", ByControlPlane, "config.fencing"},
		{"spec.topology.required.workers", ByControlPlane, "config.requiredWorkers"},
		{"spec.topology.required.within", ByControlPlane, "config.workerWait"},
		{"spec.topology", ByControlPlane, "replicas"},

		{"spec.network.cluster", ByControlPlane, "config.clusterNetwork"},
		{"spec.network.vips", ByControlPlane, "config.apiVIPs"},
		{"spec.network.defaults.bmc", ByMachines, "the BareMetalHosts that the infrastructure provider boots"},
		{"spec.network.defaults", ByMachines, "the NMStateConfigs that nmStateConfigLabelSelector of each config selects"},

		{"spec.platform.type", ByControlPlane, "config.platform.type"},
		{"spec.platform.external", ByControlPlane, "config.platform.external"},
		{"spec.proxy.http", ByControlPlane, "config.proxy.httpProxy"},
		{"spec.proxy.https", ByControlPlane, "config.proxy.httpsProxy"},
		{"spec.proxy.noProxy[]", ByControlPlane, "config.proxy.noProxy"},
		{"spec.diskEncryption.mode", ByControlPlane, "config.diskEncryption.mode"},
		{"spec.diskEncryption.enableOn[]", ByControlPlane, "config.diskEncryption.enableOn"},
		{"spec.diskEncryption.tang[]", ByControlPlane, "config.diskEncryption.tangServers"},
		{"spec.hold", ByControlPlane, "config.holdInstallation"},

		{"spec.boot.method", ByMachines, "the kind of the Machine's infrastructure object, and the image that it names"},
		{"spec.boot.image", ByConfig, "imageType"},
		{"spec.infraEnv.bind", ByMachines, "early, or late where the infrastructure object is an AgentMachine"},
		{"spec.infraEnv.ref", ByMachines, "spec.infraEnvRefs of the AgentCluster"},
		{"spec.acceptUnknownHosts", ByNobody, "each Machine is one host; no other is installed"},

		{"spec.registry.mirrors[].source", ByControlPlane, "config.mirrors[].source"},
		{"spec.registry.mirrors[].mirrors[]", ByControlPlane, "config.mirrors[].mirrors[]"},
		{"spec.registry.mirrors[].insecure", ByControlPlane, "config.mirrors[].insecure"},
		{"spec.registry.trustBundle", ByControlPlane, "config.additionalTrustBundle"},
		{"spec.manifests[]", ByControlPlane, "config.manifestsConfigMapRefs[].name"},
		{"spec.operators[].name", ByControlPlane, "config.operators[].name"},
		{"spec.operators[].properties", ByControlPlane, "config.operators[].properties"},

		{"spec.discovery.kernelArgs[]", ByConfig, "discoveryKernelArguments[]"},
		{"spec.discovery.ignition", ByConfig, "discoveryIgnitionOverride"},
		{"spec.discovery.networkDelay", ByConfig, "networkDelay"},
		{"spec.discovery.osVersion", ByConfig, "osImageVersion"},
		{"spec.ignitionEndpoint.url", ByControlPlane, "config.ignitionEndpoint.url"},
		{"spec.ignitionEndpoint.ca", ByControlPlane, "config.ignitionEndpoint.caCertificateRef"},
		{"spec.import", ByNobody, "a cluster whose kubeconfig answers is adopted; the control plane object is what says so"},
		{"spec.hub.agentLabels", ByConfig, "agentLabels"},
		{"spec.hub.nodeLabels", ByConfig, "nodeLabels"},
		{"spec.hub.classifications", ByNobody, "who looks after the pool makes AgentClassifications, which concern every Agent of a namespace"},
		{"spec.hub.ironic", ByNobody, "the infrastructure provider boots the machines"},
		{"spec.hub.ipxe", ByNobody, "the infrastructure provider boots the machines"},
		{"spec.overrides.installConfig", ByControlPlane, "config.installConfigOverrides"},
		{"spec.overrides.infraEnv", ByNobody, "only fields with a schema are sent on behalf of an object"},
		{"spec.overrides.host", ByNobody, "only fields with a schema are sent on behalf of an object"},

		{"spec.hosts[].name", ByMachines, "the name of the Machine"},
		{"spec.hosts[].role", ByMachines, "the labels of the Machine"},
		{"spec.hosts[].match", ByMachines, "the InfraEnv of the Machine's config, its BareMetalHost, or the Agent that it reserved"},
		{"spec.hosts[].hostname", ByConfig, "hostname"},
		{"spec.hosts[].arch", ByConfig, "cpuArchitecture"},
		{"spec.hosts[].bmc", ByMachines, "the Machine's BareMetalHost"},
		{"spec.hosts[].net", ByMachines, "the NMStateConfigs that nmStateConfigLabelSelector of the config selects"},
		{"spec.hosts[].labels", ByConfig, "nodeLabels"},
		{"spec.hosts[].providerID", ByConfig, "nodeRegistration.providerID"},
		{"spec.hosts[].installerArgs[]", ByConfig, "installerArgs[]"},
		{"spec.hosts[].ignition", ByConfig, "ignitionOverride"},
		{"spec.hosts[].fencing", ByControlPlane, "config.fencing"},
		{"spec.hosts[].discovery.pullSecret", ByConfig, "pullSecretRef"},
		{"spec.hosts[].discovery.sshKeys[]", ByConfig, "sshAuthorizedKey"},
		{"spec.hosts[].discovery.proxy.http", ByConfig, "proxy.httpProxy"},
		{"spec.hosts[].discovery.proxy.https", ByConfig, "proxy.httpsProxy"},
		{"spec.hosts[].discovery.proxy.noProxy[]", ByConfig, "proxy.noProxy"},
		{"spec.hosts[].discovery.ntp[]", ByConfig, "additionalNTPSources[]"},
		{"spec.hosts[].discovery.kernelArgs[]", ByConfig, "discoveryKernelArguments[]"},
		{"spec.hosts[].discovery.ignition", ByConfig, "discoveryIgnitionOverride"},
		{"spec.hosts[].discovery.trustBundle", ByConfig, "additionalTrustBundle"},
		{"spec.hosts[].discovery.osVersion", ByConfig, "osImageVersion"},
		{"spec.hosts[].discovery.image", ByConfig, "imageType"},
		{"spec.hosts[].discovery.networkDelay", ByConfig, "networkDelay"},
		{"spec.hosts[].ignitionEndpoint.token", ByConfig, "ignitionEndpoint.tokenRef"},
		{"spec.hosts[].ignitionEndpoint.headers", ByConfig, "ignitionEndpoint.httpHeaders"},
	}
	for _, f := range sameFields() {
		places = append(places, f.place())
	}
	return places
})

var indices = regexp.MustCompile(`\[\d*\]`)

// LookUp is the place of a field of cluster.yaml, with the indices filled in, and what of the
// path lies below that place. It is the longest that fits.
func LookUp(path string) (found Place, below string, ok bool) {
	plain := indices.ReplaceAllString(path, "[]")
	for _, p := range all() {
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
