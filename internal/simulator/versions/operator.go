package versions

import (
	"slices"

	"github.com/openshift/assisted-service/models"
)

// Operator is one OLM operator that the service can install.
type Operator struct {
	// Name is what olm_operators[].name says, such as "lvm".
	Name string `json:"name"`
	// Namespace and Subscription are where OLM puts it.
	Namespace    string `json:"namespace"`
	Subscription string `json:"subscription"`
	// TimeoutSeconds is how long the controller waits for it (timeout_seconds).
	TimeoutSeconds int64    `json:"timeout"`
	Dependencies   []string `json:"dependencies"`
	OnSingleNode   []string `json:"dependenciesOnSingleNode"`
	Master         Hardware `json:"master"`
	Worker         Hardware `json:"worker"`
	SingleNode     Hardware `json:"singleNode"`
	// Requirements are what it asks of a role's machines, in words; none says "nothing".
	Requirements map[string][]string `json:"requirements"`
	// Manifests are the files that the service puts among a cluster's manifests.
	Manifests []string `json:"manifests"`
	// DependencyOnly marks an operator that only others need.
	DependencyOnly bool `json:"-"`
}

// FindOperator finds one by its name.
func FindOperator(name string) (Operator, bool) {
	return find(known().operators, func(o Operator) bool { return o.Name == name })
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
	_, ok := FindOperator(name)
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
		if _, ok := FindOperator(name); !ok {
			return nil, name
		}
		if !slices.Contains(queue, name) {
			queue, chosen = append(queue, name), chosen+1
		}
	}
	for i := 0; i < len(queue); i++ {
		o, _ := FindOperator(queue[i])
		o.DependencyOnly = i >= chosen
		all = append(all, o)
		for _, dependency := range o.Needed(single) {
			if !slices.Contains(queue, dependency) {
				queue = append(queue, dependency)
			}
		}
	}
	return all, ""
}

// Needed are the operators that one brings along.
func (o Operator) Needed(single bool) []string {
	if single {
		return slices.Concat(o.Dependencies, o.OnSingleNode)
	}
	return o.Dependencies
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
		o, _ := FindOperator(name) // an unknown one needs nothing
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
