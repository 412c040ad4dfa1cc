package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Setting is one thing that can be set on a cluster, an InfraEnv or a host
// by the cluster.yaml field it comes from.
type Setting string

// The settings.
const (
	// Settings of a cluster; those marked (image) are settings of an InfraEnv as
	// well, where a change makes a new image.
	SettingVersion      Setting = "spec.openshift.version"      // string (image)
	SettingReleaseImage Setting = "spec.openshift.releaseImage" // string
	SettingArch         Setting = "spec.openshift.arch"         // string (image)
	SettingControlPlane Setting = "spec.topology.controlPlane"  // int
	SettingWorkers      Setting = "spec.topology.workers"       // int, of StartInstall only
	// int, of StartInstall, and of clusters where Cluster.Changeable has it
	SettingArbiters                Setting = "spec.topology.arbiters"
	SettingSSHKeys                 Setting = "spec.sshKeys"                 // string, one key a line (image)
	SettingNetworkType             Setting = "spec.network.type"            // string
	SettingMachineNetworks         Setting = "spec.network.machine"         // []string of CIDRs
	SettingClusterNetworks         Setting = "spec.network.cluster"         // []spec.ClusterNetwork
	SettingServiceNetworks         Setting = "spec.network.service"         // []string of CIDRs
	SettingAPIVIPs                 Setting = "spec.network.vips.api"        // []string of addresses
	SettingIngressVIPs             Setting = "spec.network.vips.ingress"    // []string of addresses
	SettingLoadBalancer            Setting = "spec.network.loadBalancer"    // cluster-managed | user-managed
	SettingUserManaged             Setting = "spec.network.userManaged"     // bool
	SettingPlatform                Setting = "spec.platform"                // spec.Platform
	SettingProxy                   Setting = "spec.proxy"                   // spec.Proxy (image)
	SettingExtraNTP                Setting = "spec.network.defaults.ntp"    // []string, added to the defaults (image)
	SettingNTP                     Setting = "spec.network.ntp"             // []string, the only ones (image)
	SettingHyperthreading          Setting = "spec.hyperthreading"          // spec.RoleSet
	SettingSchedulableControlPlane Setting = "spec.schedulableControlPlane" // bool
	SettingDiskEncryption          Setting = "spec.diskEncryption"          // spec.DiskEncryption
	SettingOperators               Setting = "spec.operators"               // []spec.Operator, sorted
	SettingBundles                 Setting = "spec.bundles"                 // []spec.Bundle
	SettingInstallConfigOverrides  Setting = "spec.overrides.installConfig" // JSON document in a string
	// the word "resend"; the secret itself is the desired cluster's (image)
	SettingPullSecret         Setting = "spec.pullSecret"
	SettingTags               Setting = "metadata.tags"            // []string, besides oaictl's own
	SettingIgnitionEndpoint   Setting = "spec.ignitionEndpoint"    // spec.IgnitionEndpoint
	SettingIgnoredValidations Setting = "spec.ignoreValidations"   // spec.IgnoreValidations
	SettingClassifications    Setting = "spec.hub.classifications" // []spec.Classification, sorted; of a hub only

	// Settings of a host, relative to its entry in spec.hosts.
	SettingRole      Setting = "role"       // spec.Role
	SettingHostname  Setting = "hostname"   // string
	SettingDisk      Setting = "disk.hints" // inventory id of the installation disk
	SettingKeepDisks Setting = "disk.keep"  // []string of inventory ids that are not formatted
	SettingLabels    Setting = "labels"     // map[string]string
	// SettingTaints and SettingProviderID are of nodes alone: no service keeps them.
	SettingTaints        Setting = "taints"            // list of key, value, effect
	SettingProviderID    Setting = "providerID"        // string
	SettingPool          Setting = "machineConfigPool" // string
	SettingInstallerArgs Setting = "installerArgs"     // []string
	SettingIgnition      Setting = "ignition"          // Ignition JSON in a string
	SettingFencing       Setting = "fencing"           // secret; only its address is compared, where the service gives that back
	// SettingEndpointToken is the word "set": the service says only whether there
	// is a token, which itself is the desired cluster's.
	SettingEndpointToken   Setting = "ignitionEndpoint.token"
	SettingEndpointHeaders Setting = "ignitionEndpoint.headers" // map[string]string; not given back
	// SettingHostExtra is a JSON object in the service's own words, the same for
	// every host; not given back as it was sent.
	SettingHostExtra Setting = "spec.overrides.host"
	// SettingApproved is a bool: the host may take part in an installation. A plane
	// whose service asks for that gives it back for every host; where it is not
	// given back it is never sent.
	SettingApproved Setting = "approved"

	// Settings of an InfraEnv only.
	SettingTrustBundle       Setting = "spec.registry.trustBundle"   // PEM
	SettingKernelArguments   Setting = "spec.discovery.kernelArgs"   // []string
	SettingDiscoveryIgnition Setting = "spec.discovery.ignition"     // Ignition JSON in a string
	SettingImageType         Setting = "spec.boot.image"             // full | minimal
	SettingNetworkDelay      Setting = "spec.discovery.networkDelay" // int, seconds
	SettingStaticNetworks    Setting = "spec.hosts[].net"            // []StaticNetwork, sorted by first MAC
	SettingOSVersion         Setting = "spec.discovery.osVersion"    // string; takes the place of SettingVersion
	SettingAgentLabels       Setting = "spec.hub.agentLabels"        // map[string]string; of a hub only, as those below
	SettingNodeLabels        Setting = "spec.hub.nodeLabels"         // map[string]string
	SettingIronic            Setting = "spec.hub.ironic"             // spec.Ironic
	SettingIPXE              Setting = "spec.hub.ipxe"               // always | boot-order
)

