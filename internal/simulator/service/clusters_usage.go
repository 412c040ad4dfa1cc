package service

import "strings"

// featureUse is one entry of feature_usage.
type featureUse struct {
	Data map[string]any `json:"data,omitempty"`
	ID   string         `json:"id"`
	Name string         `json:"name"`
}

// usageText tells which features the cluster makes use of.
func (c *cluster) usageText() string {
	used := map[string]featureUse{}
	add := func(id, name string, data map[string]any) { used[name] = featureUse{data, id, name} }
	if c.Hyperthreading != "" {
		add("HYPERTHREADING", "Hyperthreading", map[string]any{"hyperthreading_enabled": c.Hyperthreading})
	}
	if c.NetworkType == "OVNKubernetes" {
		add("OVN_NETWORK_TYPE", "OVN network type", nil)
	}
	if c.autoRoles {
		add("AUTO_ASSIGN_ROLE", "auto assign role", nil)
	}
	if c.isSingle() {
		add("SNO", "SNO", nil)
	}
	if c.userManaged() && !c.isSingle() {
		add("USER_MANAGED_NETWORKING_WITH_MULTI_NODE", "User Managed Networking With Multi Node", nil)
	}
	proxies := map[string]any{}
	for name, text := range map[string]string{"http_proxy": c.HTTPProxy, "https_proxy": c.HTTPSProxy, "no_proxy": c.NoProxy} {
		if text != "" {
			proxies[name] = 1
		}
	}
	if len(proxies) > 0 {
		add("PROXY", "Proxy", proxies)
	}
	if c.AdditionalNtpSource != "" {
		add("ADDITIONAL_NTP_SOURCE", "Additional NTP Source", map[string]any{"source_count": len(strings.Split(c.AdditionalNtpSource, ","))})
	}
	for _, o := range c.MonitoredOperators {
		if name := strings.ToUpper(o.Name); o.OperatorType == "olm" {
			add(name, name, nil)
		}
	}
	c.overridesUsage(add)
	if len(c.APIVips) == 2 {
		add("DUAL_STACK_VIPS", "Dual-stack VIPs", nil)
	}
	if c.DiskEncryption != nil && c.DiskEncryption.EnableOn != "none" && c.DiskEncryption.EnableOn != "" {
		add("DISK_ENCRYPTION", "Disk encryption", map[string]any{"enable_on": c.DiskEncryption.EnableOn, "mode": c.DiskEncryption.Mode})
	}
	if c.CPUArchitecture == "arm64" {
		add("ARM64_ARCHITECTURE", "ARM64 Architecture", nil)
	}
	if len(c.manifests) > 0 {
		add("CUSTOM_MANIFEST", "Custom manifest", nil)
	}
	return inString(used)
}

// overridesUsage tells which parts of the install-config were overridden, and
// whether that asks for FIPS.
func (c *cluster) overridesUsage(add func(id, name string, data map[string]any)) {
	var overrides map[string]any
	if c.InstallConfigOverrides == "" || unmarshal(c.InstallConfigOverrides, &overrides) != nil || len(overrides) == 0 {
		return
	}
	used := map[string]any{}
	for key, v := range overrides {
		inner, _ := v.(map[string]any)
		used[strings.Join(append([]string{key}, sortedKeys(inner)...), " ")] = true
	}
	add("INSTALL_CONFIG_OVERRIDES", "Install Config Overrides", used)
	if overrides["fips"] == true {
		add("FIPS", "FIPS", nil)
	}
}
