package clustersettings

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Rule says how a setting is compared and shown, and what becomes of it in a cluster, an InfraEnv or a host before an
// installation.
type Rule struct {
	Cluster, InfraEnv model.Keeping
	// Host is Hidden where the service need not give it back. Where it does not,
	// it is sent along with what else is to be written and not by itself, since
	// every run would send it again.
	Host   model.Keeping
	same   func(want, have model.Value) bool // nil compares JSON
	show   func(v model.Value) string        // nil shows a list or a text
	secret bool                              // a plan does not show it
}

// RuleOf is the rule of a setting. A setting without a row is compared as JSON and shown as it is.
func RuleOf(setting model.Setting) Rule {
	rule := rules()[setting]
	if rule.same == nil {
		rule.same = sameJSON
	}
	if rule.show == nil {
		rule.show = showPlain
	}
	return rule
}

var rules = sync.OnceValue(func() map[model.Setting]Rule {
	all := map[model.Setting]Rule{}
	for _, r := range table {
		all[r.setting] = r.Rule
	}
	return all
})

// of says which objects have a setting of cluster.yaml.
type of int

const (
	clusters  of = 1 << iota // that are installed by the file
	day2                     // clusters that the file only adds hosts to
	infraEnvs                // whose discovery image it is in
)

// row is a setting: where cluster.yaml says it, which objects have it, and its rule. said is nil for a setting that another
// function gives: those of hosts, and what needs more than the file.
type row struct {
	setting model.Setting
	of      of
	said    func(c *spec.Cluster) model.Value // "" where the file says nothing
	Rule
}

