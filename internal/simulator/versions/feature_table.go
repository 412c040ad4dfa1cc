package versions

import (
	"cmp"
	"slices"
)

// features holds every feature's row, ordered by id.
func features() []feature {
	rows := slices.Concat(topologyFeatures(), networkFeatures(), platformFeatures(), operatorFeatures())
	slices.SortFunc(rows, func(a, b feature) int { return cmp.Compare(a.id, b.id) })
	return rows
}

func platformAsked(q Query) bool { return q.PlatformType != "" }

func topologyFeatures() []feature {
	hypervisors := []string{VSphere, Nutanix}
	notArbiter := []string{"NUTANIX_INTEGRATION", "VSPHERE_INTEGRATION", "EXTERNAL_PLATFORM", "EXTERNAL_PLATFORM_OCI"}
	return []feature{
		{
			id: "SNO", name: "Single Node OpenShift", notPlatforms: hypervisors,
			exclusive: []string{
				"ODF", "NUTANIX_INTEGRATION", "VSPHERE_INTEGRATION", "CLUSTER_MANAGED_NETWORKING", "VIP_AUTO_ALLOC",
				"USER_MANAGED_LOAD_BALANCER", "NODE_HEALTHCHECK", "SELF_NODE_REMEDIATION", "FENCE_AGENTS_REMEDIATION",
				"NODE_MAINTENANCE", "KUBE_DESCHEDULER",
			},
			exclusiveBefore: map[string][]string{"4.19": {"DUAL_STACK_PRIMARY_IPV6"}},
		},
		{id: "SINGLE_NODE_EXPANSION", name: "Single Node Expansion", notPlatforms: hypervisors},
		{
			id: "TNA", name: "TNA Clusters", since: "4.19", supported: "4.20", preview: TechPreview,
			onlyPlatforms: []string{BareMetal, None},
			special: func(q Query) (string, string) {
				if q.PlatformType == None && !AtLeast(q.OpenshiftVersion, "4.22") {
					return Unavailable, ReasonPlatform
				}
				return "", ""
			},
			exclusive:       notArbiter,
			exclusiveBefore: map[string][]string{"4.22": {"NONE_PLATFORM"}},
		},
		{
			id: "TNF", name: "TNF Clusters", since: "4.20", supported: "4.22", preview: TechPreview,
			onlyPlatforms: []string{BareMetal, None}, exclusive: notArbiter,
		},
		{
			id: "NON_STANDARD_HA_CONTROL_PLANE", name: "Non-standard HA OCP Control Plane", since: "4.18",
			notArchs: []string{ARM, Power, Z, Multi}, onlyPlatforms: []string{BareMetal, None, External},
			exclusive: []string{"NUTANIX_INTEGRATION", "VSPHERE_INTEGRATION"},
		},
		{id: "CUSTOM_MANIFEST", name: "Custom Manifest"},
		{id: "MINIMAL_ISO", name: "Minimal ISO", notArchs: []string{Z}},
		{id: "FULL_ISO", name: "Full ISO", notOCI: true, exclusive: []string{"EXTERNAL_PLATFORM_OCI"}},
		{
			id: "SKIP_MCO_REBOOT", name: "Skip MCO reboot", since: "4.15", notArchs: []string{Z},
		},
	}
}

