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

// forbiddenHostnames are those of machines that nobody named; the service refuses them.
var forbiddenHostnames = []string{"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6"}

func (k *checker) hosts() {
	for i := range k.cluster.Spec.Hosts {
		if k.isBroken(i) {
			continue
		}
		h := &k.cluster.Spec.Hosts[i]
		k.hostName(i, h)
		k.match(i, h.Match)
		k.bmc(i, h)
		k.disk(i, h.Disk)
		k.Labels(hostField(i, "labels"), h.Labels)
		k.InstallerArgs(hostField(i, "installerArgs"), h.InstallerArgs)
		k.fencing(i, h)
		if pool := h.MachineConfigPool; pool != "" && !values.IsDomain(pool) {
			k.Report(hostField(i, "machineConfigPool"), fmt.Sprintf("%q cannot be the name of a machine config pool", pool), values.LowerRemedy(pool, values.IsDomain))
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
	case !values.IsDomain(h.Hostname):
		k.Report(field, fmt.Sprintf("%q cannot be a hostname", h.Hostname), values.LowerRemedy(h.Hostname, values.IsDomain))
	}
}

func (k *checker) match(i int, m Match) {
	field := hostField(i, "match")
	if m == (Match{}) {
		k.Report(field, "is missing, so no machine can be recognised as this host", "write match: {mac: ADDRESS}; serial, uuid, hostname and bmc do as well")
		return
	}
	if m.MAC != "" {
		k.MAC(field+".mac", m.MAC)
	}
	if m.UUID != "" && !systemUUID.MatchString(m.UUID) {
		k.Report(field+".uuid", fmt.Sprintf("%q is not a UUID", m.UUID), "")
	}
	if m.BMC != "" {
		if _, err := netip.ParseAddr(m.BMC); err != nil {
			k.Report(field+".bmc", fmt.Sprintf("%q is not an IP address", m.BMC), "machines tell the IP address of their BMC, not its name")
		}
	}
	if strings.TrimSpace(m.Serial) != m.Serial {
		k.Report(field+".serial", "begins or ends with a space", "")
	}
}

func (k *checker) bmc(i int, h *Host) {
	if h.BMC == nil {
		if k.cluster.Spec.Boot.Method == BootRedfish {
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
			message: "is missing: nothing says how to log in to the BMC of " + k.hostLabel(i),
			remedy:  "write where user:password is read from: credentials: {env: NAME}",
		})
	}
}

func (k *checker) disk(i int, d Disk) {
	hints := hostField(i, "disk.hints")
	if d.Hints.DeviceName != "" && !strings.HasPrefix(d.Hints.DeviceName, "/dev/") {
		k.Report(hints+".deviceName", fmt.Sprintf("%q is not the path of a device", d.Hints.DeviceName), fmt.Sprintf("write %q", "/dev/"+strings.TrimPrefix(d.Hints.DeviceName, "/")))
	}
	if d.Hints.HCTL != "" && !scsiAddress.MatchString(d.Hints.HCTL) {
		k.Report(hints+".hctl", fmt.Sprintf("%q is not a SCSI address", d.Hints.HCTL), `write host:channel:target:lun, such as "0:0:0:0"`)
	}
	if d.Hints.MinSizeGigabytes < 0 || d.Hints.MinSizeGigabytes > 1<<20 {
		k.Report(hints+".minSizeGigabytes", fmt.Sprintf("%d GiB cannot be the size of a disk", d.Hints.MinSizeGigabytes), "")
	}
	for name, text := range map[string]string{"wwn": d.Hints.WWN, "wwnWithExtension": d.Hints.WWNWithExtension, "wwnVendorExtension": d.Hints.WWNVendorExtension} {
		if strings.ContainsAny(text, " \t/") {
			k.Report(hints+"."+name, fmt.Sprintf("%q is not a world-wide name", text), `write it as the machine shows it, such as "0x5000c500a0b1c2d3"`)
		}
	}
	for j, path := range d.Keep {
		field := fmt.Sprintf("%s[%d]", hostField(i, "disk.keep"), j)
		switch {
		case !strings.HasPrefix(path, "/dev/"):
			k.Report(field, fmt.Sprintf("%q is not the path of a device", path), "write it as /dev/disk/by-id/…, which does not change with a reboot")
		case path == d.Hints.DeviceName:
			k.Report(field, fmt.Sprintf("%s is the disk to install on", path), "keep another disk, or install on another one")
		case slices.Contains(d.Keep[:j], path):
			k.Report(field, fmt.Sprintf("%s stands here twice", path), "")
		}
	}
}

