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
	master, worker                Hardware // on top of the role's own
}

func operators() []operator {
	const gib = 1024
	hour := time.Hour
	return []operator{
		{name: "amd-gpu", namespace: "openshift-amd-gpu", subscription: "amd-gpu-operator", timeout: 30 * time.Minute, dependencies: []string{"kmm", "node-feature-discovery"}},
		{name: "authorino", namespace: "openshift-operators", subscription: "authorino-operator", timeout: 30 * time.Minute},
		{
			name: "cnv", namespace: "openshift-cnv", subscription: "hco-operatorhub", timeout: hour, dependencies: []string{"lso"},
			master: Hardware{CPUCores: 4, RAMMiB: 150}, worker: Hardware{CPUCores: 2, RAMMiB: 360},
		},
		{name: "fence-agents-remediation", namespace: "openshift-workload-availability", subscription: "fence-agents-remediation", timeout: hour, dependencies: []string{"node-healthcheck"}},
		{name: "kmm", namespace: "openshift-kmm", subscription: "kernel-module-management", timeout: 30 * time.Minute},
		{name: "kube-descheduler", namespace: "openshift-kube-descheduler-operator", subscription: "cluster-kube-descheduler-operator", timeout: hour},
		{name: "lso", namespace: "openshift-local-storage", subscription: "local-storage-operator", timeout: 70 * time.Minute},
		{
			name: "lvm", namespace: "openshift-storage", subscription: "lvms-operator", timeout: 30 * time.Minute,
			master: Hardware{CPUCores: 1, RAMMiB: 400}, worker: Hardware{CPUCores: 1, RAMMiB: 400},
		},
		{
			name: "mce", namespace: "multicluster-engine", subscription: "multicluster-engine", timeout: hour,
			master: Hardware{CPUCores: 4, RAMMiB: 16 * gib}, worker: Hardware{CPUCores: 4, RAMMiB: 16 * gib},
		},
		{
			name: "mtv", namespace: "openshift-mtv", subscription: "mtv-operator", timeout: hour, dependencies: []string{"cnv"},
			master: Hardware{CPUCores: 1, RAMMiB: gib}, worker: Hardware{CPUCores: 1, RAMMiB: gib},
		},
		{name: "nmstate", namespace: "openshift-nmstate", subscription: "kubernetes-nmstate-operator", timeout: hour},
		{name: "node-feature-discovery", namespace: "openshift-nfd", subscription: "nfd", timeout: 30 * time.Minute},
		{name: "node-healthcheck", namespace: "openshift-workload-availability", subscription: "node-healthcheck-operator", timeout: hour, dependencies: []string{"self-node-remediation"}},
		{name: "node-maintenance", namespace: "openshift-workload-availability", subscription: "node-maintenance-operator", timeout: hour},
		{name: "nvidia-gpu", namespace: "nvidia-gpu-operator", subscription: "gpu-operator-certified", timeout: 30 * time.Minute, dependencies: []string{"node-feature-discovery"}},
		{
			name: "odf", namespace: "openshift-storage", subscription: "odf-operator", timeout: 30 * time.Minute, dependencies: []string{"lso"},
			master: Hardware{CPUCores: 6, RAMMiB: 19 * gib, DiskGB: 25}, worker: Hardware{CPUCores: 8, RAMMiB: 19 * gib, DiskGB: 25},
		},
		{
			name: "openshift-ai", namespace: "redhat-ods-operator", subscription: "rhods-operator", timeout: hour,
			dependencies: []string{"authorino", "odf", "pipelines", "serverless", "servicemesh"},
			worker:       Hardware{CPUCores: 8, RAMMiB: 32 * gib},
		},
		{
			name: "osc", namespace: "openshift-sandboxed-containers-operator", subscription: "sandboxed-containers-operator", timeout: hour,
			master: Hardware{RAMMiB: gib}, worker: Hardware{RAMMiB: gib},
		},
		{name: "pipelines", namespace: "openshift-operators", subscription: "openshift-pipelines-operator-rh", timeout: 30 * time.Minute},
		{name: "self-node-remediation", namespace: "openshift-workload-availability", subscription: "self-node-remediation-operator", timeout: hour},
		{name: "serverless", namespace: "openshift-serverless", subscription: "serverless-operator", timeout: 30 * time.Minute},
		{name: "servicemesh", namespace: "openshift-operators", subscription: "servicemeshoperator", timeout: 30 * time.Minute},
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
// on. The first unknown name is returned as missing.
func WithDependencies(names []string) (all []Operator, missing string) {
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
		for _, dependency := range o.dependencies {
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
			Operators:   []string{"cnv", "mtv", "nmstate", "node-healthcheck", "fence-agents-remediation", "self-node-remediation", "node-maintenance", "kube-descheduler"},
			OptionalOperators: []string{
				"lso", "odf",
			},
		},
		{
			ID: "openshift-ai", Title: "OpenShift AI",
			Description:       "Train, serve, monitor and manage AI/ML models and applications.",
			Operators:         []string{"openshift-ai", "authorino", "pipelines", "serverless", "servicemesh", "odf"},
			OptionalOperators: []string{"amd-gpu", "nvidia-gpu", "kmm", "node-feature-discovery"},
		},
	}
}
