package versions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// The architectures as the service spells them. Multi is a release image's
// architecture, never a machine's.
const (
	X86     = "x86_64"
	ARM     = "arm64"
	Power   = "ppc64le"
	Z       = "s390x"
	Multi   = "multi"
	aarch64 = "aarch64"
)

// Architectures lists what a machine may be, the default first.
func Architectures() []string { return []string{X86, ARM, Power, Z} }

// releaseRepository is where the release images live (ocp_release_image).
const releaseRepository = "quay.io/openshift-release-dev/ocp-release"

// line is one minor release: its newest patch level and how it is supported.
type line struct {
	name    string // "4.21"
	newest  int    // newest patch level in the channel
	pre     string // pre-release of patch 0, for a line not yet released
	support string // support_level of every release of the line
	channel models.ReleaseChannel
	osBuild string // build id of its RHCOS live image
	osZ     string // the release that the live image was published with
}

// lines holds the minor releases, newest first.
func lines() []line {
	const (
		beta        = models.OpenshiftVersionSupportLevelBeta
		production  = models.OpenshiftVersionSupportLevelProduction
		maintenance = models.OpenshiftVersionSupportLevelMaintenance
		ended       = models.OpenshiftVersionSupportLevelEndOfLife
	)
	return []line{
		{name: "4.22", newest: 0, pre: "rc.4", support: beta, channel: "candidate", osBuild: "9.8.20260616-0", osZ: "4.22.0-rc.4"},
		{name: "4.21", newest: 28, support: production, channel: "stable", osBuild: "9.6.20251212-1", osZ: "4.21.0"},
		{name: "4.20", newest: 33, support: maintenance, channel: "stable", osBuild: "9.6.20260112-0", osZ: "4.20.13"},
		{name: "4.19", newest: 42, support: maintenance, channel: "stable", osBuild: "9.6.20251023-0", osZ: "4.19.19"},
		{name: "4.18", newest: 51, support: maintenance, channel: "stable", osBuild: "418.94.202511191518-0", osZ: "4.18.30"},
		{name: "4.17", newest: 57, support: ended, channel: "stable", osBuild: "417.94.202507291008-0", osZ: "4.17.42"},
		{name: "4.16", newest: 65, support: maintenance, channel: "stable", osBuild: "416.94.202510081640-0", osZ: "4.16.51"},
		{name: "4.15", newest: 64, support: ended, channel: "stable", osBuild: "415.92.202501281917-0", osZ: "4.15.45"},
		{name: "4.14", newest: 67, support: ended, channel: "stable", osBuild: "414.92.202407091253-0", osZ: "4.14.34"},
	}
}

// defaultLine is the minor release that the service recommends.
const defaultLine = "4.21"

func findLine(name string) (line, bool) {
	for _, l := range lines() {
		if l.name == name {
			return l, true
		}
	}
	return line{}, false
}

// has says whether the line ever published patch level z.
func (l line) has(z int, pre string) bool {
	return z >= 0 && z <= l.newest && pre == l.pre
}

// number is the line's release with patch level z.
func (l line) number(z int) Number {
	n, _ := ParseNumber(l.name) // the table's names all parse; the tests see to it
	n.Patch, n.Pre = z, l.pre
	return n
}

// Release is one release image: what a cluster is installed from.
type Release struct {
	// Version is the cluster's openshift_version, "4.21.28" or "4.21.28-multi".
	Version string
	// Line is the minor release, "4.21".
	Line string
	// URL is the release image (ocp_release_image).
	URL string
	// CPUArchitecture is the cluster's cpu_architecture: one of Architectures
	// or Multi.
	CPUArchitecture string
	// CPUArchitectures are the machines that the image can run on.
	CPUArchitectures []string
	// SupportLevel is beta, production, maintenance or end-of-life.
	SupportLevel string
	// Default marks the recommended release.
	Default bool
}

// UnsupportedError says that no release image fits. Its text is the reason that
// the service answers 400 with.
type UnsupportedError struct {
	Version, CPUArchitecture string
	// Architecture is set where the architecture alone is the trouble.
	Architecture bool
}

func (e *UnsupportedError) Error() string {
	if e.Architecture {
		return fmt.Sprintf("Requested CPU architecture %s is not available", e.CPUArchitecture)
	}
	return fmt.Sprintf("Openshift version %s for CPU architecture %s is not supported: "+
		"no release image found for openshiftVersion: '%s' and CPU architecture '%s'",
		e.Version, e.CPUArchitecture, e.Version, e.CPUArchitecture)
}

