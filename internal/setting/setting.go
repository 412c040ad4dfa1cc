// Package setting knows the settings of clusters, InfraEnvs and hosts by the cluster.yaml
// fields they come from: the shapes of their values, how two of them are compared, and
// how they are shown without their secrets.
package setting

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Name is one thing that can be set on a cluster, an InfraEnv or a host
// by the cluster.yaml field it comes from.
type Name string

// Settings of a cluster; those marked (image) are settings of an InfraEnv as
// well, where a change makes a new image.
const (
	Version       Name = "spec.openshift.version"       // string (image)
	ReleaseImage  Name = "spec.openshift.releaseImage"  // string
	Arch          Name = "spec.openshift.arch"          // string (image)
	ControlPlane  Name = "spec.topology.controlPlane"   // int
	Workers       Name = "spec.topology.workers"        // int, of StartInstall only
	Arbiters      Name = "spec.topology.arbiters"       // int, of StartInstall, and of clusters where Cluster.Changeable has it
	SSHKeys       Name = "spec.sshKeys"                 // string, one key a line (image)
	NetworkType   Name = "spec.network.type"            // string
	MachineNet    Name = "spec.network.machine"         // []string of CIDRs
	ClusterNet    Name = "spec.network.cluster"         // []ClusterNetwork
	ServiceNet    Name = "spec.network.service"         // []string of CIDRs
	APIVIPs       Name = "spec.network.vips.api"        // []string of addresses
	IngressVIPs   Name = "spec.network.vips.ingress"    // []string of addresses
	LoadBalancer  Name = "spec.network.loadBalancer"    // cluster-managed | user-managed
	UserManaged   Name = "spec.network.userManaged"     // bool
	Platform      Name = "spec.platform"                // Platform
	Proxy         Name = "spec.proxy"                   // Proxy (image)
	ExtraNTP      Name = "spec.network.defaults.ntp"    // []string, added to the defaults (image)
	NTP           Name = "spec.network.ntp"             // []string, the only ones (image)
	Hyperthreads  Name = "spec.hyperthreading"          // string
	SchedulableCP Name = "spec.schedulableControlPlane" // bool
	DiskEncrypt   Name = "spec.diskEncryption"          // DiskEncryption
	Operators     Name = "spec.operators"               // []OperatorChoice
	Bundles       Name = "spec.bundles"                 // []BundleChoice
	InstallConfig Name = "spec.overrides.installConfig" // JSON document in a string
	PullSecret    Name = "spec.pullSecret"              // the word "resend"; the secret itself is the desired cluster's (image)
	Tags          Name = "metadata.tags"                // []string, besides oaictl's own
	IgnEndpoint   Name = "spec.ignitionEndpoint"        // IgnitionEndpoint
	Ignored       Name = "spec.ignoreValidations"       // IgnoredValidations
	Classified    Name = "spec.hub.classifications"     // []Classification, sorted; of a hub only
)

// Settings of an InfraEnv only.
const (
	TrustBundle    Name = "spec.registry.trustBundle"   // PEM
	KernelArgs     Name = "spec.discovery.kernelArgs"   // []string
	DiscIgnition   Name = "spec.discovery.ignition"     // Ignition JSON in a string
	ImageType      Name = "spec.boot.image"             // full | minimal
	NetworkDelay   Name = "spec.discovery.networkDelay" // int, seconds
	StaticNetworks Name = "spec.hosts[].net"            // []StaticNetwork, sorted by first MAC
	OSVersion      Name = "spec.discovery.osVersion"    // string; takes the place of Version
	AgentLabels    Name = "spec.hub.agentLabels"        // map[string]string; of a hub only, as those below
	NodeLabels     Name = "spec.hub.nodeLabels"         // map[string]string
	Ironic         Name = "spec.hub.ironic"             // Ironic
	IPXE           Name = "spec.hub.ipxe"               // always | boot-order
)

// Settings of a host, relative to its entry in spec.hosts.
const (
	Role      Name = "role"              // Role
	Hostname  Name = "hostname"          // string
	Disk      Name = "disk.hints"        // inventory id of the installation disk
	KeepDisks Name = "disk.keep"         // []string of inventory ids that are not formatted
	Labels    Name = "labels"            // map[string]string
	Pool      Name = "machineConfigPool" // string
	Args      Name = "installerArgs"     // []string
	Ignition  Name = "ignition"          // Ignition JSON in a string
	Fencing   Name = "fencing"           // secret; only its address is compared, where the service gives that back
	// EndpointToken is the word "set": the service says only whether there
	// is a token, which itself is the desired cluster's.
	EndpointToken   Name = "ignitionEndpoint.token"
	EndpointHeaders Name = "ignitionEndpoint.headers" // map[string]string; not given back
	// HostExtra is a JSON object in the service's own words, the same for
	// every host; not given back as it was sent.
	HostExtra Name = "spec.overrides.host"
	// Approved is a bool: the host may take part in an installation. A plane
	// whose service asks for that gives it back for every host; where it is not
	// given back it is never sent.
	Approved Name = "approved"
)

// The shapes of structured values.
type (
	// ClusterNetwork is one entry of spec.network.cluster.
	ClusterNetwork struct {
		CIDR       string `json:"cidr"`
		HostPrefix int    `json:"hostPrefix"`
	}
	// PlatformValue is spec.platform.
	PlatformValue struct {
		Type                   string `json:"type"`
		ExternalName           string `json:"externalName,omitempty"`
		CloudControllerManager string `json:"cloudControllerManager,omitempty"`
	}
	// ProxyValue is spec.proxy.
	ProxyValue struct {
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
	// IronicValue is spec.hub.ironic. What is not said in it is left alone.
	IronicValue struct {
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
type Settings map[Name]Value

// String shows settings without their secrets, so that a plan can be printed.
func (s Settings) String() string {
	texts := make([]string, 0, len(s))
	for _, setting := range slices.Sorted(maps.Keys(s)) {
		texts = append(texts, string(setting)+"="+s[setting].Show(setting))
	}
	return "{" + strings.Join(texts, " ") + "}"
}

// GoString is String: %#v shows no secrets either.
func (s Settings) GoString() string { return s.String() }

// MarshalJSON writes each setting as it may be shown, a text, without secrets.
func (s Settings) MarshalJSON() ([]byte, error) {
	shown := make(map[string]string, len(s))
	for setting, value := range s {
		shown[string(setting)] = value.Show(setting)
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