func networkFeatures() []feature {
	return []feature{
		{
			id: "VIP_AUTO_ALLOC", name: "VIP Automatic Allocation", gone: "4.15", preview: DevPreview, notPlatforms: []string{External},
			exclusive: []string{"SNO", "EXTERNAL_PLATFORM_OCI", "NONE_PLATFORM", "EXTERNAL_PLATFORM"},
		},
		{
			id: "CLUSTER_MANAGED_NETWORKING", name: "Cluster Managed Networking", notArchs: []string{Z, Power}, notPlatforms: []string{External},
			exclusive: []string{"SNO", "USER_MANAGED_NETWORKING", "EXTERNAL_PLATFORM_OCI", "NONE_PLATFORM", "EXTERNAL_PLATFORM"},
		},
		{
			id: "USER_MANAGED_NETWORKING", name: "User Managed Networking", notPlatforms: []string{Nutanix},
			exclusive: []string{"CLUSTER_MANAGED_NETWORKING", "NUTANIX_INTEGRATION", "BAREMETAL_PLATFORM"},
		},
		{
			id: "PLATFORM_MANAGED_NETWORKING", name: "Platform managed networking",
			notListed: func(q Query) bool { return !platformAsked(q) },
			special: func(q Query) (string, string) {
				if q.PlatformType == None || q.PlatformType == External {
					return Supported, ""
				}
				return Unsupported, ""
			},
			exclusive: []string{"BAREMETAL_PLATFORM", "VSPHERE_INTEGRATION", "NUTANIX_INTEGRATION"},
		},
		{
			id: "USER_MANAGED_LOAD_BALANCER", name: "User Managed Load Balancer", since: "4.16",
			onlyPlatforms: []string{BareMetal, VSphere},
			exclusive: []string{
				"SNO", "NONE_PLATFORM", "EXTERNAL_PLATFORM", "EXTERNAL_PLATFORM_OCI", "NUTANIX_INTEGRATION",
				"USER_MANAGED_NETWORKING", "DUAL_STACK", "VIP_AUTO_ALLOC",
			},
		},
		{id: "DUAL_STACK", name: "Dual-Stack"},
		{id: "DUAL_STACK_VIPS", name: "Dual-Stack VIPs", notOCI: true, exclusive: []string{"EXTERNAL_PLATFORM_OCI"}},
		{
			id: "DUAL_STACK_PRIMARY_IPV6", name: "Dual-Stack with primary IPv6", preview: TechPreview,
			exclusiveBefore: map[string][]string{"4.19": {"SNO"}},
		},
		{id: "SDN_NETWORK_TYPE", name: "Openshift SDN", gone: "4.15", exclusive: []string{"OVN_NETWORK_TYPE"}},
		{id: "OVN_NETWORK_TYPE", name: "Openshift OVN", exclusive: []string{"SDN_NETWORK_TYPE"}},
	}
}

func platformFeatures() []feature {
	external := []string{"CLUSTER_MANAGED_NETWORKING", "VIP_AUTO_ALLOC", "USER_MANAGED_LOAD_BALANCER", "TNA", "TNF"}
	hypervisor := []string{
		"SNO", "TNA", "TNF", "LVM", "CNV", "MTV", "OSC", "PLATFORM_MANAGED_NETWORKING", "NON_STANDARD_HA_CONTROL_PLANE",
	}
	return []feature{
		{
			id: "BAREMETAL_PLATFORM", name: "Baremetal Platform Integration", notListed: platformAsked,
			exclusive: []string{"PLATFORM_MANAGED_NETWORKING", "USER_MANAGED_NETWORKING"},
		},
		{
			id: "NONE_PLATFORM", name: "None Platform Integration", notListed: platformAsked,
			exclusive:       []string{"VIP_AUTO_ALLOC", "CLUSTER_MANAGED_NETWORKING", "USER_MANAGED_LOAD_BALANCER"},
			exclusiveBefore: map[string][]string{"4.22": {"TNA"}},
		},
		{
			id: "NUTANIX_INTEGRATION", name: "Nutanix Platform Integration", notListed: platformAsked, notArchs: []string{ARM, Power, Z},
			exclusive: slices.Concat(hypervisor, []string{"USER_MANAGED_NETWORKING", "MCE", "USER_MANAGED_LOAD_BALANCER"}),
		},
		{
			id: "VSPHERE_INTEGRATION", name: "vSphere Platform Integration", notListed: platformAsked, notArchs: []string{Power, Z},
			exclusive: hypervisor,
		},
		{id: "EXTERNAL_PLATFORM", name: "External Platform Integration", notListed: platformAsked, exclusive: external},
		{
			id: "EXTERNAL_PLATFORM_OCI", name: "Oracle Cloud Infrastructure external platform", notListed: platformAsked,
			notArchs:  []string{Power, Z},
			exclusive: slices.Concat(external, []string{"DUAL_STACK_VIPS", "FULL_ISO"}),
		},
	}
}