// Resolve finds the release image of a cluster to be registered. A version
// without a patch level means the newest of its line; an empty architecture
// means x86_64. "4.21-multi" and an architecture of Multi both ask for the image
// of all architectures. The error is an *UnsupportedError.
func Resolve(version, arch string) (Release, error) {
	if arch == "" {
		arch = X86
	}
	if arch != Multi && !slices.Contains(Architectures(), arch) {
		return Release{}, &UnsupportedError{Version: version, CPUArchitecture: arch, Architecture: true}
	}
	unsupported := &UnsupportedError{Version: version, CPUArchitecture: arch}
	n, err := ParseNumber(version)
	if err != nil {
		return Release{}, unsupported
	}
	l, ok := findLine(n.Line())
	if !ok {
		return Release{}, unsupported
	}
	if n.Patch < 0 {
		n.Patch, n.Pre = l.newest, l.pre
	}
	if !l.has(n.Patch, n.Pre) {
		return Release{}, unsupported
	}
	if n.Multi || arch == Multi {
		arch = Multi
	}
	return l.release(n.Patch, arch), nil
}

// release is the line's release image with patch level z for arch.
func (l line) release(z int, arch string) Release {
	n := l.number(z)
	tag, archs := arch, []string{arch}
	switch arch {
	case ARM:
		tag = aarch64
	case Multi:
		archs = Architectures()
	}
	url := fmt.Sprintf("%s:%s-%s", releaseRepository, n, tag)
	n.Multi = arch == Multi
	return Release{
		Version:          n.String(),
		Line:             l.name,
		URL:              url,
		CPUArchitecture:  arch,
		CPUArchitectures: archs,
		SupportLevel:     l.support,
		Default:          l.name == defaultLine && z == l.newest && arch != Multi,
	}
}

// ReleaseByURL finds a release by its image. Where users name an image of their
// own (ocp_release_image), the service knows only the ones in its list.
func ReleaseByURL(url string) (Release, bool) {
	tag, ok := strings.CutPrefix(url, releaseRepository+":")
	if !ok {
		return Release{}, false
	}
	cut := strings.LastIndexByte(tag, '-')
	if cut < 0 {
		return Release{}, false
	}
	version, arch := tag[:cut], tag[cut+1:]
	if arch == ARM {
		return Release{}, false
	}
	if arch == aarch64 {
		arch = ARM
	}
	release, err := Resolve(version, arch)
	if err != nil || release.URL != url {
		return Release{}, false
	}
	return release, true
}

// UnknownReleaseImage is the reason of the service's 400 for an image that
// ReleaseByURL does not find.
func UnknownReleaseImage(url string) string {
	return fmt.Sprintf("failed to get release image by URL %s during cluster registration: "+
		"error occurred while trying to retrieve release image with url '%s' from the db: record not found", url, url)
}

// OpenshiftVersions answers GET /v2/openshift-versions. A version ("4.21",
// "4.21.28") keeps only what begins with it at a dot; latest keeps the newest of
// each minor release.
func OpenshiftVersions(version string, latest bool) models.OpenshiftVersions {
	found := models.OpenshiftVersions{}
	for _, l := range lines() {
		first := 0
		if latest {
			first = l.newest
		}
		for z := first; z <= l.newest; z++ {
			if !matches(l.number(z).String(), version) {
				continue
			}
			for _, arch := range []string{X86, Multi} {
				release := l.release(z, arch)
				found[release.Version] = models.OpenshiftVersion{
					CPUArchitectures: Architectures(),
					Default:          release.Default,
					DisplayName:      &release.Version,
					SupportLevel:     &release.SupportLevel,
				}
			}
		}
	}
	return found
}

// matches says whether version begins with prefix, in whole numbers.
func matches(version, prefix string) bool {
	rest, ok := strings.CutPrefix(version, prefix)
	return ok && (prefix == "" || rest == "" || rest[0] == '.' || rest[0] == '-')
}

// Payload names the images inside a release that an install step carries.
type Payload struct {
	// MachineConfigOperator is the step's mco_image.
	MachineConfigOperator string
	// MustGather is the step's must_gather_image.
	MustGather string
}

// payloadRepository is where the images inside a release live.
const payloadRepository = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"

// Payload gives each release images of its own. The recommended release has its
// real digests; those of the others are derived from the release's name, since
// no registry is asked.
func (r Release) Payload() Payload {
	if r.Version == "4.21.28" && r.CPUArchitecture == X86 {
		return Payload{
			MachineConfigOperator: payloadRepository + "@sha256:daff68f1e1a8522a9e2b13b2934f95701f56e22eb0ead97ff841cc939b4e091b",
			MustGather:            payloadRepository + "@sha256:12ec2e8dd36b087ac9ef7830c8bbb03afda28f2b88385dda33ea302c6b3bd9d7",
		}
	}
	image := func(name string) string {
		sum := sha256.Sum256([]byte(r.URL + " " + name))
		return payloadRepository + "@sha256:" + hex.EncodeToString(sum[:])
	}
	return Payload{MachineConfigOperator: image("machine-config-operator"), MustGather: image("must-gather")}
}
