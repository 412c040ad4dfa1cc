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
	add := func(name string, data map[string]any) {
		id := strings.ToUpper(strings.NewReplacer(" ", "_", ".", "").Replace(name))
		used[name] = featureUse{data, id, name}
	}
	if c.Hyperthreading != "" {
		add("Hyperthreading", map[string]any{"hyperthreading_enabled": c.Hyperthreading})
	}
	if c.NetworkType == "OVNKubernetes" {
		add("OVN network type", nil)
	}
	if c.autoRoles {
		add("auto assign role", nil)
	}
	if c.isSingle() {
		add("SNO", nil)
	}
	if c.userManaged() && !c.isSingle() {
		add("User Managed Networking With Multi Node", nil)
	}
	proxies := map[string]any{}
	for name, text := range map[string]string{"http_proxy": c.HTTPProxy, "https_proxy": c.HTTPSProxy, "no_proxy": c.NoProxy} {
		if text != "" {
			proxies[name] = 1
		}
	}
	if len(proxies) > 0 {
		add("Proxy", proxies)
	}
	if c.AdditionalNtpSource != "" {
		add("Additional NTP Source", map[string]any{"source_count": len(strings.Split(c.AdditionalNtpSource, ","))})
	}
	for _, o := range c.MonitoredOperators {
		if o.OperatorType == "olm" {
			add(strings.ToUpper(o.Name), nil)
		}
	}
	c.overridesUsage(add)
	if c.Tags != "" {
		add("Cluster Tags", nil)
	}
	if c.hasHostnames {
		add("Requested hostname", map[string]any{"host_count": 1}) // of however many
	}
	if c.hasStaticNetworks {
		add("Static Network Config", nil)
	}
	if c.hasKernelArguments {
		add("discovery kernel arguments", nil)
	}
	if c.dualStack() {
		add("Dual-stack", nil)
	}
	if len(c.APIVips) == 2 {
		add("Dual-stack VIPs", nil)
	}
	if c.DiskEncryption != nil && c.DiskEncryption.EnableOn != "none" && c.DiskEncryption.EnableOn != "" {
		add("Disk encryption", map[string]any{"enable_on": c.DiskEncryption.EnableOn, "mode": c.DiskEncryption.Mode})
	}
	if c.CPUArchitecture == "arm64" {
		add("arm64 architecture", nil)
	}
	if len(c.manifests) > 0 {
		add("Custom manifest", nil)
	}
	return inString(used)
}

// noteImage tells a cluster's features what its image was made with last.
func (s *Service) noteImage(e *infraEnv) {
	if c := s.clusters[e.ClusterID]; c != nil && !c.isDay2() {
		c.hasStaticNetworks, c.hasKernelArguments = e.StaticNetworkConfig != "", e.KernelArguments != nil
		c.FeatureUsage = c.usageText()
	}
}

// overridesUsage tells which parts of the install-config were overridden, and
// whether that asks for FIPS.
func (c *cluster) overridesUsage(add func(name string, data map[string]any)) {
	var overrides map[string]any
	if c.InstallConfigOverrides == "" || unmarshal(c.InstallConfigOverrides, &overrides) != nil || len(overrides) == 0 {
		return
	}
	used := map[string]any{}
	for key, v := range overrides {
		inner, _ := v.(map[string]any)
		used[strings.Join(append([]string{key}, sortedKeys(inner)...), " ")] = true
	}
	add("Install Config Overrides", used)
	if overrides["fips"] == true {
		add("FIPS", nil)
	}
}
