package setting

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfCluster is what cluster.yaml says of the cluster itself. A field
// that the file leaves out is absent; one that it gives as empty is there.
func OfCluster(c *spec.Cluster) model.Settings {
	s, set := model.Settings{}, c.Spec
	if set.Hub.Classifications != nil {
		s[model.SettingClassifications] = model.ValueOf(SortedClassifications(set.Hub.Classifications))
	}
	if c.OnlyAdds() {
		putSlice(s, model.SettingTags, c.Metadata.Tags)
		putPointer(s, model.SettingIgnitionEndpoint, set.IgnitionEndpoint)
		return s // the rest says how a cluster is installed
	}
	put(s, model.SettingVersion, set.OpenShift.Version)
	put(s, model.SettingReleaseImage, set.OpenShift.ReleaseImage)
	put(s, model.SettingArch, set.OpenShift.Arch)
	putPointer(s, model.SettingControlPlane, set.Topology.ControlPlane)
	put(s, model.SettingSSHKeys, c.SSHKey())
	putSlice(s, model.SettingTags, c.Metadata.Tags)

	net := set.Network
	put(s, model.SettingNetworkType, net.Type)
	putSlice(s, model.SettingMachineNetworks, net.Machine)
	putSlice(s, model.SettingClusterNetworks, net.Cluster)
	putSlice(s, model.SettingServiceNetworks, net.Service)
	putSlice(s, model.SettingAPIVIPs, net.VIPs.API)
	putSlice(s, model.SettingIngressVIPs, net.VIPs.Ingress)
	put(s, model.SettingLoadBalancer, net.LoadBalancer)
	putPointer(s, model.SettingUserManaged, net.UserManaged)
	putSlice(s, model.SettingExtraNTP, net.Defaults.NTP)
	putSlice(s, model.SettingNTP, net.NTP)

	if set.Platform.Type != "" && (c.Present("spec.platform") || !platformImplied(c)) {
		s[model.SettingPlatform] = model.ValueOf(set.Platform)
	}
	putProxy(s, set.Proxy)
	if len(set.Hyperthreading) > 0 {
		s[model.SettingHyperthreading] = model.ValueOf(set.Hyperthreading)
	}
	putPointer(s, model.SettingSchedulableControlPlane, set.SchedulableControlPlane)
	putPointer(s, model.SettingDiskEncryption, set.DiskEncryption)
	putPointer(s, model.SettingIgnitionEndpoint, set.IgnitionEndpoint)
	if set.Operators != nil {
		operators := append([]spec.Operator{}, set.Operators...)
		slices.SortFunc(operators, func(a, b spec.Operator) int { return cmp.Compare(a.Name, b.Name) })
		for i := range operators {
			if len(operators[i].Properties) == 0 {
				operators[i].Properties = nil
			}
		}
		s[model.SettingOperators] = model.ValueOf(operators)
	}
	putSlice(s, model.SettingBundles, set.Bundles)
	return s
}

// IgnoredOf is which validations may fail, nil where the file says nothing
// of that.
func IgnoredOf(c *spec.Cluster) model.Settings {
	list := c.Spec.IgnoreValidations
	if list.Cluster == nil && list.Hosts == nil {
		return nil
	}
	return model.Settings{model.SettingIgnoredValidations: model.ValueOf(list)}
}

// platformImplied reports whether the service comes to the same platform by itself, so that it need not be sent.
func platformImplied(c *spec.Cluster) bool {
	userManaged := c.Spec.Network.UserManaged != nil && *c.Spec.Network.UserManaged
	switch c.Spec.Platform.Type {
	case spec.BareMetal:
		return !c.SingleNode() && !userManaged
	case spec.NoneType:
		return c.SingleNode() || userManaged
	}
	return false
}

// clusterRule is the drift table of clusters.
func clusterRule(setting model.Setting) (Rule, bool) {
	switch setting {
	case model.SettingVersion:
		return Rule{Cluster: model.KeptFrozen, InfraEnv: model.KeptFrozen, same: SameVersion}, true
	case model.SettingReleaseImage, model.SettingArch, model.SettingControlPlane:
		return Rule{Cluster: model.KeptFrozen, InfraEnv: model.KeptFrozen, same: sameJSON}, true
	case model.SettingBundles:
		return Rule{Cluster: model.KeptFrozen, same: sameBundles}, true
	case model.SettingSSHKeys:
		return Rule{same: sameLines}, true
	case model.SettingTags, model.SettingExtraNTP, model.SettingNTP:
		return Rule{same: sameSet}, true
	case model.SettingMachineNetworks, model.SettingServiceNetworks:
		return Rule{same: samePrefixes}, true
	case model.SettingClusterNetworks:
		return Rule{same: sameClusterNetworks}, true
	case model.SettingAPIVIPs, model.SettingIngressVIPs:
		return Rule{same: sameAddresses}, true
	case model.SettingProxy:
		return Rule{same: sameProxy, secret: true}, true
	case model.SettingOperators:
		return Rule{same: operatorsIncluded}, true
	case model.SettingInstallConfigOverrides:
		return Rule{same: sameDocument}, true
	case model.SettingHyperthreading:
		return Rule{same: sameRoles}, true
	case model.SettingDiskEncryption:
		return Rule{same: sameEncryption}, true
	case model.SettingIgnoredValidations:
		return Rule{same: sameIgnored}, true
	}
	return Rule{}, false
}

func put[T ~string](s model.Settings, key model.Setting, value T) {
	if value != "" {
		s[key] = model.ValueOf(string(value))
	}
}

func putPointer[T any](s model.Settings, key model.Setting, value *T) {
	if value != nil {
		s[key] = model.ValueOf(*value)
	}
}

func putSlice[T any](s model.Settings, key model.Setting, list []T) {
	if list != nil {
		s[key] = model.ValueOf(list)
	}
}

func putMap(s model.Settings, key model.Setting, texts map[string]string) {
	if texts != nil {
		s[key] = model.ValueOf(texts)
	}
}

func putProxy(s model.Settings, proxy spec.Proxy) {
	if proxy.HTTP != "" || proxy.HTTPS != "" || proxy.No != nil {
		s[model.SettingProxy] = model.ValueOf(proxy)
	}
}
