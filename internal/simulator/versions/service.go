package versions

import (
	"fmt"
	"slices"
)

// ServiceRelease is a release of the service itself, as it comes with multicluster
// engine: "2.13". The zero value is the newest.
type ServiceRelease string

// Latest is the word for the newest release of the service.
const Latest = "latest"

// next is the release that what no release has yet will come with.
const next = "2.18"

// ServiceReleases are the releases that can be played, oldest first.
func ServiceReleases() []string {
	return []string{"2.11", "2.12", "2.13", "2.14", "2.15", "2.16", "2.17", Latest}
}

// ParseServiceRelease reads one of them.
func ParseServiceRelease(text string) (ServiceRelease, error) {
	switch {
	case !slices.Contains(ServiceReleases(), text):
		return "", fmt.Errorf("%q is not one of the service's releases %v", text, ServiceReleases())
	case text == Latest:
		return "", nil
	}
	return ServiceRelease(text), nil
}

// Has says whether a release has what came with another one.
func (r ServiceRelease) Has(since string) bool {
	return r == "" || since == "" || AtLeast(string(r), since)
}

// featuresSince says with which release of the service features came, as far as
// that is none of the oldest.
func featuresSince() map[string]string {
	since := map[string]string{}
	for release, ids := range map[string][]string{
		"2.13": {
			"MTV", "OSC", "NODE_FEATURE_DISCOVERY", "NVIDIA_GPU", "PIPELINES", "SERVICEMESH", "SERVERLESS", "OPENSHIFT_AI",
			"NON_STANDARD_HA_CONTROL_PLANE", "AUTHORINO", "USER_MANAGED_LOAD_BALANCER", "NMSTATE",
		},
		"2.14": {
			"TNA", "AMD_GPU", "KMM", "NODE_HEALTHCHECK", "SELF_NODE_REMEDIATION", "FENCE_AGENTS_REMEDIATION", "NODE_MAINTENANCE",
			"KUBE_DESCHEDULER",
		},
		"2.15": {"TNF", "CLUSTER_OBSERVABILITY", "NUMA_RESOURCES", "OADP", "METALLB", "DUAL_STACK_PRIMARY_IPV6"},
		"2.16": {"CILIUM_NETWORK_TYPE", "CALICO_NETWORK_TYPE", "CISCO_ACI_NETWORK_TYPE", "NONE_NETWORK_TYPE", "LOKI", "OPENSHIFT_LOGGING"},
	} {
		for _, id := range ids {
			since[id] = release
		}
	}
	return since
}

// HasFeature says whether a release of the service knows a feature.
func (r ServiceRelease) HasFeature(id string) bool { return r.Has(featuresSince()[id]) }

// HasOperator says whether a release of the service knows an operator.
func (r ServiceRelease) HasOperator(name string) bool {
	all := operatorFeatures()
	i := slices.IndexFunc(all, func(f feature) bool { return f.operator == name })
	return i < 0 || r.HasFeature(all[i].id)
}

// Field is a field of the service's API that came with some release.
type Field struct {
	Name  string
	Kind  string // of the object that has it: Cluster, InfraEnv, Host
	Since string
	// Known are the values that older releases know as well; without any they do
	// not know the field.
	Known []string
}

// Fields are the fields that not every release of the service knows as it does now.
func Fields() []Field {
	return []Field{
		{Name: "control_plane_count", Kind: "Cluster", Since: "2.13"},
		{Name: "load_balancer", Kind: "Cluster", Since: "2.13"},
		{Name: "ntp_sources", Kind: "Cluster", Since: next},
		{Name: "operator_bundles", Kind: "Cluster", Since: next},
		{Name: "hyperthreading", Kind: "Cluster", Since: "2.14", Known: []string{"masters", "workers", "none", "all"}},
		{Name: "network_type", Kind: "Cluster", Since: "2.16", Known: []string{"OpenShiftSDN", "OVNKubernetes"}},
		{Name: "rendezvous_ip", Kind: "InfraEnv", Since: "2.16"},
		{Name: "network_discovery_delay_seconds", Kind: "InfraEnv", Since: "2.17"},
		{Name: "ntp_sources", Kind: "InfraEnv", Since: next},
		{Name: "fencing_credentials", Kind: "Host", Since: "2.15"},
		{Name: "host_role", Kind: "Host", Since: "2.14", Known: []string{"auto-assign", "master", "worker"}},
	}
}

// validationsSince says with which release of the service validations came that
// belong to no operator.
func validationsSince() map[string]string {
	return map[string]string{
		"mtu-valid": "2.13", "no-iscsi-nic-belongs-to-machine-cidr": "2.13", "custom-manifests-requirements-satisfied": "2.17",
		"inventory-not-partially-truncated": next, "inventory-not-fully-truncated": next,
	}
}

// LaterValidations are the checks that belong to no operator and that a release of the
// service does not make yet.
func (r ServiceRelease) LaterValidations() []string {
	var later []string
	for id, since := range validationsSince() {
		if !r.Has(since) {
			later = append(later, id)
		}
	}
	return later
}
