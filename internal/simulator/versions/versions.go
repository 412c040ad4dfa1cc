// Package versions is what the simulated assisted-service knows about OpenShift
// releases: which it can install, with which images and on which architectures,
// which operators and bundles it offers, how well each feature is supported,
// and what hardware each role needs.
//
// The tables are YAML. They are read when the first question is asked, and the same
// question has the same answer in every process.
package versions

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/openshift/assisted-service/models"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

type tables struct {
	minors    []minor
	features  []feature
	operators []Operator
	bundles   []Bundle
	hardware  []roleHardware
	service   serviceTable
}

var known = sync.OnceValue(func() *tables {
	t, err := readTables()
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return t
})

// find is the first row of a table that is meant.
func find[T any](table []T, is func(T) bool) (row T, ok bool) {
	if i := slices.IndexFunc(table, is); i >= 0 {
		return table[i], true
	}
	return row, false
}

func readTables() (*tables, error) {
	t := &tables{}
	for name, into := range map[string]any{
		"openshift.yaml": &t.minors, "features.yaml": &t.features, "operators.yaml": &t.operators,
		"bundles.yaml": &t.bundles, "hardware.yaml": &t.hardware, "service.yaml": &t.service,
	} {
		text, err := files.ReadFile(name)
		if err == nil {
			err = yaml.UnmarshalStrict(text, into)
		}
		if err != nil {
			return nil, fmt.Errorf("read the table %s: %w", name, err)
		}
	}
	return t, nil
}

// ServiceRelease is one of the service, by multicluster engine's: "2.13". Zero is the newest.
type ServiceRelease string

// Latest is the word for the newest release of the service.
const Latest = "latest"

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

type serviceTable struct {
	Features    map[string][]string `json:"features"` // by release
	Fields      []Field             `json:"fields"`
	Validations map[string]string   `json:"validations"` // the release of each
}

// Has says whether a release has what came with another one.
func (r ServiceRelease) Has(since string) bool {
	return r == "" || since == "" || AtLeast(string(r), since)
}

// HasFeature says whether a release of the service knows a feature.
func (r ServiceRelease) HasFeature(id string) bool {
	for since, ids := range known().service.Features {
		if slices.Contains(ids, id) {
			return r.Has(since)
		}
	}
	return true
}

// HasOperator says whether a release of the service knows an operator.
func (r ServiceRelease) HasOperator(name string) bool {
	f, ok := find(known().features, func(f feature) bool { return f.Operator == name })
	return !ok || r.HasFeature(f.ID)
}

// Field is a field of the service's API that came with some release.
type Field struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // of the object that has it: Cluster, InfraEnv, Host
	Since string `json:"since"`
	// Known are the values that older releases know as well; without any they do not know the field.
	Known []string `json:"known"`
}

// Fields are the fields that not every release of the service knows as it does now.
func Fields() []Field { return known().service.Fields }

// LaterValidations are the checks, but for those of operators, that a release does not make yet.
func (r ServiceRelease) LaterValidations() []string {
	var later []string
	for id, since := range known().service.Validations {
		if !r.Has(since) {
			later = append(later, id)
		}
	}
	return later
}

// OSImage is a live image that the image service makes discovery media from.
type OSImage struct {
	// OpenshiftVersion is a minor release, "4.21": the third path segment of an infra-env's download URL.
	OpenshiftVersion string
	CPUArchitecture  string
	// URL is where the pristine image is published.
	URL string
	// Version is the build id of the operating system.
	Version string
}

func (m minor) osImage(arch string) OSImage {
	uname := arch
	if arch == ARM {
		uname = aarch64
	}
	suffix := "live"
	if n, _ := ParseNumber(m.Version); n.AtLeast("4.19") {
		suffix = "live-iso" // the builds on RHEL versions renamed their artefacts
	}
	return OSImage{
		OpenshiftVersion: m.Version,
		CPUArchitecture:  arch,
		URL: fmt.Sprintf("https://mirror.openshift.com/pub/openshift-v4/%s/dependencies/rhcos/%s/%s/rhcos-%s-%s-%s.%s.iso",
			uname, m.Version, m.OSImageOf, m.OSImageOf, uname, suffix, uname),
		Version: m.OSImage,
	}
}

// OSImageFor finds the live image of an infra-env. An empty version is the latest image, as in the service, even if
// the infra-env's cluster has another version. An empty architecture is x86_64. The text of the error is the service's.
func OSImageFor(version, arch string) (OSImage, error) {
	if arch == "" {
		arch = X86
	}
	if !slices.Contains(Architectures(), arch) {
		//nolint:staticcheck // the service's wording
		return OSImage{}, fmt.Errorf("The requested CPU architecture (%s) isn't specified in OS images list", arch)
	}
	if version == "" {
		return known().minors[0].osImage(arch), nil
	}
	n, err := ParseNumber(version)
	if err == nil {
		if m, ok := findMinor(n.Line()); ok {
			return m.osImage(arch), nil
		}
	}
	//nolint:staticcheck // the service's wording
	return OSImage{}, fmt.Errorf("The requested OS image for version (%s) and CPU architecture (%s) isn't specified in OS images list",
		version, arch)
}

// The images of the service's own parts, as GET /v2/component-versions and the install step name them.
const (
	InstallerImage  = "quay.io/edge-infrastructure/assisted-installer:latest"
	ControllerImage = "quay.io/edge-infrastructure/assisted-installer-controller:latest"
	ServiceImage    = "quay.io/edge-infrastructure/assisted-service:latest"
	AgentImage      = "quay.io/edge-infrastructure/assisted-installer-agent:latest"
)

// Components answers GET /v2/component-versions.
func Components() *models.ListVersions {
	return &models.ListVersions{
		ReleaseTag: "latest",
		Versions: models.Versions{
			"assisted-installer":            InstallerImage,
			"assisted-installer-controller": ControllerImage,
			"assisted-installer-service":    ServiceImage,
			"discovery-agent":               AgentImage,
		},
	}
}

// ReleaseSources answers GET /v2/release-sources: the channels of each minor release, oldest first.
func ReleaseSources() models.ReleaseSources {
	var sources models.ReleaseSources
	for _, m := range slices.Backward(known().minors) {
		source := &models.ReleaseSource{
			OpenshiftVersion:      &m.Version,
			MultiCPUArchitectures: Architectures(),
		}
		for _, arch := range append(Architectures(), Multi) {
			source.UpgradeChannels = append(source.UpgradeChannels, &models.UpgradeChannel{
				CPUArchitecture: &arch,
				Channels:        []models.ReleaseChannel{m.Channel},
			})
		}
		sources = append(sources, source)
	}
	return sources
}
