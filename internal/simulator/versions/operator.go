package versions

import (
	"slices"
	"time"

	"github.com/openshift/assisted-service/models"
)

// Operator is one OLM operator that the service can install.
type Operator struct {
	// Name is what olm_operators[].name says, such as "lvm".
	Name string
	// Namespace and Subscription are where OLM puts it.
	Namespace, Subscription string
	// Timeout is how long the controller waits for it (timeout_seconds).
	Timeout time.Duration
	// DependencyOnly marks one that nobody asked for by name.
	DependencyOnly bool
}

// operator is a row of the table: an Operator and what it needs.
type operator struct {
	name, namespace, subscription string
	timeout                       time.Duration
	dependencies                  []string
	onSingleNode                  []string // further dependencies there
	master, worker                Hardware // on top of the role's own
	single                        Hardware // of a single node, on top of the control plane's
}

func operators() []operator {
	const gib = 1024
	const availability = "openshift-workload-availability"
	hour, half := time.Hour, 30*time.Minute
	return []operator{
		{name: "amd-gpu", namespace: "openshift-amd-gpu", subscription: "amd-gpu-operator", timeout: half, dependencies: []string{"node-feature-discovery", "kmm"}},
		{name: "authorino", namespace: "openshift-operators", subscription: "authorino-operator", timeout: half},
		{name: "cluster-observability", namespace: "openshift-cluster-observability-operator", subscription: "cluster-observability-operator", timeout: half, dependencies: []string{"openshift-logging"}},
		{
			name: "cnv", namespace: "openshift-cnv", subscription: "hco-operatorhub", timeout: hour,
			master: Hardware{CPUCores: 4, RAMMiB: 150}, worker: Hardware{CPUCores: 2, RAMMiB: 360}, single: Hardware{CPUCores: 2, RAMMiB: 360},
		},
		{name: "fence-agents-remediation", namespace: availability, subscription: "fence-agents-remediation", timeout: half, dependencies: []string{"node-healthcheck"}},
		{name: "kmm", namespace: "openshift-kmm", subscription: "kernel-module-management", timeout: half},
		{name: "kube-descheduler", namespace: "openshift-kube-descheduler-operator", subscription: "cluster-kube-descheduler-operator", timeout: half},
		{name: "loki", namespace: "openshift-operators-redhat", subscription: "loki-operator", timeout: half},
		{name: "lso", namespace: "openshift-local-storage", subscription: "local-storage-operator", timeout: 70 * time.Minute},
		{
			name: "lvm", namespace: "openshift-storage", subscription: "lvms-operator", timeout: half,
			master: Hardware{CPUCores: 1, RAMMiB: 100}, worker: Hardware{CPUCores: 1, RAMMiB: 100},
		},
		{
			name: "mce", namespace: "multicluster-engine", subscription: "multicluster-engine", timeout: hour,
			master: Hardware{CPUCores: 4, RAMMiB: 16 * gib}, worker: Hardware{CPUCores: 4, RAMMiB: 16 * gib}, single: Hardware{CPUCores: 4, RAMMiB: 16 * gib},
		},
		{name: "metallb", namespace: "metallb-system", subscription: "metallb-operator", timeout: half},
		{
			name: "mtv", namespace: "openshift-mtv", subscription: "mtv-operator", timeout: hour, dependencies: []string{"cnv"},
			master: Hardware{CPUCores: 1, RAMMiB: gib}, worker: Hardware{CPUCores: 1, RAMMiB: gib},
		},
		{name: "nmstate", namespace: "openshift-nmstate", subscription: "kubernetes-nmstate-operator", timeout: hour},
		{name: "node-feature-discovery", namespace: "openshift-nfd", subscription: "nfd", timeout: half},
		{name: "node-healthcheck", namespace: availability, subscription: "node-healthcheck-operator", timeout: half},
		{name: "node-maintenance", namespace: "openshift-workload-maintenance", subscription: "node-maintenance-operator", timeout: half},
		{name: "numaresources", namespace: "openshift-numaresources", subscription: "numaresources-operator", timeout: half},
		{name: "nvidia-gpu", namespace: "nvidia-gpu-operator", subscription: "gpu-operator-certified", timeout: half, dependencies: []string{"node-feature-discovery"}},
		{name: "oadp", namespace: "openshift-adp", subscription: "redhat-oadp-operator", timeout: half},
		{
			name: "odf", namespace: "openshift-storage", subscription: "odf-operator", timeout: half, dependencies: []string{"lso"},
			master: Hardware{CPUCores: 6, RAMMiB: 19 * gib}, worker: Hardware{CPUCores: 8, RAMMiB: 19 * gib},
		},
		{
			name: "openshift-ai", namespace: "redhat-ods-operator", subscription: "rhods-operator", timeout: half,
			onSingleNode: []string{"lvm"},
			worker:       Hardware{CPUCores: 8, RAMMiB: 32 * gib},
		},
		{name: "openshift-logging", namespace: "openshift-logging", subscription: "cluster-logging", timeout: half, dependencies: []string{"loki"}},
		{
			name: "osc", namespace: "openshift-sandboxed-containers-operator", subscription: "sandboxed-containers-operator", timeout: hour,
			dependencies: []string{"node-feature-discovery"},
			master:       Hardware{CPUCores: 1, RAMMiB: gib}, worker: Hardware{CPUCores: 1, RAMMiB: gib},
		},
		{name: "pipelines", namespace: "openshift-operators", subscription: "openshift-pipelines-operator-rh", timeout: half},
		{name: "self-node-remediation", namespace: availability, subscription: "self-node-remediation", timeout: half, dependencies: []string{"node-healthcheck"}},
		{name: "serverless", namespace: "openshift-serverless", subscription: "serverless-operator", timeout: half},
		{name: "servicemesh", namespace: "openshift-operators", subscription: "servicemeshoperator", timeout: half},
	}
}

