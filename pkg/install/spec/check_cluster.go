package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	tagWords = regexp.MustCompile(`^\w+( \w+)*$`)
	// releaseVersion is 4.20, 4.20.3, 4.20.0-rc.1, 4.20.0-0.nightly-…, each with
	// -multi behind it where the release is for several architectures.
	releaseVersion = regexp.MustCompile(`^([1-9][0-9]{0,2})\.(0|[1-9][0-9]?)(\.(0|[1-9][0-9]{0,2})(-[0-9A-Za-z][0-9A-Za-z.-]*)?)?(-multi)?$`)
	imageReference = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)+(:[\w][\w.-]*)?(@sha256:[0-9a-f]{64})?$`)
)

// maxNameLength is the longest name that the service gives a cluster.
const maxNameLength = 54

// isDomain says whether text is DNS labels joined by dots, in lower case.
func isDomain(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if !dnsLabel.MatchString(label) {
			return false
		}
	}
	return true
}

// lowerRemedy says what to do about a name that is only wrong in its case.
func lowerRemedy(text string, valid func(string) bool) string {
	if lower := strings.ToLower(text); lower != text && valid(lower) {
		return fmt.Sprintf("write %q", lower)
	}
	return "use lower-case letters, digits and dashes"
}

func (k *checker) identity() {
	c := k.cluster
	k.required("apiVersion", c.APIVersion, "write apiVersion: "+APIVersion)
	k.required("kind", c.Kind, "write kind: "+Kind)
	k.clusterName()
	k.baseDomain()
	for i, tag := range c.Metadata.Tags {
		if !tagWords.MatchString(tag) {
			k.report(fmt.Sprintf("metadata.tags[%d]", i), fmt.Sprintf("%q cannot be a tag", tag), "use letters, digits, underscores and single spaces")
		}
	}
}

// required reports a field that is empty. It says whether the field is there.
func (k *checker) required(field, value, remedy string) bool {
	if value != "" {
		return true
	}
	k.report(field, "is missing", remedy)
	return false
}

func (k *checker) clusterName() {
	name := k.cluster.Metadata.Name
	if !k.required("metadata.name", name, "give the cluster a name") {
		return
	}
	switch {
	case len(name) > maxNameLength:
		k.report("metadata.name", fmt.Sprintf("is %d characters long", len(name)), fmt.Sprintf("use at most %d", maxNameLength))
	case dnsLabel.MatchString(name):
	case !isDomain(name):
		k.report("metadata.name", fmt.Sprintf("%q cannot be a part of a DNS name", name), lowerRemedy(name, isDomain))
	case k.cluster.Spec.Platform.Type != NoneType:
		k.report("metadata.name", fmt.Sprintf("%q has a dot, which only platform none allows", name), "leave the dot out")
	}
}

func (k *checker) baseDomain() {
	domain := k.cluster.Spec.BaseDomain
	if !k.required("spec.baseDomain", domain, "write the DNS domain that the cluster's name is put before") {
		return
	}
	switch {
	case !isDomain(domain):
		k.report("spec.baseDomain", fmt.Sprintf("%q is not a DNS domain", domain), lowerRemedy(domain, isDomain))
	case !strings.Contains(domain, "."):
		k.report("spec.baseDomain", fmt.Sprintf("%q has one part only", domain), "use a domain of at least two parts, such as example.com")
	}
}

// version is the major and minor version to install. known is false where it
// is not given or not right.
func (c *Cluster) version() (major, minor int, known bool) {
	parts := releaseVersion.FindStringSubmatch(c.Spec.OpenShift.Version)
	if parts == nil {
		return 0, 0, false
	}
	major, errMajor := strconv.Atoi(parts[1])
	minor, errMinor := strconv.Atoi(parts[2])
	return major, minor, errMajor == nil && errMinor == nil
}

// olderThan says whether the version is known to be older than 4.minor.
func (c *Cluster) olderThan(minor int) bool {
	major, is, known := c.version()
	return known && major == 4 && is < minor
}

// The versions that there can be. 4.8 is the oldest that the Assisted Installer
// ever installed; 4 goes on a little beside 5, which begins with 5.0. Which of
// them a service has, only the service knows: what is refused here is a slip of
// the finger, with room for the releases of several years.
const (
	oldestMinor     = 8
	newestMinor     = 29
	newestMinorOf5  = 15
	possibleVersion = `write a version that the service has, such as "4.22"`
)

// impossible says whether there never was, and will not soon be, such a version.
func impossible(major, minor int) bool {
	switch major {
	case 4:
		return minor > newestMinor
	case 5:
		return minor > newestMinorOf5
	default:
		return major > 5
	}
}

func (k *checker) openshift() {
	o := k.cluster.Spec.OpenShift
	const field = "spec.openshift.version"
	major, minor, known := k.cluster.version()
	switch {
	case o.Version == "":
		if o.ImageSet == "" {
			k.report(field, "is missing", `write the version in quotes: version: "4.20"`)
		}
	case releaseVersion.MatchString(strings.TrimPrefix(o.Version, "v")) && strings.HasPrefix(o.Version, "v"):
		k.report(field, fmt.Sprintf("%q begins with a v", o.Version), fmt.Sprintf("write %q", o.Version[1:]))
	case !known:
		k.report(field, fmt.Sprintf("%q is not a version of OpenShift", o.Version), `write "4.20" for the newest 4.20.z, or "4.20.3" for exactly that`)
	case major < 4 || k.cluster.olderThan(oldestMinor):
		k.report(field, fmt.Sprintf("the Assisted Installer never installed OpenShift %s", o.Version), possibleVersion)
	case impossible(major, minor):
		k.report(field, fmt.Sprintf("there is no OpenShift %s", o.Version), possibleVersion)
	}
	if o.ReleaseImage != "" && !imageReference.MatchString(o.ReleaseImage) {
		k.report("spec.openshift.releaseImage", "is not the reference of an image", "write registry/repository:tag or registry/repository@sha256:digest, without a scheme")
	}
	if strings.HasSuffix(o.Version, "-multi") && o.Arch != "" && o.Arch != Multi {
		k.report("spec.openshift.arch", fmt.Sprintf("is %s, but the version %s is for several architectures", o.Arch, o.Version), "write arch: multi")
	}
	for i := range k.cluster.Spec.Hosts {
		k.hostArch(i)
	}
}

func (k *checker) hostArch(i int) {
	h, cluster := &k.cluster.Spec.Hosts[i], k.cluster.Spec.OpenShift.Arch
	switch {
	case h.Arch == "":
	case h.Arch == Multi:
		k.report(hostField(i, "arch"), "a machine has one architecture", "")
	case cluster != Multi && cluster != h.Arch:
		if cluster == "" {
			cluster = X86
			if h.Arch == X86 {
				return
			}
		}
		k.report(hostField(i, "arch"), fmt.Sprintf("is %s, but the cluster is %s", h.Arch, cluster), "write spec.openshift.arch: multi for machines of several architectures")
	}
}

func (k *checker) platform() {
	p, arch := k.cluster.Spec.Platform, k.cluster.Spec.OpenShift.Arch
	const field = "spec.platform.type"
	switch {
	case p.Type == External && (p.External == nil || p.External.Name == ""):
		k.report("spec.platform.external.name", "is missing", "platform external needs the name of the infrastructure")
	case p.Type != External && p.External != nil:
		k.report("spec.platform.external", fmt.Sprintf("goes with platform external, but the platform is %s", p.Type), "")
	}
	if p.External != nil && p.External.CloudControllerManager != "" && p.External.CloudControllerManager != "External" {
		k.report("spec.platform.external.cloudControllerManager", fmt.Sprintf("%q is not known here", p.External.CloudControllerManager), "write External, or leave it out")
	}
	if image := k.cluster.Spec.Boot.Image; image == ImageFull && p.onOracleCloud() {
		k.report("spec.boot.image", "platform external oci goes with the minimal image only", "write minimal, or leave it out")
	}
	if k.cluster.SingleNode() && (p.Type == BareMetal || p.Type == VSphere || p.Type == Nutanix) {
		k.report(field, fmt.Sprintf("a single node cannot have platform %s", p.Type), "write platform: none, or leave it out")
	}
	if (arch == Power || arch == Z) && (p.Type == BareMetal || p.Type == VSphere || p.Type == Nutanix) {
		k.report(field, fmt.Sprintf("%s machines cannot have platform %s", arch, p.Type), "write platform: none")
	}
}
