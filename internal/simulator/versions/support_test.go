package versions_test

import (
	"slices"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/versions"
)

func featureLevel(id string, q versions.Query) (level, reason string) {
	answer := versions.DetailedFeatures(q)
	for _, o := range answer.Operators {
		answer.Features = append(answer.Features, o.FeatureSupport)
	}
	for _, f := range answer.Features {
		if f.ID == id {
			return f.SupportLevel, f.Reason
		}
	}
	return "", ""
}

func TestFeatureLevel(t *testing.T) {
	type q = versions.Query
	tests := []struct {
		id            string
		query         q
		level, reason string
	}{
		{"SNO", q{OpenshiftVersion: "4.21.28"}, "supported", ""},
		{"SNO", q{OpenshiftVersion: "4.21", PlatformType: "vsphere"}, "unavailable", "platform"},
		{"TNA", q{OpenshiftVersion: "4.18"}, "unavailable", "openshiftVersion"},
		{"TNA", q{OpenshiftVersion: "4.19.42"}, "tech-preview", ""},
		{"TNA", q{OpenshiftVersion: "4.20"}, "supported", ""},
		{"TNA", q{OpenshiftVersion: "4.21", PlatformType: "none"}, "unavailable", "platform"},
		{"TNA", q{OpenshiftVersion: "4.22", PlatformType: "none"}, "supported", ""},
		{"TNF", q{OpenshiftVersion: "4.19"}, "unavailable", "openshiftVersion"},
		{"TNF", q{OpenshiftVersion: "4.21"}, "tech-preview", ""},
		{"TNF", q{OpenshiftVersion: "4.22.0-rc.4"}, "supported", ""},
		{"NON_STANDARD_HA_CONTROL_PLANE", q{OpenshiftVersion: "4.17"}, "unavailable", "openshiftVersion"},
		{"NON_STANDARD_HA_CONTROL_PLANE", q{OpenshiftVersion: "4.18"}, "supported", ""},
		{"NON_STANDARD_HA_CONTROL_PLANE", q{OpenshiftVersion: "4.18", CPUArchitecture: "arm64"}, "unavailable", "cpuArchitecture"},
		{"VIP_AUTO_ALLOC", q{OpenshiftVersion: "4.14"}, "dev-preview", ""},
		{"VIP_AUTO_ALLOC", q{OpenshiftVersion: "4.15"}, "unavailable", "openshiftVersion"},
		{"SDN_NETWORK_TYPE", q{OpenshiftVersion: "4.14"}, "supported", ""},
		{"SDN_NETWORK_TYPE", q{OpenshiftVersion: "4.21"}, "unavailable", "openshiftVersion"},
		{"USER_MANAGED_LOAD_BALANCER", q{OpenshiftVersion: "4.15"}, "unavailable", "openshiftVersion"},
		{"USER_MANAGED_LOAD_BALANCER", q{OpenshiftVersion: "4.16", PlatformType: "baremetal"}, "supported", ""},
		{"USER_MANAGED_LOAD_BALANCER", q{OpenshiftVersion: "4.16", PlatformType: "none"}, "unavailable", "platform"},
		{"FULL_ISO", q{OpenshiftVersion: "4.21", PlatformType: "external", ExternalPlatform: "oci"}, "unavailable", "ociExternalIntegrationDisabled"},
		{"MINIMAL_ISO", q{OpenshiftVersion: "4.21", CPUArchitecture: "s390x"}, "unavailable", "cpuArchitecture"},
		{"CNV", q{OpenshiftVersion: "4.21", CPUArchitecture: "arm64"}, "dev-preview", ""},
		{"AMD_GPU", q{OpenshiftVersion: "4.21"}, "dev-preview", ""},
		{"BAREMETAL_PLATFORM", q{OpenshiftVersion: "4.21"}, "supported", ""},
		{"BAREMETAL_PLATFORM", q{OpenshiftVersion: "4.21", PlatformType: "baremetal"}, "", ""},
		{"PLATFORM_MANAGED_NETWORKING", q{OpenshiftVersion: "4.21"}, "", ""},
		{"PLATFORM_MANAGED_NETWORKING", q{OpenshiftVersion: "4.21", PlatformType: "baremetal"}, "unsupported", ""},
		{"PLATFORM_MANAGED_NETWORKING", q{OpenshiftVersion: "4.21", PlatformType: "none"}, "supported", ""},
		{"NO_SUCH_FEATURE", q{OpenshiftVersion: "4.21"}, "", ""},
	}
	for _, tt := range tests {
		level, reason := featureLevel(tt.id, tt.query)
		if level != tt.level || reason != tt.reason {
			t.Errorf("%s for %+v = %q (%s), want %q (%s)", tt.id, tt.query, level, reason, tt.level, tt.reason)
		}
		if listed := versions.FeatureLevels(tt.query)[tt.id]; listed != tt.level {
			t.Errorf("%s for %+v is listed as %q", tt.id, tt.query, listed)
		}
	}
}

