package request

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
)

// recordFirstUses notes a new cluster's uses. The service looks at the http proxy for the https one.
func recordFirstUses(c *model.Cluster, s *Settings) {
	c.RecordUse(c.IsSingle(), "SNO", nil)
	useProxy(c, c.HTTPProxy, c.HTTPProxy, c.NoProxy)
	s.recordUses(c)
	useNetworks(c)
	useOperators(c)
}

// RecordChangedUses notes the uses after a change. Of the proxy only the change itself counts.
func RecordChangedUses(c *model.Cluster, p *V2ClusterUpdateParams) {
	useProxy(c, model.Value(p.HTTPProxy), model.Value(p.HTTPSProxy), model.Value(p.NoProxy))
	p.recordUses(c)
	p.recordChange(c)
	useNetworks(c)
	useOperators(c)
	useVirtualMachines(c)
	UseArchitecture(c, c.CPUArchitecture)
}

func useNetworks(c *model.Cluster) {
	c.RecordUse(validate.DualStack(c), "Dual-stack", nil)
	c.RecordUse(len(c.APIVips) > 1, "Dual-stack VIPs", nil)
	c.RecordUse(c.UserManaged() && c.ControlPlaneCount >= 3, "User Managed Networking With Multi Node", nil)
	chosen := !model.OneOf(c.PlatformType(), "", model.PlatformBaremetal, "none")
	c.RecordUse(chosen, "Platform selection", map[string]any{"platform_type": c.PlatformType()})
	c.RecordUse(c.PlatformType() == "nutanix", "Nutanix integration", map[string]any{"platform_type": c.PlatformType()})
}

func useProxy(c *model.Cluster, plain, secure, none string) {
	set := map[string]any{}
	for name, text := range map[string]string{"http_proxy": plain, "https_proxy": secure, "no_proxy": none} {
		if text != "" {
			set[name] = 1
		}
	}
	c.RecordUse(len(set) > 0, "Proxy", set)
}

func useOperators(c *model.Cluster) {
	asked := map[string]bool{}
	for _, o := range c.MonitoredOperators {
		if o.OperatorType == "olm" {
			asked[strings.ToUpper(o.Name)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		c.RecordUse(true, name, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(c.OperatorUses)) {
		if !asked[name] {
			c.RecordUse(false, name, nil)
		}
	}
	c.OperatorUses = asked
}

func useVirtualMachines(c *model.Cluster) {
	var virtual []string
	for _, h := range c.Hosts {
		if h.Inv == nil {
			return
		}
		if h.Inv.SystemVendor != nil && h.Inv.SystemVendor.Virtual {
			virtual = append(virtual, h.ID)
		}
	}
	owned := model.OneOf(c.PlatformType(), "", model.PlatformBaremetal, "none") && !c.UserManaged()
	c.RecordUse(owned && len(virtual) > 0, "Cluster managed networking with VMs", map[string]any{"VM Hosts": virtual})
}

// UseArchitecture records an architecture other than x86_64.
func UseArchitecture(c *model.Cluster, arch string) {
	for _, other := range []string{"arm64", "s390x", "ppc64le"} {
		c.RecordUse(arch == other, other+" architecture", nil)
	}
}

// LevelInfraEnv is where Ignition is overridden for all machines of an infra-env.
const LevelInfraEnv = "infra-env"

// UseIgnition notes an override of Ignition at one level: that of infra-envs, or that of hosts.
func UseIgnition(c *model.Cluster, level string, overridden bool) {
	const name = "Ignition Config Override"
	levels := maps.Clone(c.Uses[name].Data)
	if levels == nil {
		levels = map[string]any{}
	}
	levels[level] = overridden
	some := false
	for _, v := range levels {
		some = some || v == true
	}
	c.RecordUse(some, name, levels)
}

// UseOverrides notes what of the install-config was ever overridden, and what was last said of FIPS.
func UseOverrides(c *model.Cluster) {
	const name = "Install Config Overrides"
	var overrides map[string]any
	if json.Unmarshal([]byte(c.InstallConfigOverrides), &overrides) != nil || len(overrides) == 0 {
		return
	}
	parts := maps.Clone(c.Uses[name].Data)
	if parts == nil {
		parts = map[string]any{}
	}
	for key, v := range overrides {
		inner, _ := v.(map[string]any)
		parts[strings.Join(append([]string{key}, slices.Sorted(maps.Keys(inner))...), " ")] = true
	}
	c.RecordUse(true, name, parts)
	if fips, isBool := overrides["fips"].(bool); isBool {
		c.RecordUse(fips, "FIPS", nil)
	}
}