// table has all settings that cluster.yaml says of a cluster and its InfraEnvs, and all that have a rule.
var table = []row{
	{model.SettingVersion, clusters, text(func(c *spec.Cluster) string { return c.Spec.OpenShift.Version }),
		Rule{Cluster: model.KeptFrozen, InfraEnv: model.KeptFrozen, same: SameVersion}},
	{model.SettingReleaseImage, clusters, text(func(c *spec.Cluster) string { return c.Spec.OpenShift.ReleaseImage }),
		Rule{Cluster: model.KeptFrozen, InfraEnv: model.KeptFrozen}},
	{model.SettingArch, clusters, text(func(c *spec.Cluster) spec.Arch { return c.Spec.OpenShift.Arch }),
		Rule{Cluster: model.KeptFrozen, InfraEnv: model.KeptFrozen}},
	{model.SettingControlPlane, clusters, pointer(func(c *spec.Cluster) *int { return c.Spec.Topology.ControlPlane }),
		Rule{Cluster: model.KeptFrozen, InfraEnv: model.KeptFrozen}},
	{model.SettingSSHKeys, clusters | infraEnvs, text((*spec.Cluster).SSHKey), Rule{same: sameLines}},
	{model.SettingTags, clusters | day2, list(func(c *spec.Cluster) []string { return c.Metadata.Tags }), Rule{same: sameSet}},

	{model.SettingNetworkType, clusters, text(func(c *spec.Cluster) spec.NetworkType { return c.Spec.Network.Type }), Rule{}},
	{model.SettingMachineNetworks, clusters, list(func(c *spec.Cluster) []string { return c.Spec.Network.Machine }),
		Rule{same: samePrefixes}},
	{model.SettingClusterNetworks, clusters, list(func(c *spec.Cluster) []spec.ClusterNetwork { return c.Spec.Network.Cluster }),
		Rule{same: by(sameClusterNetworks)}},
	{model.SettingServiceNetworks, clusters, list(func(c *spec.Cluster) []string { return c.Spec.Network.Service }),
		Rule{same: samePrefixes}},
	{model.SettingAPIVIPs, clusters, list(func(c *spec.Cluster) []string { return c.Spec.Network.VIPs.API }), Rule{same: sameAddresses}},
	{model.SettingIngressVIPs, clusters, list(func(c *spec.Cluster) []string { return c.Spec.Network.VIPs.Ingress }),
		Rule{same: sameAddresses}},
	{model.SettingLoadBalancer, clusters, text(func(c *spec.Cluster) spec.LoadBalancer { return c.Spec.Network.LoadBalancer }), Rule{}},
	{model.SettingUserManaged, clusters, pointer(func(c *spec.Cluster) *bool { return c.Spec.Network.UserManaged }), Rule{}},
	{model.SettingExtraNTP, clusters | infraEnvs, list(func(c *spec.Cluster) []string { return c.Spec.Network.Defaults.NTP }),
		Rule{same: sameSet}},
	{model.SettingNTP, clusters | infraEnvs, list(func(c *spec.Cluster) []string { return c.Spec.Network.NTP }), Rule{same: sameSet}},

	{model.SettingPlatform, clusters, platform, Rule{}},
	{model.SettingProxy, clusters | infraEnvs, proxy, Rule{same: by(sameProxy), show: shown(showProxy), secret: true}},
	{model.SettingHyperthreading, clusters, hyperthreading, Rule{same: by(sameRoles)}},
	{model.SettingSchedulableControlPlane, clusters, pointer(func(c *spec.Cluster) *bool { return c.Spec.SchedulableControlPlane }),
		Rule{}},
	{model.SettingDiskEncryption, clusters, pointer(func(c *spec.Cluster) *spec.DiskEncryption { return c.Spec.DiskEncryption }),
		Rule{same: by(sameEncryption), show: shown(showEncryption)}},
	{model.SettingIgnitionEndpoint, clusters | day2, pointer(func(c *spec.Cluster) *spec.IgnitionEndpoint { return c.Spec.IgnitionEndpoint }),
		Rule{}},
	{model.SettingOperators, clusters, operators, Rule{same: by(operatorsIncluded)}},
	{model.SettingBundles, clusters, list(func(c *spec.Cluster) []spec.Bundle { return c.Spec.Bundles }),
		Rule{Cluster: model.KeptFrozen, same: by(sameBundles), show: shown(showBundles)}},
	{model.SettingClassifications, clusters | day2, classifications, Rule{show: shown(showClassifications)}},
	{model.SettingInstallConfigOverrides, 0, nil, Rule{same: sameDocument, show: showSize}},
	{model.SettingIgnoredValidations, 0, nil, Rule{same: by(sameIgnored)}},

	{model.SettingTrustBundle, infraEnvs, text((*spec.Cluster).TrustBundle), Rule{same: sameLines}},
	{model.SettingKernelArguments, infraEnvs, list(func(c *spec.Cluster) []string { return c.Spec.Discovery.KernelArgs }), Rule{}},
	{model.SettingImageType, infraEnvs, text(func(c *spec.Cluster) spec.ImageType { return c.Spec.Boot.Image }), Rule{}},
	{model.SettingNetworkDelay, infraEnvs, networkDelay, Rule{}},
	{model.SettingOSVersion, infraEnvs, text(func(c *spec.Cluster) string { return c.Spec.Discovery.OSVersion }),
		Rule{same: SameVersion}},
	{model.SettingAgentLabels, infraEnvs, labels(func(c *spec.Cluster) map[string]string { return c.Spec.Hub.AgentLabels }), Rule{}},
	{model.SettingNodeLabels, infraEnvs, labels(func(c *spec.Cluster) map[string]string { return c.Spec.Hub.NodeLabels }), Rule{}},
	{model.SettingIPXE, infraEnvs, text(func(c *spec.Cluster) spec.IPXEScript { return c.Spec.Hub.IPXE }), Rule{}},
	{model.SettingIronic, infraEnvs, ironic, Rule{same: by(sameIronic)}},
	{model.SettingDiscoveryIgnition, 0, nil, Rule{same: sameDocument, show: showSize}},
	{model.SettingStaticNetworks, 0, nil, Rule{same: by(sameStaticNetworks), show: shown(showStaticNetworks)}},

	{model.SettingRole, 0, nil, Rule{same: sameRole}},
	{model.SettingKeepDisks, 0, nil, Rule{same: sameSet}},
	{model.SettingIgnition, 0, nil, Rule{same: sameDocument, show: showSize}},
	{model.SettingFencing, 0, nil, Rule{secret: true, Host: model.KeptHidden}},
	{model.SettingEndpointHeaders, 0, nil, Rule{show: showNames, secret: true, Host: model.KeptHidden}},
	{model.SettingHostExtra, 0, nil, Rule{show: showNames, secret: true, Host: model.KeptHidden}},
}

