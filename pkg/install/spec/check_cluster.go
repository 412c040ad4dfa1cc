package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

var (
	tagWords = regexp.MustCompile(`^\w+( \w+)*$`)
	// releaseVersion is 4.20, 4.20.3, 4.20.0-rc.1, 4.20.0-0.nightly-…, each with
	// -multi behind it where the release is for several architectures.
	releaseVersion = regexp.MustCompile(`^([1-9][0-9]{0,2})\.(0|[1-9][0-9]?)(\.(0|[1-9][0-9]{0,2})(-[0-9A-Za-z][0-9A-Za-z.-]*)?)?(-multi)?$`)
	oneLetterEnd   = regexp.MustCompile(`\.[a-z0-9]$`)
	fourNumbers    = regexp.MustCompile(`(\d+\.){3}\d`)
	imageReference = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)+(:[\w][\w.-]*)?(@sha256:[0-9a-f]{64})?$`)
)

// maxNameLength is the service's.
const maxNameLength = 54

func (k *checker) identity() {
	c := k.cluster
	k.Required("apiVersion", c.APIVersion, "write apiVersion: "+APIVersion)
	k.Required("kind", c.Kind, "write kind: "+Kind)
	k.clusterName()
	k.baseDomain()
	k.EachValid("metadata.tags", c.Metadata.Tags, tagWords.MatchString, "%q cannot be a tag",
		"use letters, digits, underscores and single spaces")
	k.EachValid("metadata.tags", c.Metadata.Tags, isUsersTag, "oaictl uses the tag %q to identify its own clusters", "leave it out")
}

// isUsersTag reports whether a tag is not one of those that oaictl writes.
func isUsersTag(tag string) bool { return tag != "oaictl" && !strings.HasPrefix(tag, "oaictl_run_") }

func (k *checker) clusterName() {
	name := k.cluster.Metadata.Name
	if !k.Required("metadata.name", name, "give the cluster a name") {
		return
	}
	switch {
	case len(name) > maxNameLength:
		k.Report("metadata.name", fmt.Sprintf("is %d characters long", len(name)), fmt.Sprintf("use at most %d", maxNameLength))
	case values.IsLabel(name):
	case !values.IsDomain(name):
		k.Report("metadata.name", fmt.Sprintf("%q cannot be a part of a DNS name", name), values.LowerRemedy(name, values.IsDomain))
	case k.cluster.Spec.Platform.Type != NoneType:
		k.Report("metadata.name", fmt.Sprintf("%q has a dot, which only platform none allows", name), "leave the dot out")
	}
}

func (k *checker) baseDomain() {
	domain := k.cluster.Spec.BaseDomain
	if !k.Required("spec.baseDomain", domain, "write the DNS domain of the cluster, without the cluster's name") {
		return
	}
	switch {
	case !values.IsDomain(domain):
		k.Report("spec.baseDomain", fmt.Sprintf("%q is not a DNS domain", domain), values.LowerRemedy(domain, values.IsDomain))
	case !strings.Contains(domain, "."):
		k.Report("spec.baseDomain", fmt.Sprintf("%q has one part only", domain), "use a domain of at least two parts, such as example.com")
	case oneLetterEnd.MatchString(domain):
		k.Report("spec.baseDomain", fmt.Sprintf("the last part of %q is only one character, which the service does not accept", domain),
			"use a domain such as example.com")
	case fourNumbers.MatchString(domain):
		k.Report("spec.baseDomain", fmt.Sprintf("%q looks like an IP address", domain), "use a domain such as example.com")
	}
}

// version is what to install. known is false where it is not given or not right.
func (c *Cluster) version() (major, minor int, known bool) {
	parts := releaseVersion.FindStringSubmatch(c.Spec.OpenShift.Version)
	if parts == nil {
		return 0, 0, false
	}
	major, errMajor := strconv.Atoi(parts[1])
	minor, errMinor := strconv.Atoi(parts[2])
	return major, minor, errMajor == nil && errMinor == nil
}

// olderThan reports whether it is known to be older than 4.minor.
func (c *Cluster) olderThan(minor int) bool {
	major, is, known := c.version()
	return known && major == 4 && is < minor
}

// Which versions a service has, only it knows: what is refused is a slip of the finger,
// with room for the releases of several years. The Assisted Installer began with 4.8;
// 5.0 comes while 4 goes on.
const (
	oldestMinor     = 8
	newestMinor     = 29
	newestMinorOf5  = 15
	possibleVersion = `write a version that the service has, such as "4.22"`
)

func (k *checker) openshift() {
	o := k.cluster.Spec.OpenShift
	const field = "spec.openshift.version"
	major, minor, known := k.cluster.version()
	switch {
	case o.Version == "":
		k.ReportIf(o.ImageSet == "", field, "is missing", `write the version in quotes: version: "4.20"`)
	case releaseVersion.MatchString(strings.TrimPrefix(o.Version, "v")) && strings.HasPrefix(o.Version, "v"):
		k.Report(field, fmt.Sprintf("%q begins with a v", o.Version), fmt.Sprintf("write %q", o.Version[1:]))
	case !known:
		k.Report(field, fmt.Sprintf("%q is not a version of OpenShift", o.Version),
			`write "4.20" for the newest 4.20.z, or "4.20.3" for exactly that`)
	case major < 4 || k.cluster.olderThan(oldestMinor):
		k.Report(field, fmt.Sprintf("the Assisted Installer never installed OpenShift %s", o.Version), possibleVersion)
	case major == 4 && minor > newestMinor, major == 5 && minor > newestMinorOf5, major > 5:
		k.Report(field, fmt.Sprintf("there is no OpenShift %s", o.Version), possibleVersion)
	}
	k.image("spec.openshift.releaseImage", o.ReleaseImage)
	if strings.HasSuffix(o.Version, "-multi") && o.Arch != "" && o.Arch != Multi {
		k.Report("spec.openshift.arch", fmt.Sprintf("is %s, but the version %s is for several architectures", o.Arch, o.Version),
			"write arch: multi")
	}
	for i := range k.cluster.Spec.Hosts {
		k.hostArch(i)
	}
}

func (k *checker) bootImage(field string, image ImageType) {
	k.ReportIf(image == ImageFull && k.cluster.Spec.Platform.onOracleCloud(), field, "platform external oci only works with "+
		"the minimal image",
		"write minimal, or leave it out")
}

func (k *checker) image(field, reference string) {
	k.Valid(field, reference, imageReference.MatchString, "is not the reference of an image",
		"write registry/repository:tag or registry/repository@sha256:digest, without a scheme")
}

const oneArch = "a machine has one architecture"

func (k *checker) hostArch(i int) {
	h, cluster := &k.cluster.Spec.Hosts[i], k.cluster.Spec.OpenShift.Arch
	switch {
	case h.Arch == "":
	case h.Arch == Multi:
		k.Report(hostField(i, "arch"), oneArch, "")
	case cluster != Multi && cluster != h.Arch:
		if cluster == "" {
			cluster = X86
			if h.Arch == X86 {
				return
			}
		}
		k.Report(hostField(i, "arch"), fmt.Sprintf("is %s, but the cluster is %s", h.Arch, cluster),
			"write spec.openshift.arch: multi for machines of several architectures")
	}
}

func (k *checker) platform() {
	p, arch := k.cluster.Spec.Platform, k.cluster.Spec.OpenShift.Arch
	const field = "spec.platform.type"
	switch {
	case p.Type == External && (p.External == nil || p.External.Name == ""):
		k.Report("spec.platform.external.name", "is missing", "platform external needs the name of the infrastructure")
	case p.Type != External && p.External != nil:
		k.Report("spec.platform.external", fmt.Sprintf("is only for platform external, but the platform is %s", p.Type), "")
	}
	if p.External != nil && p.External.CloudControllerManager != "" && p.External.CloudControllerManager != "External" {
		k.Report("spec.platform.external.cloudControllerManager", fmt.Sprintf("%q is not known here", p.External.CloudControllerManager),
			"write External, or leave it out")
	}
	k.bootImage("spec.boot.image", k.cluster.Spec.Boot.Image)
	k.halfPlatform()
	if k.cluster.SingleNode() && (p.Type == BareMetal || p.Type == VSphere || p.Type == Nutanix) {
		k.Report(field, fmt.Sprintf("a single node cannot have platform %s", p.Type), "write platform: none, or leave it out")
	}
	if (arch == Power || arch == Z) && (p.Type == BareMetal || p.Type == VSphere || p.Type == Nutanix) {
		k.Report(field, fmt.Sprintf("%s machines cannot have platform %s", arch, p.Type), "write platform: none")
	}
}

// halfPlatform reports an override of a part of a platform that refers to the rest, for which the
// service writes placeholders: the installer refuses the two together.
func (k *checker) halfPlatform() {
	for platform, parts := range map[PlatformType][]string{
		VSphere: {"vcenters", "failureDomains"},
		Nutanix: {"prismCentral", "prismElements", "subnetUUIDs"},
	} {
		override := below(k.cluster.Spec.Overrides.InstallConfig, "platform", string(platform))
		given := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return override[part] == nil })
		if len(given) > 0 && len(given) < len(parts) {
			k.Report(fmt.Sprintf("spec.overrides.installConfig.platform.%s.%s", platform, given[0]),
				"must be set together with the others of this group: "+strings.Join(parts, ", "),
				"write all of them, or none. Without them the service writes placeholders, and you replace these after the installation")
		}
	}
}

// First minor versions of OpenShift 4 with these shapes.
const (
	minorLargeControlPlane = 18
	minorArbiter           = 19
	minorFencing           = 20
	minorArbiterNone       = 22 // arbiter with platform none
)

func (k *checker) topology() {
	k.controlPlaneCount()
	k.twoNodes()
	k.workerCounts()
	k.hostCounts()
	if len(k.cluster.Spec.Hosts) == 0 && !k.cluster.Spec.AcceptUnknownHosts {
		k.Report("spec.hosts", "is missing, so each machine that boots the image would be wiped and installed",
			"list the hosts, or write acceptUnknownHosts: true")
	}
}

func (k *checker) controlPlaneCount() {
	c, t := k.cluster, k.cluster.Spec.Topology
	const field = "spec.topology.controlPlane"
	n := c.ControlPlaneCount()
	switch {
	case n < 1 || n > 5:
		k.Report(field, fmt.Sprintf("a cluster cannot have %d control plane machines", n), "use 1, 2 with an arbiter or fencing, 3, 4 or 5")
	case n > 3 && c.olderThan(minorLargeControlPlane):
		k.tooOld(field, fmt.Sprintf("%d control plane machines", n), minorLargeControlPlane)
	case n == 1 && (c.ArbiterCount() > 0 || t.Fencing):
		k.Report(field, "a single node has no arbiter or fencing", "use 2 control plane machines")
	case n == 1 && c.WorkerCount() > 0 && c.RequiredWorkers() > 0:
		k.Report(field, "a single node has no workers when it is installed",
			"write topology.required: {workers: 0} and add them with `oaictl add-node` once it is installed, or use 3 control plane machines")
	case n == 1 && c.WorkerCount() > 0:
		k.laterWorkers()
	case n != 2 && c.ArbiterCount() > 0:
		k.Report("spec.topology.arbiters", fmt.Sprintf("an arbiter needs 2 control plane machines, but there are %d", n), "")
	case n != 2 && t.Fencing:
		k.Report("spec.topology.fencing", fmt.Sprintf("fencing needs 2 control plane machines, but there are %d", n), "")
	}
}

// laterWorkers reports hosts that may be the single node or one that is added to it.
func (k *checker) laterWorkers() {
	first := k.cluster.AtInstall()
	if len(first.Spec.Hosts) < 2 {
		return
	}
	for i := range first.Spec.Hosts {
		if h := &first.Spec.Hosts[i]; h.Role == Auto {
			k.Report(first.HostField(h, "role"), "is not set, so it is not known which host is the single node and which hosts are added later",
				"write role: worker for the hosts that are added later")
		}
	}
}

func (k *checker) tooOld(field, what string, minor int) {
	k.Report(field, fmt.Sprintf("%s need OpenShift 4.%d, but the version is %s", what, minor, k.cluster.Spec.OpenShift.Version), "")
}

func (k *checker) twoNodes() {
	c, t := k.cluster, k.cluster.Spec.Topology
	if c.ControlPlaneCount() != 2 {
		return
	}
	switch arbiters := c.ArbiterCount(); {
	case arbiters > 0 && t.Fencing:
		k.Report("spec.topology", "two control plane machines can have an arbiter or fencing, not both", "")
	case arbiters == 0 && !t.Fencing:
		k.Report("spec.topology.controlPlane", "two control plane machines need a third vote",
			"write arbiters: 1, or fencing: true with fencing credentials for both hosts")
	case arbiters > 0 && c.olderThan(minorArbiter):
		k.tooOld("spec.topology.arbiters", "arbiters", minorArbiter)
	case arbiters > 0 && c.olderThan(minorArbiterNone) && c.Spec.Platform.Type == NoneType:
		k.tooOld("spec.platform.type", "arbiters with platform none", minorArbiterNone)
	case arbiters > 0 && c.Spec.Platform.Type != BareMetal && c.Spec.Platform.Type != NoneType:
		k.Report("spec.platform.type", fmt.Sprintf("an arbiter needs platform baremetal, not %s", c.Spec.Platform.Type), "")
	case t.Fencing && c.olderThan(minorFencing):
		k.tooOld("spec.topology.fencing", "two nodes with fencing", minorFencing)
	case t.Fencing && c.Spec.Platform.Type != BareMetal && c.Spec.Platform.Type != NoneType:
		k.Report("spec.platform.type", fmt.Sprintf("fencing needs platform baremetal or none, not %s", c.Spec.Platform.Type), "")
	}
}

func (k *checker) workerCounts() {
	t := k.cluster.Spec.Topology
	k.ReportIf(k.cluster.WorkerCount() < 0, "spec.topology.workers", "is negative", "")
	k.ReportIf(k.cluster.ArbiterCount() < 0, "spec.topology.arbiters", "is negative", "")
	if required := t.Required.Workers; required != nil && (*required < 0 || *required > k.cluster.WorkerCount()) {
		k.Report("spec.topology.required.workers", fmt.Sprintf("%d of %d workers cannot be required", *required, k.cluster.WorkerCount()), "")
	}
	if t.Required.Within != 0 && t.Required.Workers == nil {
		k.Report("spec.topology.required.within", "is the time to wait for optional workers, but all workers are required",
			"write required.workers too")
	}
}

// hostCounts compares the hosts with the numbers asked for. Where other hosts are
// welcome, there may be fewer hosts than machines.
func (k *checker) hostCounts() {
	c := k.cluster
	roles := c.rolesOfHosts()
	known := roles[ControlPlane] + roles[Worker] + roles[Arbiter] + roles[Auto]
	if len(c.Spec.Hosts) == 0 || known != len(c.Spec.Hosts) || k.IsFailed("spec.topology") {
		return
	}
	missing := 0
	for _, shape := range []struct {
		role  Role
		field string
		want  int
	}{
		{ControlPlane, "spec.topology.controlPlane", c.ControlPlaneCount()},
		{Arbiter, "spec.topology.arbiters", c.ArbiterCount()},
		{Worker, "spec.topology.workers", c.WorkerCount()},
	} {
		if roles[shape.role] > shape.want {
			k.Report(shape.field, fmt.Sprintf("the topology has %d, but %s the role %s", shape.want, hostsHave(roles[shape.role]), shape.role),
				"make the number match the roles of the hosts")
			return
		}
		missing += shape.want - roles[shape.role]
	}
	switch free := roles[Auto]; {
	case free > missing:
		k.Report("spec.hosts", fmt.Sprintf("there are %d hosts, but the topology has %d machines", len(c.Spec.Hosts),
			len(c.Spec.Hosts)-free+missing), "make the topology match the list of hosts")
	case free < missing && !c.Spec.AcceptUnknownHosts:
		k.Report("spec.hosts", fmt.Sprintf("there are %d hosts, but the topology has %d machines", len(c.Spec.Hosts),
			len(c.Spec.Hosts)-free+missing), "add the missing hosts, or write acceptUnknownHosts: true")
	}
}

func hostsHave(n int) string {
	if n == 1 {
		return "1 host has"
	}
	return fmt.Sprintf("%d hosts have", n)
}