func findOperator(name string) (operator, bool) {
	for _, o := range operators() {
		if o.name == name {
			return o, true
		}
	}
	return operator{}, false
}

// Operators answers GET /v2/supported-operators: the names, in order.
func Operators() []string {
	var names []string
	for _, o := range operators() {
		names = append(names, o.name)
	}
	return names
}

// OperatorProperties answers GET /v2/supported-operators/{name}. No operator
// has any property; an unknown one is not ok.
func OperatorProperties(name string) (models.OperatorProperties, bool) {
	_, ok := findOperator(name)
	return models.OperatorProperties{}, ok
}

// UnsupportedOperator is the reason of the service's 400 for a name that is not
// among Operators.
func UnsupportedOperator(name string) string { return "operator " + name + " isn't supported" }

// WithDependencies is what the service installs for the operators that a user
// named: those, in the user's order and once each, and then what they depend
// on; single tells that it is on a single node. The first unknown name is
// returned as missing.
func WithDependencies(names []string, single bool) (all []Operator, missing string) {
	added := map[string]bool{}
	var queue []operator
	for i, name := range names {
		o, ok := findOperator(name)
		if !ok {
			return nil, name
		}
		if slices.Contains(names[:i], name) {
			continue
		}
		added[name] = true
		queue = append(queue, o)
	}
	chosen := len(queue)
	for i := 0; i < len(queue); i++ {
		o := queue[i]
		all = append(all, Operator{
			Name: o.name, Namespace: o.namespace, Subscription: o.subscription, Timeout: o.timeout, DependencyOnly: i >= chosen,
		})
		for _, dependency := range o.needed(single) {
			if added[dependency] {
				continue
			}
			added[dependency] = true
			if next, ok := findOperator(dependency); ok {
				queue = append(queue, next)
			}
		}
	}
	return all, ""
}

// Bundle is a named set of operators.
type Bundle struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Operators   []string `json:"operators"`
	// OptionalOperators may be chosen on top.
	OptionalOperators []string `json:"optional_operators"`
}

// Bundles answers GET /v2/operators/bundles for the operators that the query
// leaves available; a bundle that misses one of its operators is left out.
func Bundles(q Query) []Bundle {
	levels := map[string]string{}
	for _, support := range DetailedFeatures(q).Operators {
		levels[support.Name] = support.SupportLevel
	}
	available := func(name string) bool { return q.OpenshiftVersion == "" || levels[name] != Unavailable }
	kept := []Bundle{}
	for _, bundle := range bundles() {
		if !slices.ContainsFunc(bundle.Operators, func(name string) bool { return !available(name) }) {
			bundle.OptionalOperators = slices.DeleteFunc(bundle.OptionalOperators, func(name string) bool { return !available(name) })
			kept = append(kept, bundle)
		}
	}
	return kept
}

// BundleByID answers GET /v2/operators/bundles/{id}.
func BundleByID(id string) (Bundle, bool) {
	for _, bundle := range bundles() {
		if bundle.ID == id {
			return bundle, true
		}
	}
	return Bundle{}, false
}

func bundles() []Bundle {
	return []Bundle{
		{
			ID: "virtualization", Title: "Virtualization",
			Description: "Run virtual machines alongside containers on one platform.",
			Operators: []string{
				"cluster-observability", "cnv", "fence-agents-remediation", "kube-descheduler", "loki", "metallb", "mtv", "nmstate",
				"node-healthcheck", "node-maintenance", "numaresources", "oadp", "openshift-logging",
			},
		},
		{
			ID: "openshift-ai", Title: "OpenShift AI",
			Description:       "Train, serve, monitor and manage AI/ML models and applications using GPUs.",
			Operators:         []string{"authorino", "odf", "openshift-ai", "pipelines", "serverless", "servicemesh"},
			OptionalOperators: []string{"amd-gpu", "nvidia-gpu"},
		},
	}
}