func (k *checker) fencing(i int, h *Host) {
	field := hostField(i, "fencing")
	wanted := k.cluster.Spec.Topology.Fencing && h.Role != Worker
	switch {
	case h.Fencing == nil && wanted:
		k.Report(field, "is missing, but the topology has fencing", "write fencing: {} to use the BMC's address and credentials")
	case h.Fencing == nil:
	case !k.cluster.Spec.Topology.Fencing:
		k.Report(field, "the topology has no fencing", "write topology.fencing: true with two control plane machines, or leave it out")
	default:
		if k.Required(field+".address", h.Fencing.Address, "write the Redfish address of the machine's BMC") {
			k.BMCAddress(field+".address", h.Fencing.Address)
		}
		if h.Fencing.Credentials.IsZero() {
			k.Report(field+".credentials", "is missing", "write where user:password is read from")
		}
	}
}

type registerOf struct {
	check *checker
	what  string
	owner map[string]int // host by value
}

// take reports a value that another host has already.
func (r *registerOf) take(value, field string, host int) {
	if value == "" {
		return
	}
	first, taken := r.owner[value]
	if !taken {
		r.owner[value] = host
		return
	}
	if first != host {
		owner := r.check.hostLabel(first)
		if owner == r.check.hostLabel(host) {
			owner = fmt.Sprintf("spec.hosts[%d]", first)
		}
		r.check.Report(field, fmt.Sprintf("%s %s belongs to %s already", r.what, value, owner), "")
	}
}

func (k *checker) hostLabel(i int) string {
	if name := k.cluster.Spec.Hosts[i].Name; name != "" {
		return "host " + name
	}
	return fmt.Sprintf("spec.hosts[%d]", i)
}

// duplicates reports what two hosts cannot share. The service would take most of it.
func (k *checker) duplicates() {
	register := func(what string) *registerOf {
		return &registerOf{check: k, what: what, owner: map[string]int{}}
	}
	names, hostnames, macs := register("the name"), register("the hostname"), register("the MAC address")
	serials, uuids, own := register("the serial number"), register("the UUID"), register("the hostname")
	bmcIPs, wwns := register("the BMC"), register("the disk")
	for i := range k.cluster.Spec.Hosts {
		h := &k.cluster.Spec.Hosts[i]
		names.take(strings.ToLower(h.Name), hostField(i, "name"), i)
		if h.Hostname != h.Name {
			hostnames.take(strings.ToLower(h.Hostname), hostField(i, "hostname"), i)
		} else if _, taken := names.owner[h.Name]; taken && names.owner[h.Name] == i {
			hostnames.take(strings.ToLower(h.Hostname), hostField(i, "name"), i)
		}
		macs.take(h.Match.MAC, hostField(i, "match.mac"), i)
		serials.take(strings.ToLower(h.Match.Serial), hostField(i, "match.serial"), i)
		uuids.take(h.Match.UUID, hostField(i, "match.uuid"), i)
		own.take(strings.ToLower(h.Match.Hostname), hostField(i, "match.hostname"), i)
		bmcIPs.take(h.Match.BMC, hostField(i, "match.bmc"), i)
		wwns.take(strings.ToLower(h.Disk.Hints.WWN), hostField(i, "disk.hints.wwn"), i)
		if h.Net != nil {
			macs.take(h.Net.MAC, hostField(i, "net.mac"), i)
			for j, nic := range h.Net.Interfaces {
				macs.take(nic.MAC, fmt.Sprintf("%s[%d].mac", hostField(i, "net.interfaces"), j), i)
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
			owner, hint := k.hostLabel(other.host), ""
			if owner == k.hostLabel(i) {
				owner = fmt.Sprintf("spec.hosts[%d]", other.host)
			}
			if mine.System == "" || other.System == "" {
				hint = "write each machine's own address, or, where one BMC has several systems, bmc.system for each"
			}
			k.Report(hostField(i, "bmc.address"), fmt.Sprintf("the BMC %s belongs to %s already", values.BMCHost(h.BMC.Address), owner), hint)
			break
		}
		before = append(before, mine)
	}
}
