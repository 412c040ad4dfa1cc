package install

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setting names one thing that can be set on a cluster, an InfraEnv or a host
// by the cluster.yaml field it comes from.
type Setting string

// Settings of a cluster; those marked (image) are settings of an InfraEnv as
// well, where a change makes a new image.
const (
	SetVersion       Setting = "spec.openshift.version"       // string (image)
	SetReleaseImage  Setting = "spec.openshift.releaseImage"  // string
	SetArch          Setting = "spec.openshift.arch"          // string (image)
	SetControlPlane  Setting = "spec.topology.controlPlane"   // int
	SetWorkers       Setting = "spec.topology.workers"        // int, of StartInstall only
	SetArbiters      Setting = "spec.topology.arbiters"       // int, of StartInstall, and of clusters where Cluster.Changeable has it
	SetSSHKeys       Setting = "spec.sshKeys"                 // string, one key a line (image)
	SetNetworkType   Setting = "spec.network.type"            // string
	SetMachineNet    Setting = "spec.network.machine"         // []string of CIDRs
	SetClusterNet    Setting = "spec.network.cluster"         // []ClusterNetwork
	SetServiceNet    Setting = "spec.network.service"         // []string of CIDRs
	SetAPIVIPs       Setting = "spec.network.vips.api"        // []string of addresses
	SetIngressVIPs   Setting = "spec.network.vips.ingress"    // []string of addresses
	SetLoadBalancer  Setting = "spec.network.loadBalancer"    // cluster-managed | user-managed
	SetUserManaged   Setting = "spec.network.userManaged"     // bool
	SetPlatform      Setting = "spec.platform"                // Platform
	SetProxy         Setting = "spec.proxy"                   // Proxy (image)
	SetExtraNTP      Setting = "spec.network.defaults.ntp"    // []string, added to the defaults (image)
	SetNTP           Setting = "spec.network.ntp"             // []string, the only ones (image)
	SetHyperthreads  Setting = "spec.hyperthreading"          // string
	SetSchedulableCP Setting = "spec.schedulableControlPlane" // bool
	SetDiskEncrypt   Setting = "spec.diskEncryption"          // DiskEncryption
	SetOperators     Setting = "spec.operators"               // []OperatorChoice
	SetBundles       Setting = "spec.bundles"                 // []BundleChoice
	SetInstallConfig Setting = "spec.overrides.installConfig" // JSON document in a string
	SetPullSecret    Setting = "spec.pullSecret"              // the word "resend"; the secret itself is the desired cluster's (image)
	SetTags          Setting = "metadata.tags"                // []string, besides oaictl's own
	SetIgnEndpoint   Setting = "spec.ignitionEndpoint"        // IgnitionEndpoint
	SetIgnored       Setting = "spec.ignoreValidations"       // IgnoredValidations
	SetClassified    Setting = "spec.hub.classifications"     // []Classification, sorted; of a hub only
)

// Settings of an InfraEnv only.
const (
	SetTrustBundle   Setting = "spec.registry.trustBundle"   // PEM
	SetKernelArgs    Setting = "spec.discovery.kernelArgs"   // []string
	SetDiscIgnition  Setting = "spec.discovery.ignition"     // Ignition JSON in a string
	SetImageType     Setting = "spec.boot.image"             // full | minimal
	SetNetworkDelay  Setting = "spec.discovery.networkDelay" // int, seconds
	SetStaticNetwork Setting = "spec.hosts[].net"            // []StaticNetwork, sorted by first MAC
	SetOSVersion     Setting = "spec.discovery.osVersion"    // string; takes the place of SetVersion
	SetAgentLabels   Setting = "spec.hub.agentLabels"        // map[string]string; of a hub only, as those below
	SetNodeLabels    Setting = "spec.hub.nodeLabels"         // map[string]string
	SetIronic        Setting = "spec.hub.ironic"             // Ironic
	SetIPXE          Setting = "spec.hub.ipxe"               // always | boot-order
)

// Settings of a host, relative to its entry in spec.hosts.
const (
	SetRole      Setting = "role"              // Role
	SetHostname  Setting = "hostname"          // string
	SetDisk      Setting = "disk.hints"        // inventory id of the installation disk
	SetKeepDisks Setting = "disk.keep"         // []string of inventory ids that are not formatted
	SetLabels    Setting = "labels"            // map[string]string
	SetPool      Setting = "machineConfigPool" // string
	SetArgs      Setting = "installerArgs"     // []string
	SetIgnition  Setting = "ignition"          // Ignition JSON in a string
	SetFencing   Setting = "fencing"           // secret; only its address is compared, where the service gives that back
	// SetEndpointToken is the word "set": the service says only whether there
	// is a token, which itself is the desired cluster's.
	SetEndpointToken   Setting = "ignitionEndpoint.token"
	SetEndpointHeaders Setting = "ignitionEndpoint.headers" // map[string]string; not given back
	// SetHostExtra is a JSON object in the service's own words, the same for
	// every host; not given back as it was sent.
	SetHostExtra Setting = "spec.overrides.host"
	// SetApproved is a bool: the host may take part in an installation. A plane
	// whose service asks for that gives it back for every host; where it is not
	// given back it is never sent.
	SetApproved Setting = "approved"
)

