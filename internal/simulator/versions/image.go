package versions

import (
	"fmt"
	"slices"

	"github.com/openshift/assisted-service/models"
)

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

// OSImageFor finds the live image of an infra-env. An empty version is the
// latest image there is, whatever the version of the infra-env's cluster: that
// is what the service does, and what surprises its clients. An empty
// architecture is x86_64. The error's text is the service's own.
func OSImageFor(version, arch string) (OSImage, error) {
	if arch == "" {
		arch = X86
	}
	if !slices.Contains(Architectures(), arch) {
		return OSImage{}, fmt.Errorf("The requested CPU architecture (%s) isn't specified in OS images list", arch) //nolint:staticcheck // the service's wording
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
	return OSImage{}, fmt.Errorf("The requested OS image for version (%s) and CPU architecture (%s) isn't specified in OS images list", //nolint:staticcheck // the service's wording
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