// The shapes of structured values that are not types of cluster.yaml.
type (
	// StaticNetwork is the network of one machine.
	StaticNetwork struct {
		YAML string     `json:"yaml"` // nmstate
		MACs []spec.NIC `json:"macs"`
	}
	// proxyJSON is a proxy with its passwords.
	proxyJSON struct {
		HTTP  string `json:"http"`
		HTTPS string `json:"https"`
		No    string `json:"no"`
	}
	// endpointJSON is an Ignition endpoint with the content of its certificate.
	endpointJSON struct {
		URL string `json:"url"`
		CA  string `json:"ca,omitempty"`
	}
)

// Value is a setting's value as canonical JSON: object keys sorted, no spaces.
type Value string

// Settings are values by setting. An absent key means: not said.
type Settings map[Setting]Value

// String names the settings. Their values, some of which are secret, are not shown.
func (s Settings) String() string {
	texts := make([]string, 0, len(s))
	for _, setting := range slices.Sorted(maps.Keys(s)) {
		texts = append(texts, string(setting))
	}
	return "{" + strings.Join(texts, " ") + "}"
}

// GoString is String: %#v shows no secrets either.
func (s Settings) GoString() string { return s.String() }

// MarshalJSON writes the names of the settings as a list.
func (s Settings) MarshalJSON() ([]byte, error) {
	return json.Marshal(slices.Sorted(maps.Keys(s)))
}

// ValueOf encodes v, which must be encodable as JSON, with what of it is secret.
func ValueOf(v any) Value {
	switch typed := v.(type) {
	case spec.Proxy:
		v = proxyJSON{HTTP: typed.HTTP.Reveal(), HTTPS: typed.HTTPS.Reveal(), No: strings.Join(typed.No, ",")}
	case spec.IgnitionEndpoint:
		v = endpointJSON{URL: typed.URL, CA: typed.CA.Text()}
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("install: a setting of type %T cannot be JSON: %v", v, err))
	}
	return Value(data)
}

// Decode reads the value into the shape that the setting's constant names.
func (v Value) Decode(into any) error {
	var err error
	switch typed := into.(type) {
	case *spec.Proxy:
		var proxy proxyJSON
		err = json.Unmarshal([]byte(v), &proxy)
		*typed = spec.Proxy{HTTP: spec.ProxyURL(proxy.HTTP), HTTPS: spec.ProxyURL(proxy.HTTPS)}
		for part := range strings.SplitSeq(proxy.No, ",") {
			if part = strings.TrimSpace(part); part != "" {
				typed.No = append(typed.No, part)
			}
		}
	case *spec.IgnitionEndpoint:
		var endpoint endpointJSON
		err = json.Unmarshal([]byte(v), &endpoint)
		*typed = spec.IgnitionEndpoint{URL: endpoint.URL}
		if endpoint.CA != "" {
			typed.CA = &spec.PublicSource{Inline: endpoint.CA}
		}
	case *[]spec.Operator:
		decoder := json.NewDecoder(strings.NewReader(string(v)))
		decoder.UseNumber() // they stay as they are written
		err = decoder.Decode(typed)
	default:
		err = json.Unmarshal([]byte(v), into)
	}
	if err != nil {
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

// Keeping is what a service does with a setting that it was given, in the phase
// that the cluster is in.
type Keeping string

// What services do with settings. The drift table says what all of them do; a
// plane reports in [Cluster.Keeping] where its service does something else.
const (
	KeptAsWritten Keeping = ""        // it holds what was written last, and shows it
	KeptDerived   Keeping = "derived" // it derives the value itself, and takes no other
	KeptCleared   Keeping = "cleared" // it has emptied it, and works it out later
	KeptHidden    Keeping = "hidden"  // it holds it, and need not show it
	KeptFrozen    Keeping = "frozen"  // it takes no other value any more
	KeptNotYet    Keeping = "not yet" // it takes another value only once the hosts show that it fits
)

// Digest is the SHA-256 of data in hex, by which contents of manifests and results are compared.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