// The shapes of structured values.
type (
	// ClusterNetwork is one entry of spec.network.cluster.
	ClusterNetwork struct {
		CIDR       string `json:"cidr"`
		HostPrefix int    `json:"hostPrefix"`
	}
	// Platform is spec.platform.
	Platform struct {
		Type                   string `json:"type"`
		ExternalName           string `json:"externalName,omitempty"`
		CloudControllerManager string `json:"cloudControllerManager,omitempty"`
	}
	// Proxy is spec.proxy.
	Proxy struct {
		HTTP  string `json:"http"`
		HTTPS string `json:"https"`
		No    string `json:"no"`
	}
	// DiskEncryption is spec.diskEncryption. On: none, all, masters, workers, arbiters and
	// combinations, as the service spells them. Mode: tpmv2 or tang.
	DiskEncryption struct {
		On   string `json:"on"`
		Mode string `json:"mode"`
		Tang []Tang `json:"tang,omitempty"`
	}
	// Tang is a Tang server.
	Tang struct {
		URL        string `json:"url"`
		Thumbprint string `json:"thumbprint"`
	}
	// OperatorChoice is an entry of spec.operators. Properties is a JSON
	// object in a string, "" for none.
	OperatorChoice struct {
		Name       string `json:"name"`
		Properties string `json:"properties,omitempty"`
	}
	// BundleChoice is an entry of spec.bundles. Optional are those of the
	// bundle's optional operators that are wanted; the service gives back the
	// bundle's id only.
	BundleChoice struct {
		ID       string   `json:"id"`
		Optional []string `json:"optional,omitempty"`
	}
	// StaticNetwork is the network of one machine.
	StaticNetwork struct {
		YAML string         `json:"yaml"` // nmstate
		MACs []MACInterface `json:"macs"`
	}
	// MACInterface says which MAC carries an interface name of the nmstate document.
	MACInterface struct {
		MAC  string `json:"mac"`
		Name string `json:"name"`
	}
	// IgnitionEndpoint is spec.ignitionEndpoint; CA is PEM.
	IgnitionEndpoint struct {
		URL string `json:"url"`
		CA  string `json:"ca,omitempty"`
	}
	// Classification is an entry of spec.hub.classifications.
	Classification struct {
		Label string `json:"label"`
		Value string `json:"value"`
		Query string `json:"query"`
	}
	// Ironic is spec.hub.ironic. What is not said in it is left alone.
	Ironic struct {
		Agent      bool     `json:"agent,omitempty"`
		Image      string   `json:"image,omitempty"`
		IPFamilies []string `json:"ipFamilies,omitempty"`
	}
	// IgnoredValidations are ids of checks that may fail.
	IgnoredValidations struct {
		Cluster []string `json:"cluster,omitempty"`
		Hosts   []string `json:"hosts,omitempty"`
	}
)

// Value is a setting's value as canonical JSON: object keys sorted, no spaces.
type Value string

// Settings are values by setting. An absent key means: not said.
type Settings map[Setting]Value

// String shows settings without their secrets, so that a plan can be printed.
func (s Settings) String() string {
	texts := make([]string, 0, len(s))
	for _, setting := range slices.Sorted(maps.Keys(s)) {
		texts = append(texts, string(setting)+"="+s[setting].show(setting))
	}
	return "{" + strings.Join(texts, " ") + "}"
}

// GoString is String: %#v shows no secrets either.
func (s Settings) GoString() string { return s.String() }

// MarshalJSON writes each setting as it may be shown, a text, without secrets.
func (s Settings) MarshalJSON() ([]byte, error) {
	shown := make(map[string]string, len(s))
	for setting, value := range s {
		shown[string(setting)] = value.show(setting)
	}
	return json.Marshal(shown)
}

// ValueOf encodes v, which must be encodable as JSON.
func ValueOf(v any) Value {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("install: a setting of type %T cannot be JSON: %v", v, err))
	}
	return Value(data)
}

// Decode reads the value into the shape that the setting's constant names.
func (v Value) Decode(into any) error {
	if err := json.Unmarshal([]byte(v), into); err != nil {
		return fmt.Errorf("read setting value: %w", err)
	}
	return nil
}

// Text is the value of a string setting, or the JSON itself for another shape.
func (v Value) Text() string {
	if text := string(v); len(text) >= 2 && text[0] == '"' && !strings.ContainsRune(text, '\\') {
		return text[1 : len(text)-1] // nothing is escaped in most of them
	}
	var s string
	if json.Unmarshal([]byte(v), &s) == nil {
		return s
	}
	return string(v)
}
