package spec

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

var (
	systemUUID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	scsiAddress = regexp.MustCompile(`^\d+:\d+:\d+:\d+$`)
)

// forbiddenHostnames are those of machines that were given no name; the service refuses them.
var forbiddenHostnames = []string{"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6",
	"localhost6.localdomain6"}

func (k *checker) hosts() {
	for i := range k.cluster.Spec.Hosts {
		if k.isBroken(i) {
			continue
		}
		h := &k.cluster.Spec.Hosts[i]
		k.hostName(i, h)
		k.match(i, h.Match)
		k.discovery(i, h)
		k.bmc(i, h)
		k.disk(i, h.Disk)
		k.chosenByHub(i, h)
		k.Labels(hostField(i, "labels"), h.Labels)
		k.taints(i, h.Taints)
		k.Valid(hostField(i, "providerID"), h.ProviderID, providerID.MatchString, "%q cannot be a provider id",
			"write it without spaces, such as metal3://NAMESPACE/NAME")
		k.InstallerArgs(hostField(i, "installerArgs"), h.InstallerArgs)
		k.fencing(i, h)
		if pool := h.MachineConfigPool; pool != "" && !values.IsDomain(pool) {
			k.Report(hostField(i, "machineConfigPool"), fmt.Sprintf("%q cannot be the name of a machine config pool", pool),
				values.LowerRemedy(pool, values.IsDomain))
		}
	}
	k.duplicates()
}

func (k *checker) isBroken(i int) bool { return k.Failed[fmt.Sprintf("spec.hosts[%d]", i)] }

func (k *checker) hostName(i int, h *Host) {
	if k.Required(hostField(i, "name"), h.Name, "give the host a name") && !values.IsDomain(h.Name) {
		k.Report(hostField(i, "name"), fmt.Sprintf("%q cannot be a part of a DNS name", h.Name), values.LowerRemedy(h.Name, values.IsDomain))
		return
	}
	field := hostField(i, "hostname")
	if h.Hostname == h.Name {
		field = hostField(i, "name")
	}
	switch {
	case h.Hostname == "":
	case slices.Contains(forbiddenHostnames, h.Hostname):
		k.Report(field, fmt.Sprintf("%q cannot be the hostname of a node", h.Hostname), "use a name that no other host has")
	case len(h.Hostname) > maxLabel:
		k.Report(field, fmt.Sprintf("%q is %d characters long", h.Hostname, len(h.Hostname)),
			fmt.Sprintf("use at most %d characters, including dots: the service does not accept a longer hostname", maxLabel))
	case !values.IsDomain(h.Hostname):
		k.Report(field, fmt.Sprintf("%q cannot be a hostname", h.Hostname), values.LowerRemedy(h.Hostname, values.IsDomain))
	}
}

func (k *checker) match(i int, m Match) {
	field := hostField(i, "match")
	if m == (Match{}) {
		k.Report(field, "is missing, so oaictl cannot identify the machine of this host",
			"write match: {mac: ADDRESS}; or use serial, uuid, hostname, bmc, infraEnv or agent")
		return
	}
	k.MAC(field+".mac", m.MAC)
	k.Valid(field+".uuid", m.UUID, systemUUID.MatchString, "%q is not a UUID", "")
	if _, err := netip.ParseAddr(m.BMC); err != nil && m.BMC != "" {
		k.Report(field+".bmc", fmt.Sprintf("%q is not an IP address", m.BMC), "machines report the IP address of their BMC, not its name")
	}
	k.ReportIf(strings.TrimSpace(m.Serial) != m.Serial, field+".serial", "begins or ends with a space", "")
	k.ownInfraEnv(field+".infraEnv", m.InfraEnv)
	k.reserved(i, m)
}

// reserved checks how a host of a pool is named that was reserved.
func (k *checker) reserved(i int, m Match) {
	if m.Agent == "" {
		return
	}
	field := hostField(i, "match")
	pool, host, found := strings.Cut(m.Agent, "/")
	if !found || strings.TrimSpace(pool) == "" || !values.IsDomain(host) {
		k.Report(field+".agent", fmt.Sprintf("%q does not name a host of a pool", m.Agent),
			"on a hub, write NAMESPACE/NAME of its Agent; with a REST service, write the name or id of its InfraEnv, a slash, and "+
				"the id of the host")
	}
	k.ReportIf(m.InfraEnv != "", field+".infraEnv", "makes an image for the host, but match.agent names a host that already "+
		"runs another image",
		"keep one of the two")
	k.ReportIf(k.cluster.Spec.Hosts[i].Net != nil, hostField(i, "net"), "belongs to the image that the host of the pool has already booted",
		"leave it out")
}

// maxLabel is the length of a hostname, and of the value of a label, such as that by which
// an Agent names its InfraEnv.
const maxLabel = 63

