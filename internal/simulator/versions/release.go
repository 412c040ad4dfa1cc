package versions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// The architectures as the service spells them. Multi is a release image's, never a machine's.
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

// minor is an entry of openshift.yaml: a minor release with its newest patch level.
type minor struct {
	Version      string                `json:"version"`
	Newest       int                   `json:"newest"`
	PreRelease   string                `json:"preRelease"`
	SupportLevel string                `json:"supportLevel"`
	Channel      models.ReleaseChannel `json:"channel"`
	OSImage      string                `json:"osImage"`
	OSImageOf    string                `json:"osImageOf"`
}

// defaultMinor is the minor release that the service recommends.
const defaultMinor = "4.21"

func findMinor(version string) (minor, bool) {
	return find(known().minors, func(m minor) bool { return m.Version == version })
}

// number is the version number with patch level z.
func (m minor) number(z int) Number {
	n, _ := ParseNumber(m.Version) // the table's names all parse; the tests see to it
	n.Patch, n.Pre = z, m.PreRelease
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
	// CPUArchitecture is the cluster's cpu_architecture: one of Architectures or Multi.
	CPUArchitecture string
	// CPUArchitectures are the machines that the image can run on.
	CPUArchitectures []string
	// SupportLevel is beta, production, maintenance or end-of-life.
	SupportLevel string
	// Default marks the recommended release.
	Default bool
}

// UnsupportedError says that no release image fits, in the words of the service's 400.
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
	m, ok := findMinor(n.Line())
	if !ok {
		return Release{}, unsupported
	}
	if n.Patch < 0 {
		n.Patch, n.Pre = m.Newest, m.PreRelease
	}
	if n.Patch > m.Newest || n.Pre != m.PreRelease { // there never was one
		return Release{}, unsupported
	}
	if n.Multi || arch == Multi {
		arch = Multi
	}
	return m.release(n.Patch, arch), nil
}

// release is the release image with patch level z for arch.
func (m minor) release(z int, arch string) Release {
	n := m.number(z)
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
		Line:             m.Version,
		URL:              url,
		CPUArchitecture:  arch,
		CPUArchitectures: archs,
		SupportLevel:     m.SupportLevel,
		Default:          m.Version == defaultMinor && z == m.Newest && arch != Multi,
	}
}

// ReleaseByURL finds a release by its image; the service knows only those in its list.
func ReleaseByURL(url string) (Release, bool) {
	release, ok := ReleaseByImage(url)
	if !ok || release.URL != url {
		return Release{}, false
	}
	return release, true
}

// ReleaseByImage finds a release by the tag of its image, in whosever registry that is, or by the digest that DigestOf
// has given it.
func ReleaseByImage(image string) (Release, bool) {
	image, digest, _ := strings.Cut(image, "@")
	repository, tag := image, ""
	if at := strings.LastIndexByte(image, ':'); at >= 0 && !strings.ContainsRune(image[at:], '/') {
		repository, tag = image[:at], image[at+1:]
	}
	tag = cmp.Or(tag, tagOf(digest))
	if strings.Contains(tag, "-okd-") {
		return releaseOfOKD(repository, tag)
	}
	version, arch := tag, ""
	if cut := strings.LastIndexByte(version, '-'); cut >= 0 {
		version, arch = version[:cut], version[cut+1:]
	}
	if arch == aarch64 {
		arch = ARM
	}
	release, err := Resolve(version, arch)
	return release, err == nil
}

// releaseOfOKD is a release of OKD. Its images have the version alone as their tag, and are for x86_64 only. The
// service lists none. A hub's operator adds those that ClusterImageSets name.
func releaseOfOKD(repository, tag string) (Release, bool) {
	n, err := ParseNumber(tag)
	if err != nil {
		return Release{}, false
	}
	m, known := findMinor(n.Line())
	return Release{
		Version: tag, Line: n.Line(), URL: repository + ":" + tag, CPUArchitecture: X86, CPUArchitectures: []string{X86},
		SupportLevel: m.SupportLevel,
	}, known
}

// DigestOf is the digest of a release image in a simulation, "" for other images. No registry is asked: the digest
// has the image's tag in it, so that a reader of the digest knows the release.
func DigestOf(image string) string {
	_, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if _, is := ReleaseByImage(image); !is || len(tag) > sha256.Size {
		return ""
	}
	var in [sha256.Size]byte
	copy(in[:], tag)
	return digestAlgorithm + hex.EncodeToString(in[:])
}

