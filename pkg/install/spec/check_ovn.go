package spec

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// First minor versions of OpenShift 4 in which OVN-Kubernetes has these networks.
const (
	minorOVN        = 12 // the default network type
	minorTransit    = 14 // a network between zones
	minorMasquerade = 17 // a larger network for masquerading
)

// ovnNetwork is a network that OVN-Kubernetes uses inside of the cluster.
type ovnNetwork struct {
	keys    []string // below ovnKubernetesConfig; each of them moves it
	network string   // where nothing moves it
}

// ovnNetworks are those of a release, one of each use and family. Of a release that is not
// known they are those that every release has.
func (c *Cluster) ovnNetworks() []ovnNetwork {
	list := []ovnNetwork{
		{[]string{"ipv4.internalJoinSubnet", "v4InternalSubnet"}, "100.64.0.0/16"},
		{[]string{"ipv6.internalJoinSubnet", "v6InternalSubnet"}, "fd98::/64"},
	}
	masquerade4, masquerade6 := "169.254.169.0/29", "fd69::/125"
	if _, _, known := c.version(); known && !c.olderThan(minorTransit) {
		list = append(list, ovnNetwork{[]string{"ipv4.internalTransitSwitchSubnet"}, "100.88.0.0/16"},
			ovnNetwork{[]string{"ipv6.internalTransitSwitchSubnet"}, "fd97::/64"})
		if !c.olderThan(minorMasquerade) {
			masquerade4, masquerade6 = "169.254.0.0/17", "fd69::/112"
		}
	}
	return append(list, ovnNetwork{[]string{"gatewayConfig.ipv4.internalMasqueradeSubnet"}, masquerade4},
		ovnNetwork{[]string{"gatewayConfig.ipv6.internalMasqueradeSubnet"}, masquerade6})
}

// usesOVN reports whether the network plug-in is OVN-Kubernetes.
func (c *Cluster) usesOVN() bool {
	return c.Spec.Network.Type == ovnKubernetes || c.Spec.Network.Type == "" && !c.olderThan(minorOVN)
}

// overlapsOVN reports networks of the cluster that OVN-Kubernetes uses itself. The service takes
// them, and no node comes up.
func (k *checker) overlapsOVN(networks []values.NamedNetwork) {
	if !k.cluster.usesOVN() {
		return
	}
	settings := k.ovnSettings()
	for _, own := range k.cluster.ovnNetworks() {
		prefix, field := netip.MustParsePrefix(own.network), ""
		for _, setting := range settings {
			if text := setting.networkOf(own.keys); text != "" {
				prefix, _ = netip.ParsePrefix(text) // an invalid one overlaps nothing, and the operator has to refuse it
				field = setting.field
			}
		}
		for _, network := range networks {
			if !prefix.IsValid() || !network.Prefix.Overlaps(prefix) {
				continue
			}
			message := fmt.Sprintf("the %s %s overlaps %s, which OVN-Kubernetes uses inside the cluster", network.Kind, network.Prefix, prefix)
			k.Report(cmp.Or(network.Field, field), message,
				fmt.Sprintf("use another network, or change the network of OVN-Kubernetes with a manifest of kind Network and ovnKubernetesConfig.%s",
					own.keys[0]))
		}
	}
}

// ovnSetting is what the file says of OVN-Kubernetes' networks in one place.
type ovnSetting struct {
	field  string
	config map[string]any
	patch  string // a patch of a manifest, whose outcome is not known here
}

// ovnSettings are those of the manifests; a later one wins. The service takes no others.
func (k *checker) ovnSettings() []ovnSetting {
	const plugin = "ovnKubernetesConfig"
	var list []ovnSetting
	for _, m := range k.cluster.ManifestFiles() {
		switch {
		case strings.Contains(m.Name, ".patch"):
			list = append(list, ovnSetting{field: m.Field, patch: m.Content})
			continue
		case !strings.Contains(m.Content, plugin):
			continue
		}
		docs, _ := yamltree.Parse([]byte(m.Content))
		for _, doc := range docs {
			object, _ := doc.Plain().(map[string]any)
			if config := below(object, "spec", "defaultNetwork", plugin); config != nil && object["kind"] == "Network" {
				list = append(list, ovnSetting{field: m.Field, config: config})
			}
		}
	}
	return list
}

// networkOf is the network that one of the keys names, "" for none.
func (s ovnSetting) networkOf(keys []string) string {
	for _, key := range keys {
		path := strings.Split(key, ".")
		last := path[len(path)-1]
		if strings.Contains(s.patch, last) {
			return last
		}
		if text, _ := below(s.config, path[:len(path)-1]...)[last].(string); text != "" {
			return text
		}
	}
	return ""
}

// below is the map at a path, nil for none.
func below(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}