// ownInfraEnv checks the name of an InfraEnv that serves one host alone.
func (k *checker) ownInfraEnv(field, name string) {
	shared := k.cluster.Spec.InfraEnv
	switch {
	case name == "":
	case !values.IsDomain(name) || len(name) > maxLabel:
		k.Report(field, fmt.Sprintf("%q cannot be the name of an InfraEnv that serves one host", name),
			fmt.Sprintf("it is a DNS name of at most %d characters; ", maxLabel)+values.LowerRemedy(name, values.IsDomain))
	case shared.Ref != "":
		k.Report(field, "creates an InfraEnv for the host, but the hosts boot "+shared.Ref+", which already exists",
			"leave it out, or spec.infraEnv.ref")
	case shared.Bind == BindLate:
		k.Report(field, "makes an InfraEnv that is bound to the cluster from the start, but spec.infraEnv.bind is late",
			"leave it out, or write bind: early")
	}
}

func (k *checker) bmc(i int, h *Host) {
	if h.BMC == nil {
		if k.cluster.Spec.Boot.Method == BootRedfish && h.Match.Agent == "" {
			k.Report(hostField(i, "bmc"), "is missing, but boot.method is redfish", "write the address and the credentials of the machine's BMC")
		}
		return
	}
	field := hostField(i, "bmc")
	if k.Required(field+".address", h.BMC.Address, "write the address of the machine's BMC") {
		k.BMCAddress(field+".address", h.BMC.Address)
	}
	if h.BMC.Credentials.IsZero() {
		k.defaultAstray(astray{
			field: defaultsField + ".bmc.credentials", of: i, own: field + ".credentials",
			message: "is missing: oaictl cannot log in to the BMC of " + k.hostLabel(i),
			remedy:  "write the source of user:password: credentials: {env: NAME}",
		})
	}
}

func (k *checker) disk(i int, d Disk) {
	hints := hostField(i, "disk.hints")
	if d.Hints.DeviceName != "" && !strings.HasPrefix(d.Hints.DeviceName, "/dev/") {
		k.Report(hints+".deviceName", fmt.Sprintf("%q is not the path of a device", d.Hints.DeviceName),
			fmt.Sprintf("write %q", "/dev/"+strings.TrimPrefix(d.Hints.DeviceName, "/")))
	}
	k.Valid(hints+".hctl", d.Hints.HCTL, scsiAddress.MatchString, "%q is not a SCSI address",
		`write host:channel:target:lun, such as "0:0:0:0"`)
	if d.Hints.MinSizeGigabytes < 0 || d.Hints.MinSizeGigabytes > 1<<20 {
		k.Report(hints+".minSizeGigabytes", fmt.Sprintf("%d GB cannot be the size of a disk", d.Hints.MinSizeGigabytes), "")
	}
	for name, text := range map[string]string{"wwn": d.Hints.WWN, "wwnWithExtension": d.Hints.WWNWithExtension,
		"wwnVendorExtension": d.Hints.WWNVendorExtension} {
		if strings.ContainsAny(text, " \t/") {
			k.Report(hints+"."+name, fmt.Sprintf("%q is not a world-wide name", text),
				`write it as the machine shows it, such as "0x5000c500a0b1c2d3"`)
		}
	}
	for j, path := range d.Keep {
		field := fmt.Sprintf("%s[%d]", hostField(i, "disk.keep"), j)
		switch {
		case !strings.HasPrefix(path, "/dev/"):
			k.Report(field, fmt.Sprintf("%q is not the path of a device", path),
				"write it as /dev/disk/by-id/…: this name does not change with a reboot")
		case path == d.Hints.DeviceName:
			k.Report(field, fmt.Sprintf("%s is the disk to install on", path), "keep another disk, or install on another one")
		case slices.Contains(d.Keep[:j], path):
			k.Report(field, fmt.Sprintf("%s appears here twice", path), "")
		}
	}
}

// chosenByHub refuses hints that the hub, which chooses the disk of a host that it boots, does not read.
func (k *checker) chosenByHub(i int, h *Host) {
	if !k.cluster.HubBoots(h) {
		return
	}
	for _, r := range h.Disk.Hints.RefusedByService() {
		k.Report(hostField(i, "disk.hints."+r.Field), r.Message, r.Remedy)
	}
}

func (k *checker) fencing(i int, h *Host) {
	field := hostField(i, "fencing")
	wanted := k.cluster.Spec.Topology.Fencing && h.Role != Worker
	switch {
	case h.Fencing == nil && wanted:
		k.Report(field, "is missing, but the topology has fencing", "write fencing: {} to use the BMC's address and credentials")
	case h.Fencing == nil:
	case k.cluster.nodes:
		k.Report(field, "says how a cluster is installed, but this one is installed already", "leave it out")
	case !k.cluster.Spec.Topology.Fencing:
		k.Report(field, "the topology has no fencing", "write topology.fencing: true with two control plane machines, or leave it out")
	default:
		if k.Required(field+".address", h.Fencing.Address, "write the Redfish address of the machine's BMC") {
			k.fencingAddress(i, h)
		}
		k.ReportIf(h.Fencing.Credentials.IsZero(), field+".credentials", "is missing", "write the source of user:password")
	}
}

