package versions

import (
	"fmt"
	"maps"
	"slices"

	"github.com/openshift/assisted-service/models"
)

// The levels at which the service supports a feature.
const (
	Supported   = string(models.SupportLevelSupported)
	TechPreview = string(models.SupportLevelTechPreview)
	DevPreview  = string(models.SupportLevelDevPreview)
	Unsupported = string(models.SupportLevelUnsupported)
	Unavailable = string(models.SupportLevelUnavailable)
)

// Why a feature is unavailable, as the detailed answer says it.
const (
	ReasonArchitecture = "cpuArchitecture"
	ReasonPlatform     = "platform"
	ReasonVersion      = "openshiftVersion"
	ReasonOCI          = "ociExternalIntegrationDisabled"
)

// The platforms as the service spells them; OCI is a name of an external one.
const (
	BareMetal = "baremetal"
	None      = "none"
	VSphere   = "vsphere"
	Nutanix   = "nutanix"
	External  = "external"
	oci       = "oci"
)

// Query says what the support of features is asked for. Every field but the
// version may be empty: x86_64, and no particular platform.
type Query struct {
	OpenshiftVersion string
	CPUArchitecture  string
	PlatformType     string
	ExternalPlatform string
}

func (q Query) onOCI() bool { return q.PlatformType == External && q.ExternalPlatform == oci }

// FeatureSupport is one feature of the detailed answer.
type FeatureSupport struct {
	ID                string   `json:"feature-support-level-id"`
	SupportLevel      string   `json:"support_level"`
	Reason            string   `json:"reason,omitempty"`
	Incompatibilities []string `json:"incompatibilities"`
}

// OperatorSupport is one operator of the detailed answer.
type OperatorSupport struct {
	FeatureSupport
	Name         string   `json:"name"`
	Dependencies []string `json:"dependencies"`
}

// DetailedSupport answers GET /v2/support-levels/features/detailed.
type DetailedSupport struct {
	Features  []FeatureSupport  `json:"features"`
	Operators []OperatorSupport `json:"operators"`
}

// FeatureLevels answers GET /v2/support-levels/features: the level of every
// feature that the query leaves meaningful.
func FeatureLevels(q Query) map[string]string {
	levels := map[string]string{}
	for _, f := range features() {
		if level, _ := f.support(q); level != "" {
			levels[f.id] = level
		}
	}
	return levels
}

// DetailedFeatures is FeatureLevels with reasons and what excludes what, and
// with the operators apart. Both lists are ordered by id.
func DetailedFeatures(q Query) DetailedSupport {
	answer := DetailedSupport{Features: []FeatureSupport{}, Operators: []OperatorSupport{}}
	for _, f := range features() {
		level, reason := f.support(q)
		if level == "" {
			continue
		}
		support := FeatureSupport{ID: f.id, SupportLevel: level, Reason: reason, Incompatibilities: f.excludes(q.OpenshiftVersion)}
		if f.operator == "" {
			answer.Features = append(answer.Features, support)
			continue
		}
		answer.Operators = append(answer.Operators, OperatorSupport{FeatureSupport: support, Name: f.operator, Dependencies: f.needs()})
	}
	return answer
}

// needs lists the features of the operators that a feature's operator depends on.
func (f feature) needs() []string {
	o, _ := findOperator(f.operator)
	ids := []string{}
	for _, name := range slices.Concat(o.dependencies, o.onSingleNode) {
		for _, other := range operatorFeatures() {
			if other.operator == name {
				ids = append(ids, other.id)
			}
		}
	}
	return ids
}

// ArchitectureLevels answers GET /v2/support-levels/architectures.
func ArchitectureLevels(openshiftVersion string) map[string]string {
	levels := map[string]string{
		"X86_64_ARCHITECTURE": Supported, "ARM64_ARCHITECTURE": Supported,
		"PPC64LE_ARCHITECTURE": Supported, "S390X_ARCHITECTURE": Supported,
		"MULTIARCH_RELEASE_IMAGE": TechPreview,
	}
	if !AtLeast(openshiftVersion, "4.14") { // older than anything in the table
		for id := range maps.Keys(levels) {
			levels[id] = Unsupported
		}
	}
	return levels
}

// FeatureLevel is one feature's level and, where it is unavailable, why. An
// unknown feature has no level.
func FeatureLevel(id string, q Query) (level, reason string) {
	for _, f := range features() {
		if f.id == id {
			return f.support(q)
		}
	}
	return "", ""
}

// FeatureUnavailable is the reason of the service's 400 for a cluster that asks
// for a feature which its version or architecture does not have; it is empty
// where the feature can be used.
func FeatureUnavailable(id string, q Query) string {
	for _, f := range features() {
		if f.id != id {
			continue
		}
		if level, _ := f.support(q); level == Unavailable {
			return fmt.Sprintf("cannot use %s because it's not compatible with the %s architecture on version %s of OpenShift",
				f.name, orX86(q.CPUArchitecture), q.OpenshiftVersion)
		}
	}
	return ""
}

func orX86(arch string) string {
	if arch == "" {
		return X86
	}
	return arch
}

// feature says in one row where a feature can be used.
type feature struct {
	id   string
	name string // as the service's messages call it
	// operator is set for features that are an OLM operator.
	operator string
	// since is the first line that has it, gone the first line that has it no
	// more, supported the first line where it is no preview any more.
	since, gone, supported string
	// preview is its level before the line in supported.
	preview string
	// notArchs, notPlatforms are where it cannot be used; onlyPlatforms, where
	// set, the only ones where it can.
	notArchs, notPlatforms, onlyPlatforms []string
	notOCI                                bool
	// notListed hides it where the platform question makes it meaningless.
	notListed func(Query) bool
	// special overrides the row for the few rules that no column holds.
	special func(Query) (level, reason string)
	// exclusive are the features that it cannot be combined with.
	exclusive []string
	// exclusiveBefore are further ones, before a line.
	exclusiveBefore map[string][]string
}

func (f feature) support(q Query) (level, reason string) {
	if f.notListed != nil && f.notListed(q) {
		return "", ""
	}
	switch {
	case slices.Contains(f.notArchs, orX86(q.CPUArchitecture)):
		return Unavailable, ReasonArchitecture
	case f.since != "" && !AtLeast(q.OpenshiftVersion, f.since), f.gone != "" && AtLeast(q.OpenshiftVersion, f.gone):
		return Unavailable, ReasonVersion
	case f.notOCI && q.onOCI():
		return Unavailable, ReasonOCI
	case q.PlatformType != "" && slices.Contains(f.notPlatforms, q.PlatformType),
		q.PlatformType != "" && f.onlyPlatforms != nil && !slices.Contains(f.onlyPlatforms, q.PlatformType):
		return Unavailable, ReasonPlatform
	}
	if f.special != nil {
		if level, reason := f.special(q); level != "" {
			return level, reason
		}
	}
	if f.preview != "" && (f.supported == "" || !AtLeast(q.OpenshiftVersion, f.supported)) {
		return f.preview, ""
	}
	return Supported, ""
}

func (f feature) excludes(openshiftVersion string) []string {
	excluded := append([]string{}, f.exclusive...)
	for before, more := range f.exclusiveBefore {
		if !AtLeast(openshiftVersion, before) {
			excluded = append(excluded, more...)
		}
	}
	slices.Sort(excluded)
	return excluded
}