func TestExclusionsNameFeatures(t *testing.T) {
	known := map[string]bool{"PLATFORM_MANAGED_NETWORKING": true}
	details := versions.DetailedFeatures(versions.Query{OpenshiftVersion: "4.21"})
	all := slices.Clone(details.Features)
	for _, operator := range details.Operators {
		all = append(all, operator.FeatureSupport)
		if !slices.Contains(versions.Operators(), operator.Name) {
			t.Errorf("feature %s names operator %q, which is not supported", operator.ID, operator.Name)
		}
	}
	if len(details.Operators) != len(versions.Operators()) {
		t.Errorf("%d operators have a feature, %d are supported", len(details.Operators), len(versions.Operators()))
	}
	for _, f := range all {
		known[f.ID] = true
	}
	for _, f := range all {
		for _, other := range f.Incompatibilities {
			if !known[other] {
				t.Errorf("%s excludes %q, which is no feature", f.ID, other)
			}
		}
	}
}

func TestFeatureUnavailableText(t *testing.T) {
	got := versions.FeatureUnavailable("VIP_AUTO_ALLOC", versions.Query{OpenshiftVersion: "4.21.28"})
	want := "cannot use VIP Automatic Allocation because it's not compatible with the x86_64 architecture on version 4.21.28 of OpenShift"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := versions.FeatureUnavailable("SNO", versions.Query{OpenshiftVersion: "4.21.28"}); got != "" {
		t.Errorf("single node: %s", got)
	}
}

func TestArchitectureLevels(t *testing.T) {
	levels := versions.ArchitectureLevels("4.21.28")
	if levels["ARM64_ARCHITECTURE"] != "supported" || levels["MULTIARCH_RELEASE_IMAGE"] != "tech-preview" || len(levels) != 5 {
		t.Errorf("levels = %v", levels)
	}
	if got := versions.ArchitectureLevels("4.9")["ARM64_ARCHITECTURE"]; got != "unsupported" {
		t.Errorf("arm on 4.9 = %q", got)
	}
}

func TestWithDependencies(t *testing.T) {
	tests := []struct {
		names   []string
		single  bool
		chosen  []string
		added   []string
		missing string
	}{
		{names: nil},
		{names: []string{"lso", "lso"}, chosen: []string{"lso"}},
		{names: []string{"odf"}, chosen: []string{"odf"}, added: []string{"lso"}},
		{names: []string{"lso", "cnv"}, chosen: []string{"lso", "cnv"}},
		{names: []string{"mtv"}, chosen: []string{"mtv"}, added: []string{"cnv"}},
		{names: []string{"openshift-ai"}, chosen: []string{"openshift-ai"}},
		{names: []string{"openshift-ai"}, single: true, chosen: []string{"openshift-ai"}, added: []string{"lvm"}},
		{names: []string{"cluster-observability"}, chosen: []string{"cluster-observability"}, added: []string{"openshift-logging", "loki"}},
		{names: []string{"amd-gpu"}, chosen: []string{"amd-gpu"}, added: []string{"node-feature-discovery", "kmm"}},
		{names: []string{"lso", "zzz"}, missing: "zzz"},
	}
	for _, tt := range tests {
		all, missing := versions.WithDependencies(tt.names, tt.single)
		var chosen, added []string
		for _, o := range all {
			if o.DependencyOnly {
				added = append(added, o.Name)
			} else {
				chosen = append(chosen, o.Name)
			}
			if o.Namespace == "" || o.Subscription == "" || o.TimeoutSeconds <= 0 {
				t.Errorf("operator %+v is incomplete", o)
			}
		}
		if missing != tt.missing || !slices.Equal(chosen, tt.chosen) || !slices.Equal(added, tt.added) {
			t.Errorf("WithDependencies(%v) = %v + %v, missing %q", tt.names, chosen, added, missing)
		}
	}
	if versions.UnsupportedOperator("zzz") != "operator zzz isn't supported" {
		t.Error("the service's words differ")
	}
}