// fencingAddress checks the address by which a cluster powers a node off. One in a Secret on
// the hub is that Secret's matter.
func (k *checker) fencingAddress(i int, h *Host) {
	field, text, system := hostField(i, "fencing.address"), h.Fencing.Address, ""
	said := k.cluster.Present(field) || h.BMC == nil
	if said {
		k.BMCAddress(field, text)
	} else {
		text, system = h.BMC.Address, h.BMC.System
	}
	_, wrong := values.FencingAddress(text, system)
	if wrong == "" || !values.IsBMC(text) || h.Fencing.Credentials.SecretRef != nil {
		return // one that is no address is reported as that
	}
	if !said {
		wrong = fmt.Sprintf("is taken from bmc.address, %s, which %s", text, wrong)
	}
	k.Report(field, wrong, "write fencing: {address: redfish+https://HOST/redfish/v1/Systems/ID}")
}

func (k *checker) hostLabel(i int) string {
	if name := k.cluster.Spec.Hosts[i].Name; name != "" {
		return "host " + name
	}
	return fmt.Sprintf("spec.hosts[%d]", i)
}

// ownerLabel is the text for a host that has a value that another host has, too, even if that value is the name.
func (k *checker) ownerLabel(owner, other int) string {
	if label := k.hostLabel(owner); label != k.hostLabel(other) {
		return label
	}
	return fmt.Sprintf("spec.hosts[%d]", owner)
}

// duplicates reports what two hosts cannot share. The service would take most of it.
func (k *checker) duplicates() {
	whats := map[string]string{
		"name": "the name", "hostname": "the hostname", "mac": "the MAC address", "serial": "the serial number", "uuid": "the UUID",
		"own hostname": "the hostname", "bmc": "the BMC", "disk": "the disk", "provider id": "the provider id", "infra-env": "the InfraEnv",
		"agent": "the host",
	}
	owners := map[string]int{} // by kind and value
	for i := range k.cluster.Spec.Hosts {
		take := func(kind, value, name string) {
			first, taken := owners[kind+" "+value]
			switch {
			case value == "":
			case !taken:
				owners[kind+" "+value] = i
			case first != i:
				k.Report(hostField(i, name), fmt.Sprintf("%s %s belongs to %s already", whats[kind], value, k.ownerLabel(first, i)), "")
			}
		}
		h := &k.cluster.Spec.Hosts[i]
		take("name", strings.ToLower(h.Name), "name")
		if h.Hostname != h.Name {
			take("hostname", strings.ToLower(h.Hostname), "hostname")
		} else if owner, taken := owners["name "+h.Name]; taken && owner == i {
			take("hostname", strings.ToLower(h.Hostname), "name")
		}
		take("mac", h.Match.MAC, "match.mac")
		take("serial", strings.ToLower(h.Match.Serial), "match.serial")
		take("uuid", h.Match.UUID, "match.uuid")
		take("own hostname", strings.ToLower(h.Match.Hostname), "match.hostname")
		take("bmc", h.Match.BMC, "match.bmc")
		take("infra-env", h.Match.InfraEnv, "match.infraEnv")
		take("agent", h.Match.Agent, "match.agent")
		take("disk", strings.ToLower(h.Disk.Hints.WWN), "disk.hints.wwn")
		take("provider id", h.ProviderID, "providerID")
		if h.Net != nil {
			take("mac", h.Net.MAC, "net.mac")
			for j, nic := range h.Net.Interfaces {
				take("mac", nic.MAC, fmt.Sprintf("net.interfaces[%d].mac", j))
			}
		}
	}
	k.sharedBMCs()
}

// sharedBMCs reports hosts that are, or may be, one machine: two at one BMC both have
// to name their system.
func (k *checker) sharedBMCs() {
	type owned struct {
		values.Controller
		host int
	}
	var before []owned
	for i := range k.cluster.Spec.Hosts {
		h := &k.cluster.Spec.Hosts[i]
		if h.BMC == nil || h.BMC.Address == "" {
			continue
		}
		mine := owned{values.ControllerOf(h.BMC.Address, h.BMC.System), i}
		for _, other := range before {
			if other.Endpoint != mine.Endpoint || other.System != mine.System && other.System != "" && mine.System != "" {
				continue
			}
			hint := ""
			if mine.System == "" || other.System == "" {
				hint = "write the address of each machine, or, if one BMC has several systems, bmc.system for each machine"
			}
			k.Report(hostField(i, "bmc.address"), fmt.Sprintf("the BMC %s belongs to %s already", values.BMCHost(h.BMC.Address),
				k.ownerLabel(other.host, i)), hint)
			break
		}
		before = append(before, mine)
	}
}