const digestAlgorithm = "sha256:"

// tagOf is the tag in a digest of DigestOf, "" where it is none.
func tagOf(digest string) string {
	in, err := hex.DecodeString(strings.TrimPrefix(digest, digestAlgorithm))
	if err != nil || len(in) != sha256.Size {
		return ""
	}
	return strings.TrimRight(string(in), "\x00")
}

// UnknownReleaseImage is the reason of the service's 400 for an image that ReleaseByURL does not find.
func UnknownReleaseImage(url string) string {
	return fmt.Sprintf("failed to get release image by URL %s during cluster registration: "+
		"error occurred while trying to retrieve release image with url '%s' from the db: record not found", url, url)
}

// OpenshiftVersions answers GET /v2/openshift-versions. A version ("4.21",
// "4.21.28") keeps only what begins with it at a dot; latest keeps the newest of
// each minor release.
func OpenshiftVersions(version string, latest bool) models.OpenshiftVersions {
	found := models.OpenshiftVersions{}
	for _, m := range known().minors {
		first := 0
		if latest {
			first = m.Newest
		}
		for z := first; z <= m.Newest; z++ {
			if !matches(m.number(z).String(), version) {
				continue
			}
			for _, arch := range []string{X86, Multi} {
				release := m.release(z, arch)
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
	// CoreOS is the step's coreos_image, for a host that boots from its disk.
	CoreOS string
}

// payloadRepository is where the images inside a release live.
const payloadRepository = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"

// Payload gives each release images of its own. The recommended release has its
// real digests; those of the others are derived from the release's name, since
// no registry is asked.
func (r Release) Payload() Payload {
	image := func(name string) string {
		sum := sha256.Sum256([]byte(r.URL + " " + name))
		return payloadRepository + "@sha256:" + hex.EncodeToString(sum[:])
	}
	images := Payload{MachineConfigOperator: image("machine-config-operator"), MustGather: image("must-gather"), CoreOS: image("rhel-coreos")}
	if r.Version == "4.21.28" && r.CPUArchitecture == X86 {
		images.MachineConfigOperator = payloadRepository + "@sha256:daff68f1e1a8522a9e2b13b2934f95701f56e22eb0ead97ff841cc939b4e091b"
		images.MustGather = payloadRepository + "@sha256:12ec2e8dd36b087ac9ef7830c8bbb03afda28f2b88385dda33ea302c6b3bd9d7"
	}
	return images
}

// Number is an OpenShift version taken apart; Patch is -1 in "4.21".
type Number struct {
	Major, Minor, Patch int
	// Pre is the pre-release part without its hyphen, such as "rc.4".
	Pre string
	// Multi says that the text ended in "-multi": the image of every architecture.
	Multi bool
}

// ParseNumber reads "4.21", "4.21.28", "4.22.0-rc.4" and each of them with a "-multi" suffix.
func ParseNumber(text string) (Number, error) {
	n := Number{Patch: -1}
	rest, multi := strings.CutSuffix(text, "-multi")
	rest, n.Pre, _ = strings.Cut(rest, "-")
	n.Multi = multi
	_, _ = fmt.Sscanf(rest, "%d.%d.%d", &n.Major, &n.Minor, &n.Patch) // as much as there is
	if n.String() != text || n.Pre != "" && n.Patch < 0 {
		return Number{}, fmt.Errorf("reading version %q: want MAJOR.MINOR or MAJOR.MINOR.PATCH", text)
	}
	return n, nil
}

// Line is the version's minor release, such as "4.21".
func (n Number) Line() string { return fmt.Sprintf("%d.%d", n.Major, n.Minor) }

// String is the version in full, as the service spells it.
func (n Number) String() string {
	text := n.Line()
	if n.Patch >= 0 {
		text += "." + strconv.Itoa(n.Patch)
	}
	if n.Pre != "" {
		text += "-" + n.Pre
	}
	if n.Multi {
		text += "-multi"
	}
	return text
}

// AtLeast compares minor releases only, as the service does: 4.22.0-rc.4 is at least 4.22.
func (n Number) AtLeast(line string) bool {
	other, err := ParseNumber(line)
	if err != nil {
		return false
	}
	return n.Major > other.Major || n.Major == other.Major && n.Minor >= other.Minor
}

// AtLeast is Number.AtLeast for a version given as text. A text that is no version is at least nothing.
func AtLeast(version, line string) bool {
	n, err := ParseNumber(version)
	return err == nil && n.AtLeast(line)
}