func TestBundles(t *testing.T) {
	tests := []struct {
		query versions.Query
		want  []string
	}{
		{versions.Query{}, []string{"virtualization", "openshift-ai"}},
		{versions.Query{OpenshiftVersion: "4.21"}, []string{"virtualization", "openshift-ai"}},
		{versions.Query{OpenshiftVersion: "4.21", PlatformType: "vsphere"}, []string{"openshift-ai"}},
		{versions.Query{OpenshiftVersion: "4.21", CPUArchitecture: "s390x"}, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, bundle := range versions.Bundles(tt.query) {
			got = append(got, bundle.ID)
			for _, name := range slices.Concat(bundle.Operators, bundle.OptionalOperators) {
				if !slices.Contains(versions.Operators(), name) {
					t.Errorf("bundle %s has operator %q, which is not supported", bundle.ID, name)
				}
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Bundles(%+v) = %v, want %v", tt.query, got, tt.want)
		}
	}
	if _, ok := versions.BundleByID("virtualization"); !ok {
		t.Error("no virtualization bundle")
	}
	if _, ok := versions.BundleByID("zzz"); ok {
		t.Error("a bundle zzz")
	}
	if properties, ok := versions.OperatorProperties("lvm"); !ok || len(properties) != 0 {
		t.Errorf("lvm's properties: %v, %v", properties, ok)
	}
}

func TestRoleHardware(t *testing.T) {
	tests := []struct {
		version, role       string
		cores, memory, disk int64
		latency, loss       float64 // -1: not asked
	}{
		{"4.21", "master", 4, 16384, 100, 100, 0},
		{"4.21", "worker", 2, 8192, 100, 1000, 10},
		{"4.21", "arbiter", 2, 8192, 50, 1000, 10},
		{"4.21", "sno", 8, 16384, 100, -1, -1},
		{"4.22", "sno", 4, 16384, 100, -1, -1},
		{"4.21", "edge-worker", 2, 8192, 15, 1000, 10},
	}
	for _, tt := range tests {
		h := versions.RoleHardware(tt.version, tt.role)
		latency, loss := -1.0, -1.0
		if h.LatencyMs != nil {
			latency = *h.LatencyMs
		}
		if h.PacketLoss != nil {
			loss = *h.PacketLoss
		}
		if h.CPUCores != tt.cores || h.RAMMiB != tt.memory || h.DiskGB != tt.disk || latency != tt.latency || loss != tt.loss {
			t.Errorf("RoleHardware(%s, %s) = %+v, latency %v, loss %v", tt.version, tt.role, h, latency, loss)
		}
	}
	with := versions.HostHardware("4.21", "master", []string{"cnv", "lso", "zzz"})
	if with.CPUCores != 8 || with.RAMMiB != 16534 {
		t.Errorf("a control plane host with virtualization: %+v", with)
	}
	if alone := versions.HostHardware("4.21", "sno", []string{"cnv"}); alone.CPUCores != 14 || alone.RAMMiB != 16894 {
		t.Errorf("a single node with virtualization: %+v", alone)
	}
	if hub := versions.HostHardware("4.21", "sno", []string{"mce"}); hub.CPUCores != 16 || hub.RAMMiB != 48<<10 {
		t.Errorf("a single node that manages clusters: %+v", hub)
	}
}
