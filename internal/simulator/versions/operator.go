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

type operator struct {
	Name         string              `json:"name"`
	Namespace    string              `json:"namespace"`
	Subscription string              `json:"subscription"`
	Timeout      int64               `json:"timeout"`
	Dependencies []string            `json:"dependencies"`
	OnSingleNode []string            `json:"dependenciesOnSingleNode"`
	Master       Hardware            `json:"master"`
	Worker       Hardware            `json:"worker"`
	SingleNode   Hardware            `json:"singleNode"`
	Requirements map[string][]string `json:"requirements"` // by role
	Manifests    []string            `json:"manifests"`
}

func findOperator(name string) (operator, bool) {
	return find(known().operators, func(o operator) bool { return o.Name == name })
}

// Operators answers GET /v2/supported-operators: the names, in order.
func Operators() []string {
	var names []string
	for _, o := range known().operators {
		names = append(names, o.Name)
	}
	return names
}

// OperatorProperties answers GET /v2/supported-operators/{name}: none for all; unknown ones are not ok.
func OperatorProperties(name string) (models.OperatorProperties, bool) {
	_, ok := findOperator(name)
	return models.OperatorProperties{}, ok
}

// UnsupportedOperator is the reason of the service's 400 for a name that is not among Operators.
func UnsupportedOperator(name string) string { return "operator " + name + " isn't supported" }

// WithDependencies is what the service installs for the operators that a user
// named: those, in the user's order and once each, and then what they depend
// on; single tells that it is on a single node. The first unknown name is
// returned as missing.
func WithDependencies(names []string, single bool) (all []Operator, missing string) {
	queue, chosen := []string{}, 0
	for _, name := range names {
		if _, ok := findOperator(name); !ok {
			return nil, name
		}
		if !slices.Contains(queue, name) {
			queue, chosen = append(queue, name), chosen+1
		}
	}
	for i := 0; i < len(queue); i++ {
		o, _ := findOperator(queue[i])
		all = append(all, Operator{
			Name: o.Name, Namespace: o.Namespace, Subscription: o.Subscription,
			Timeout: time.Duration(o.Timeout) * time.Second, DependencyOnly: i >= chosen,
		})
		for _, dependency := range o.needed(single) {
			if !slices.Contains(queue, dependency) {
				queue = append(queue, dependency)
			}
		}
	}
	return all, ""
}

// Dependencies are the operators that one brings along.
func Dependencies(name string, single bool) []string {
	o, _ := findOperator(name)
	return o.needed(single)
}

func (o operator) needed(single bool) []string {
	if single {
		return slices.Concat(o.Dependencies, o.OnSingleNode)
	}
	return o.Dependencies
}

// OperatorManifests are the files that the service puts among a cluster's manifests.
func OperatorManifests(name string) []string {
	o, _ := findOperator(name)
	return o.Manifests
}

// OperatorNeeds are what an operator asks of a role's machines, in words; empty says "nothing".
func OperatorNeeds(name, role string) []string {
	o, _ := findOperator(name)
	return o.Requirements[role]
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

// Bundles answers GET /v2/operators/bundles: those of which the query leaves every operator available.
func Bundles(q Query) []Bundle {
	levels := map[string]string{}
	for _, support := range DetailedFeatures(q).Operators {
		levels[support.Name] = support.SupportLevel
	}
	missing := func(name string) bool { return q.OpenshiftVersion != "" && levels[name] == Unavailable }
	kept := []Bundle{}
	for _, bundle := range known().bundles {
		if !slices.ContainsFunc(bundle.Operators, missing) {
			bundle.OptionalOperators = slices.DeleteFunc(slices.Clone(bundle.OptionalOperators), missing)
			kept = append(kept, bundle)
		}
	}
	return kept
}

// BundleByID answers GET /v2/operators/bundles/{id}.
func BundleByID(id string) (Bundle, bool) {
	return find(known().bundles, func(b Bundle) bool { return b.ID == id })
}

// Hardware is what a host must have. Zero means that nothing is asked.
type Hardware struct {
	CPUCores int64 `json:"cpu_cores,omitempty"`
	RAMMiB   int64 `json:"ram_mib,omitempty"`
	DiskGB   int64 `json:"disk_size_gb,omitempty"`
	// DiskSpeedMs is the longest that a synced write may take, milliseconds.
	DiskSpeedMs int64 `json:"installation_disk_speed_threshold_ms,omitempty"`
	// LatencyMs to other hosts and PacketLoss in percent are the most allowed; nil asks nothing.
	LatencyMs  *float64 `json:"network_latency_threshold_ms,omitempty"`
	PacketLoss *float64 `json:"packet_loss_percentage,omitempty"`
	// TPM is whether the machine needs a TPM, for an encrypted disk.
	TPM bool `json:"tpm_enabled_in_bios,omitempty"`
}

// plus adds what an operator needs on top; network limits stay the role's.
func (h Hardware) plus(more Hardware) Hardware {
	h.CPUCores += more.CPUCores
	h.RAMMiB += more.RAMMiB
	h.DiskGB += more.DiskGB
	return h
}

// Roles that hardware is asked for. SingleNode is the control plane host of a cluster that has no other.
const (
	Master     = "master"
	Worker     = "worker"
	Arbiter    = "arbiter"
	SingleNode = "sno"
)

type roleHardware struct {
	Role     string   `json:"role"`
	Before   string   `json:"before"`
	Hardware Hardware `json:"hardware"`
}

// RoleHardware is what a role needs before any operator.
func RoleHardware(openshiftVersion, role string) Hardware {
	row, _ := find(known().hardware, func(r roleHardware) bool {
		return (r.Role == role || r.Role == "") && (r.Before == "" || !AtLeast(openshiftVersion, r.Before))
	})
	return row.Hardware
}

// HostHardware is what a host of a role needs, with the operators of its cluster, each by name.
func HostHardware(openshiftVersion, role string, operatorNames []string) Hardware {
	total := RoleHardware(openshiftVersion, role)
	for _, name := range operatorNames {
		o, _ := findOperator(name) // an unknown one needs nothing
		switch role {
		case Master:
			total = total.plus(o.Master)
		case SingleNode:
			total = total.plus(o.Master).plus(o.SingleNode)
		case Worker:
			total = total.plus(o.Worker)
		}
	}
	return total
}
