package versions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openshift/assisted-service/models"
)

// The levels at which the service supports a feature, but for previews.
const (
	Supported   = string(models.SupportLevelSupported)
	TechPreview = string(models.SupportLevelTechPreview)
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

// Query is what support is asked for. All but the version may be empty: x86_64, any platform.
type Query struct {
	OpenshiftVersion string
	CPUArchitecture  string
	PlatformType     string
	ExternalPlatform string
}

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

// FeatureLevels answers GET /v2/support-levels/features: every feature meaningful for the query.
func FeatureLevels(q Query) map[string]string {
	levels := map[string]string{}
	for _, f := range known().features {
		if level, _ := f.support(q); level != "" {
			levels[f.ID] = level
		}
	}
	return levels
}

// DetailedFeatures adds reasons and exclusions, with operators apart. Both lists are by id.
func DetailedFeatures(q Query) DetailedSupport {
	answer := DetailedSupport{Features: []FeatureSupport{}, Operators: []OperatorSupport{}}
	for _, f := range known().features {
		level, reason := f.support(q)
		if level == "" {
			continue
		}
		support := FeatureSupport{ID: f.ID, SupportLevel: level, Reason: reason, Incompatibilities: f.excludes(q.OpenshiftVersion)}
		if f.Operator == "" {
			answer.Features = append(answer.Features, support)
			continue
		}
		answer.Operators = append(answer.Operators, OperatorSupport{FeatureSupport: support, Name: f.Operator, Dependencies: f.needs()})
	}
	return answer
}

// needs lists the features of the operators that a feature's operator depends on.
func (f feature) needs() []string {
	ids := []string{}
	operator, _ := FindOperator(f.Operator)
	for _, name := range operator.Needed(true) {
		needed, _ := find(known().features, func(other feature) bool { return other.Operator == name })
		ids = append(ids, needed.ID)
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
		for id := range levels {
			levels[id] = Unsupported
		}
	}
	return levels
}

// FeatureUnavailable is the reason of the service's 400 for a cluster that asks
// for a feature which its version or architecture does not have; it is empty
// where the feature can be used.
func FeatureUnavailable(id string, q Query) string {
	f, ok := find(known().features, func(f feature) bool { return f.ID == id })
	if level, _ := f.support(q); !ok || level != Unavailable {
		return ""
	}
	return fmt.Sprintf("cannot use %s because it's not compatible with the %s architecture on version %s of OpenShift",
		f.Name, cmp.Or(q.CPUArchitecture, X86), q.OpenshiftVersion)
}

type feature struct {
	ID                    string              `json:"id"`
	Name                  string              `json:"name"` // as the service's messages call it
	Operator              string              `json:"operator"`
	Since                 string              `json:"since"`
	Removed               string              `json:"removed"`
	Supported             string              `json:"supported"`
	Preview               string              `json:"preview"`
	NotArchitectures      []string            `json:"notArchitectures"`
	NotPlatforms          []string            `json:"notPlatforms"`
	OnlyPlatforms         []string            `json:"onlyPlatforms"`
	NotOCI                bool                `json:"notOCI"`
	ListedWithPlatform    bool                `json:"listedWithPlatform"`
	ListedWithoutPlatform bool                `json:"listedWithoutPlatform"`
	Overrides             []override          `json:"overrides"`
	Incompatible          []string            `json:"incompatible"`
	IncompatibleBefore    map[string][]string `json:"incompatibleBefore"`
}

// override is a level that a feature has where all that is set fits.
type override struct {
	Architecture string   `json:"architecture"`
	Platforms    []string `json:"platforms"`
	Before       string   `json:"before"`
	Level        string   `json:"level"`
	Reason       string   `json:"reason"`
}

func (o override) fits(q Query) bool {
	return (o.Architecture == "" || o.Architecture == q.CPUArchitecture) &&
		(o.Platforms == nil || slices.Contains(o.Platforms, q.PlatformType)) &&
		(o.Before == "" || !AtLeast(q.OpenshiftVersion, o.Before))
}

func (f feature) support(q Query) (level, reason string) {
	platform := q.PlatformType
	if platform == "" && f.ListedWithPlatform || platform != "" && f.ListedWithoutPlatform {
		return "", ""
	}
	switch {
	case slices.Contains(f.NotArchitectures, cmp.Or(q.CPUArchitecture, X86)):
		return Unavailable, ReasonArchitecture
	case f.Since != "" && !AtLeast(q.OpenshiftVersion, f.Since), f.Removed != "" && AtLeast(q.OpenshiftVersion, f.Removed):
		return Unavailable, ReasonVersion
	case f.NotOCI && q.PlatformType == "external" && q.ExternalPlatform == "oci":
		return Unavailable, ReasonOCI
	case platform != "" && slices.Contains(f.NotPlatforms, platform),
		platform != "" && f.OnlyPlatforms != nil && !slices.Contains(f.OnlyPlatforms, platform):
		return Unavailable, ReasonPlatform
	}
	if o, ok := find(f.Overrides, func(o override) bool { return o.fits(q) }); ok {
		return o.Level, o.Reason
	}
	if f.Preview != "" && (f.Supported == "" || !AtLeast(q.OpenshiftVersion, f.Supported)) {
		return f.Preview, ""
	}
	return Supported, ""
}

func (f feature) excludes(openshiftVersion string) []string {
	excluded := append([]string{}, f.Incompatible...)
	for before, more := range f.IncompatibleBefore {
		if !AtLeast(openshiftVersion, before) {
			excluded = append(excluded, more...)
		}
	}
	slices.Sort(excluded)
	return excluded
}