// saidOf is what cluster.yaml says of the objects of a kind.
func saidOf(c *spec.Cluster, kind of) model.Settings {
	s := model.Settings{}
	for _, r := range table {
		if r.of&kind == 0 {
			continue
		}
		if value := r.said(c); value != "" {
			s[r.setting] = value
		}
	}
	return s
}

func text[T ~string](of func(*spec.Cluster) T) func(*spec.Cluster) model.Value {
	return func(c *spec.Cluster) model.Value {
		if value := string(of(c)); value != "" {
			return model.ValueOf(value)
		}
		return ""
	}
}

func pointer[T any](of func(*spec.Cluster) *T) func(*spec.Cluster) model.Value {
	return func(c *spec.Cluster) model.Value {
		if value := of(c); value != nil {
			return model.ValueOf(*value)
		}
		return ""
	}
}

func list[T any](of func(*spec.Cluster) []T) func(*spec.Cluster) model.Value {
	return func(c *spec.Cluster) model.Value {
		if value := of(c); value != nil {
			return model.ValueOf(value)
		}
		return ""
	}
}

func labels(of func(*spec.Cluster) map[string]string) func(*spec.Cluster) model.Value {
	return func(c *spec.Cluster) model.Value {
		if value := of(c); value != nil {
			return model.ValueOf(value)
		}
		return ""
	}
}

func platform(c *spec.Cluster) model.Value {
	if c.Spec.Platform.Type == "" || platformImplied(c) && !c.Present("spec.platform") {
		return ""
	}
	return model.ValueOf(c.Spec.Platform)
}

// platformImplied says whether the service comes to the same platform by
// itself, so that it need not be sent.
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

func proxy(c *spec.Cluster) model.Value {
	if p := c.Spec.Proxy; p.HTTP == "" && p.HTTPS == "" && p.No == nil {
		return ""
	}
	return model.ValueOf(c.Spec.Proxy)
}

func hyperthreading(c *spec.Cluster) model.Value {
	if len(c.Spec.Hyperthreading) == 0 {
		return ""
	}
	return model.ValueOf(c.Spec.Hyperthreading)
}

func operators(c *spec.Cluster) model.Value {
	if c.Spec.Operators == nil {
		return ""
	}
	sorted := append([]spec.Operator{}, c.Spec.Operators...)
	slices.SortFunc(sorted, func(a, b spec.Operator) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		if len(sorted[i].Properties) == 0 {
			sorted[i].Properties = nil
		}
	}
	return model.ValueOf(sorted)
}

func classifications(c *spec.Cluster) model.Value {
	if c.Spec.Hub.Classifications == nil {
		return ""
	}
	return model.ValueOf(SortedClassifications(c.Spec.Hub.Classifications))
}

func networkDelay(c *spec.Cluster) model.Value {
	delay := time.Duration(c.Spec.Discovery.NetworkDelay)
	if delay <= 0 {
		return ""
	}
	return model.ValueOf(int(math.Ceil(delay.Seconds())))
}

func ironic(c *spec.Cluster) model.Value {
	if i := c.Spec.Hub.Ironic; !i.Agent && i.Image == "" && i.IPFamilies == nil {
		return ""
	}
	return model.ValueOf(c.Spec.Hub.Ironic)
}
