package service

import (
	"maps"
	"slices"
	"strings"
)

// featureUse is one entry of feature_usage.
type featureUse struct {
	Data map[string]any `json:"data,omitempty"`
	ID   string         `json:"id"`
	Name string         `json:"name"`
}

// use notes that the cluster makes use of a feature, or no longer does.
func (c *cluster) use(on bool, name string, data map[string]any) {
	uses := maps.Clone(c.uses) // what was printed may still be read
	if uses == nil {
		uses = map[string]featureUse{}
	}
	delete(uses, name)
	if on {
		id := strings.ToUpper(strings.NewReplacer(" ", "_", ".", "").Replace(name))
		uses[name] = featureUse{data, id, name}
	}
	c.uses, c.FeatureUsage = uses, inString(uses)
}

// makesUseOf tells whether the cluster was said to make use of a feature.
func (c *cluster) makesUseOf(name string) bool {
	_, used := c.uses[name]
	return used
}

// firstUses notes what a new cluster makes use of. The service looks at the proxy
// for http where it means the one for https.
func (c *cluster) firstUses() {
	c.use(c.isSingle(), "SNO", nil)
	c.useProxy(c.HTTPProxy, c.HTTPProxy, c.NoProxy)
	c.useTags()
	c.useSettings()
}

// changedUses notes what a cluster makes use of after a change. Of the proxy only
// what the change itself asks for counts.
func (c *cluster) changedUses(p *clusterUpdate) {
	c.useProxy(value(p.HTTPProxy), value(p.HTTPSProxy), value(p.NoProxy))
	if p.Tags != nil {
		c.useTags()
	}
	if p.SchedulableMasters != nil {
		c.use(*p.SchedulableMasters, "Schedulable masters", nil)
	}
	c.useSettings()
	c.useVirtualMachines()
	c.useArchitecture(c.CPUArchitecture)
}

func (c *cluster) useTags() { c.use(c.Tags != "", "Cluster Tags", nil) }

func (c *cluster) useSettings() {
	c.use(c.allocatesVips(), "VIP auto alloc.", nil)
	c.use(c.AdditionalNtpSource != "", "Additional NTP Source", map[string]any{"source_count": len(strings.Split(c.AdditionalNtpSource, ","))})
	c.use(c.Hyperthreading != "none" && c.Hyperthreading != "", "Hyperthreading", map[string]any{"hyperthreading_enabled": c.Hyperthreading})
	for kind, name := range map[string]string{"OVNKubernetes": "OVN", "OpenShiftSDN": "SDN", "CiscoACI": "CiscoACI", "Cilium": "Cilium", "Calico": "Calico", "None": "None"} {
		c.use(c.NetworkType == kind, name+" network type", nil)
	}
	c.use(c.dualStack(), "Dual-stack", nil)
	c.use(len(c.APIVips) > 1, "Dual-stack VIPs", nil)
	c.use(c.userManaged() && c.ControlPlaneCount >= 3, "User Managed Networking With Multi Node", nil)
	if e := c.DiskEncryption; e != nil && e.EnableOn != "none" && e.EnableOn != "" {
		c.use(true, "Disk encryption", map[string]any{"enable_on": e.EnableOn, "mode": e.Mode, "tang_servers": e.TangServers})
	}
	chosen := !oneOf(c.platformType(), "", platformBaremetal, "none")
	c.use(chosen, "Platform selection", map[string]any{"platform_type": c.platformType()})
	c.use(c.platformType() == "nutanix", "Nutanix integration", map[string]any{"platform_type": c.platformType()})
	c.useOperators()
}

// useProxy counts the fields that are set.
func (c *cluster) useProxy(plain, secure, none string) {
	set := map[string]any{}
	for name, text := range map[string]string{"http_proxy": plain, "https_proxy": secure, "no_proxy": none} {
		if text != "" {
			set[name] = 1
		}
	}
	c.use(len(set) > 0, "Proxy", set)
}

func (c *cluster) useOperators() {
	asked := map[string]bool{}
	for _, o := range c.MonitoredOperators {
		if o.OperatorType == "olm" {
			asked[strings.ToUpper(o.Name)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		c.use(true, name, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(c.operatorUses)) {
		if !asked[name] {
			c.use(false, name, nil)
		}
	}
	c.operatorUses = asked
}

// useVirtualMachines notes the virtual machines of a cluster that manages its own
// network.
func (c *cluster) useVirtualMachines() {
	var virtual []string
	for _, h := range c.hosts {
		if h.inv == nil {
			return
		}
		if h.inv.SystemVendor != nil && h.inv.SystemVendor.Virtual {
			virtual = append(virtual, h.ID)
		}
	}
	owned := oneOf(c.platformType(), "", platformBaremetal, "none") && !c.userManaged()
	c.use(owned && len(virtual) > 0, "Cluster managed networking with VMs", map[string]any{"VM Hosts": virtual})
}

func (c *cluster) useArchitecture(arch string) {
	for _, other := range []string{"arm64", "s390x", "ppc64le"} {
		c.use(arch == other, other+" architecture", nil)
	}
}

// levelInfraEnv is where Ignition is overridden for all machines of an infra-env.
const levelInfraEnv = "infra-env"

// useIgnition notes an override of Ignition at one level: that of infra-envs, or
// that of hosts.
func (c *cluster) useIgnition(level string, overridden bool) {
	const name = "Ignition Config Override"
	levels := maps.Clone(c.uses[name].Data)
	if levels == nil {
		levels = map[string]any{}
	}
	levels[level] = overridden
	some := false
	for _, v := range levels {
		some = some || v == true
	}
	c.use(some, name, levels)
}

// useOverrides notes which parts of the install-config were ever overridden, and
// whether the last overrides that spoke of FIPS asked for it.
func (c *cluster) useOverrides() {
	const name = "Install Config Overrides"
	var overrides map[string]any
	if unmarshal(c.InstallConfigOverrides, &overrides) != nil || len(overrides) == 0 {
		return
	}
	parts := maps.Clone(c.uses[name].Data)
	if parts == nil {
		parts = map[string]any{}
	}
	for key, v := range overrides {
		inner, _ := v.(map[string]any)
		parts[strings.Join(append([]string{key}, slices.Sorted(maps.Keys(inner))...), " ")] = true
	}
	c.use(true, name, parts)
	if fips, isBool := overrides["fips"].(bool); isBool {
		c.use(fips, "FIPS", nil)
	}
}