func operatorFeatures() []feature {
	hypervisors := []string{VSphere, Nutanix}
	offHypervisors := []string{"NUTANIX_INTEGRATION", "VSPHERE_INTEGRATION"}
	mainframes := []string{Power, Z}
	onlyX86 := []string{ARM, Power, Z}
	return []feature{
		{
			id: "LVM", name: "Logical Volume Management", operator: "lvm", notArchs: mainframes, notPlatforms: hypervisors,
			exclusive:       append([]string{"ODF"}, offHypervisors...),
			exclusiveBefore: map[string][]string{"4.15": {"VIP_AUTO_ALLOC", "CLUSTER_MANAGED_NETWORKING"}},
		},
		{id: "ODF", name: "OpenShift Data Foundation", operator: "odf", notArchs: []string{ARM}, exclusive: []string{"SNO", "LVM", "EXTERNAL_PLATFORM_OCI"}},
		{id: "LSO", name: "Local Storage Operator", operator: "lso", notArchs: []string{ARM}},
		{
			id: "CNV", name: "OpenShift Virtualization", operator: "cnv", notArchs: mainframes, notPlatforms: hypervisors,
			special: func(q Query) (string, string) {
				if q.CPUArchitecture == ARM {
					return DevPreview, ""
				}
				return "", ""
			},
			exclusive: offHypervisors,
		},
		{id: "MCE", name: "multicluster engine", operator: "mce", notPlatforms: []string{Nutanix}, exclusive: []string{"NUTANIX_INTEGRATION"}},
		{id: "MTV", name: "OpenShift Migration Toolkit for Virtualization", operator: "mtv", since: "4.14", notArchs: onlyX86, notPlatforms: hypervisors, exclusive: offHypervisors},
		{id: "OSC", name: "OpenShift sandboxed containers", operator: "osc", notArchs: onlyX86, notPlatforms: hypervisors, exclusive: offHypervisors},
		{id: "NODE_FEATURE_DISCOVERY", name: "Node Feature Discovery", operator: "node-feature-discovery", preview: DevPreview, notArchs: mainframes},
		{id: "NVIDIA_GPU", name: "NVIDIA GPU", operator: "nvidia-gpu", preview: DevPreview, notArchs: onlyX86},
		{id: "AMD_GPU", name: "AMD GPU", operator: "amd-gpu", preview: DevPreview, notArchs: onlyX86},
		{id: "KMM", name: "Kernel Module Management", operator: "kmm", preview: DevPreview},
		{id: "PIPELINES", name: "Pipelines", operator: "pipelines", preview: DevPreview},
		{id: "SERVICEMESH", name: "ServiceMesh", operator: "servicemesh", preview: DevPreview},
		{id: "SERVERLESS", name: "Serverless", operator: "serverless", preview: DevPreview},
		{id: "AUTHORINO", name: "Authorino", operator: "authorino", preview: DevPreview, notArchs: []string{ARM}},
		{id: "OPENSHIFT_AI", name: "OpenShift AI", operator: "openshift-ai", since: "4.12", preview: DevPreview, notArchs: onlyX86, exclusive: []string{"EXTERNAL_PLATFORM_OCI"}},
		{
			id: "NMSTATE", name: "NMState", operator: "nmstate", since: "4.12", notArchs: onlyX86, notPlatforms: []string{Nutanix, External},
			exclusive: []string{"NUTANIX_INTEGRATION", "EXTERNAL_PLATFORM", "EXTERNAL_PLATFORM_OCI"},
		},
		{id: "NODE_HEALTHCHECK", name: "Node Healthcheck", operator: "node-healthcheck", exclusive: []string{"SNO"}},
		{id: "SELF_NODE_REMEDIATION", name: "Self Node Remediation", operator: "self-node-remediation", preview: TechPreview, exclusive: []string{"SNO"}},
		{id: "FENCE_AGENTS_REMEDIATION", name: "Fence Agents Remediation", operator: "fence-agents-remediation", exclusive: []string{"SNO"}},
		{id: "NODE_MAINTENANCE", name: "Node Maintenance", operator: "node-maintenance", exclusive: []string{"SNO"}},
		{id: "KUBE_DESCHEDULER", name: "Kube Descheduler", operator: "kube-descheduler", exclusive: []string{"SNO"}},
		{id: "CLUSTER_OBSERVABILITY", name: "Cluster Observability", operator: "cluster-observability"},
		{id: "LOKI", name: "Loki", operator: "loki", since: "4.17"},
		{id: "METALLB", name: "MetalLB", operator: "metallb"},
		{id: "NUMA_RESOURCES", name: "NUMA Resources", operator: "numaresources"},
		{id: "OADP", name: "OADP", operator: "oadp"},
		{id: "OPENSHIFT_LOGGING", name: "OpenShift Logging", operator: "openshift-logging", since: "4.17"},
	}
}
