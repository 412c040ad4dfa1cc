package spec

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var (
	systemUUID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	scsiAddress = regexp.MustCompile(`^\d+:\d+:\d+:\d+$`)
	labelName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
)

// forbiddenHostnames are refused by the service: a machine that nobody named
// calls itself so.
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
		k.labels(hostField(i, "labels"), h.Labels)
		k.installerArgs(i, h.InstallerArgs)
		k.fencing(i, h)
		if pool := h.MachineConfigPool; pool != "" && !isDomain(pool) {
			k.report(hostField(i, "machineConfigPool"), fmt.Sprintf("%q cannot be the name of a machine config pool", pool), lowerRemedy(pool, isDomain))
		}
	}
	k.duplicates()
}

// isBroken says whether host i is no map at all.
func (k *checker) isBroken(i int) bool { return k.failed[fmt.Sprintf("spec.hosts[%d]", i)] }

func (k *checker) hostName(i int, h *Host) {
	if k.required(hostField(i, "name"), h.Name, "give the host a name") && !isDomain(h.Name) {
		k.report(hostField(i, "name"), fmt.Sprintf("%q cannot be a part of a DNS name", h.Name), lowerRemedy(h.Name, isDomain))
		return
	}
	field := hostField(i, "hostname")
	if h.Hostname == h.Name {
		field = hostField(i, "name")
	}
	switch {
	case h.Hostname == "":
	case slices.Contains(forbiddenHostnames, h.Hostname):
		k.report(field, fmt.Sprintf("%q cannot be the hostname of a node", h.Hostname), "use a name that no other host has")
	case !isDomain(h.Hostname):
		k.report(field, fmt.Sprintf("%q cannot be a hostname", h.Hostname), lowerRemedy(h.Hostname, isDomain))
	}
}

func (k *checker) match(i int, m Match) {
	field := hostField(i, "match")
	if m == (Match{}) {
		k.report(field, "is missing, so no machine can be recognised as this host", "write match: {mac: ADDRESS}; serial, uuid, hostname and bmc do as well")
		return
	}
	if m.MAC != "" {
		k.mac(field+".mac", m.MAC)
	}
	if m.UUID != "" && !systemUUID.MatchString(m.UUID) {
		k.report(field+".uuid", fmt.Sprintf("%q is not a UUID", m.UUID), "")
	}
	if m.BMC != "" {
		if _, err := netip.ParseAddr(m.BMC); err != nil {
			k.report(field+".bmc", fmt.Sprintf("%q is not an IP address", m.BMC), "machines tell the IP address of their BMC, not its name")
		}
	}
	if strings.TrimSpace(m.Serial) != m.Serial {
		k.report(field+".serial", "begins or ends with a space", "")
	}
}

func (k *checker) mac(field, text string) bool {
	if _, ok := parseMAC(text); !ok {
		k.report(field, fmt.Sprintf("%q is not a MAC address", text), `write it as "52:54:00:12:34:56"`)
		return false
	}
	return true
}

func (k *checker) bmc(i int, h *Host) {
	if h.BMC == nil {
		if k.cluster.Spec.Boot.Method == BootRedfish {
			k.report(hostField(i, "bmc"), "is missing, but boot.method is redfish", "write the address and the credentials of the machine's BMC")
		}
		return
	}
	field := hostField(i, "bmc")
	if k.required(field+".address", h.BMC.Address, "write the address of the machine's BMC") {
		k.bmcAddress(field+".address", h.BMC.Address)
	}
	if h.BMC.Credentials.IsZero() {
		k.defaultAstray(astray{
			field: defaultsField + ".bmc.credentials", of: i, own: field + ".credentials",
			message: "is missing: nothing says how to log in to the BMC of " + k.hostLabel(i),
			remedy:  "write where user:password is read from: credentials: {env: NAME}",
		})
	}
}

func (k *checker) bmcAddress(field, text string) {
	host := bmcHost(text)
	if _, err := netip.ParseAddr(host); err != nil && !isDomain(strings.ToLower(host)) {
		k.report(field, "is not the address of a BMC", "write an IP address, a host name, or a URL such as https://10.0.0.1/redfish/v1/Systems/1")
		return
	}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if strings.Contains(strings.SplitN(rest, "/", 2)[0], "@") {
			k.report(field, "holds a user, or a password", "write them as credentials")
		}
		if !strings.HasSuffix(scheme, "http") && !strings.HasSuffix(scheme, "https") && !slices.Contains([]string{"redfish", "redfish-virtualmedia", "idrac-virtualmedia", "ilo5-virtualmedia", "ilo4-virtualmedia"}, scheme) {
			k.report(field, fmt.Sprintf("the scheme %q is not one that oaictl speaks", scheme), "use Redfish: https://ADDRESS/redfish/v1/Systems/ID")
		}
	}
}

func (k *checker) disk(i int, d Disk) {
	hints := hostField(i, "disk.hints")
	if d.Hints.DeviceName != "" && !strings.HasPrefix(d.Hints.DeviceName, "/dev/") {
		k.report(hints+".deviceName", fmt.Sprintf("%q is not the path of a device", d.Hints.DeviceName), fmt.Sprintf("write %q", "/dev/"+strings.TrimPrefix(d.Hints.DeviceName, "/")))
	}
	if d.Hints.HCTL != "" && !scsiAddress.MatchString(d.Hints.HCTL) {
		k.report(hints+".hctl", fmt.Sprintf("%q is not a SCSI address", d.Hints.HCTL), `write host:channel:target:lun, such as "0:0:0:0"`)
	}
	if d.Hints.MinSizeGigabytes < 0 || d.Hints.MinSizeGigabytes > 1<<20 {
		k.report(hints+".minSizeGigabytes", fmt.Sprintf("%d GiB cannot be the size of a disk", d.Hints.MinSizeGigabytes), "")
	}
	for name, text := range map[string]string{"wwn": d.Hints.WWN, "wwnWithExtension": d.Hints.WWNWithExtension, "wwnVendorExtension": d.Hints.WWNVendorExtension} {
		if strings.ContainsAny(text, " \t/") {
			k.report(hints+"."+name, fmt.Sprintf("%q is not a world-wide name", text), `write it as the machine shows it, such as "0x5000c500a0b1c2d3"`)
		}
	}
	for j, path := range d.Keep {
		field := fmt.Sprintf("%s[%d]", hostField(i, "disk.keep"), j)
		switch {
		case !strings.HasPrefix(path, "/dev/"):
			k.report(field, fmt.Sprintf("%q is not the path of a device", path), "write it as /dev/disk/by-id/…, which does not change with a reboot")
		case path == d.Hints.DeviceName:
			k.report(field, fmt.Sprintf("%s is the disk to install on", path), "keep another disk, or install on another one")
		case slices.Contains(d.Keep[:j], path):
			k.report(field, fmt.Sprintf("%s stands here twice", path), "")
		}
	}
}

// labels checks the syntax of Kubernetes labels.
func (k *checker) labels(field string, labels map[string]string) {
	for key, value := range labels {
		prefix, name, found := strings.Cut(key, "/")
		if !found {
			prefix, name = "", key
		}
		if !labelName.MatchString(name) || found && !isDomain(prefix) {
			k.report(join(field, key), fmt.Sprintf("%q cannot be the key of a label", key), "use letters, digits, dashes, dots and underscores, with a DNS domain and a slash before them if wanted")
		}
		if value != "" && !labelName.MatchString(value) {
			k.report(join(field, key), fmt.Sprintf("%q cannot be the value of a label", value), "use at most 63 letters, digits, dashes, dots and underscores")
		}
	}
}

// installerFlags are the flags of coreos-installer that the service passes on,
// and whether each takes a value.
var installerFlags = map[string]bool{
	"--append-karg": true, "--delete-karg": true, "-n": false, "--copy-network": false, "--network-dir": true,
	"--save-partlabel": true, "--save-partindex": true, "--image-url": true, "--image-file": true,
}

func (k *checker) installerArgs(i int, args []string) {
	for j := 0; j < len(args); j++ {
		field := fmt.Sprintf("%s[%d]", hostField(i, "installerArgs"), j)
		flag, _, hasValue := strings.Cut(args[j], "=")
		takesValue, known := installerFlags[flag]
		switch {
		case !known:
			k.report(field, fmt.Sprintf("%q is not a flag that the service passes on", flag), "it passes on --append-karg, --delete-karg, -n, --copy-network, --network-dir, --save-partlabel, --save-partindex, --image-url and --image-file")
		case hasValue && !takesValue:
			k.report(field, fmt.Sprintf("the flag %s takes no value", flag), "")
		case takesValue && !hasValue && (j+1 == len(args) || strings.HasPrefix(args[j+1], "-")):
			k.report(field, fmt.Sprintf("the flag %s lacks its value", flag), "write the value as the next entry of the list")
		case takesValue && !hasValue:
			j++
		}
	}
}

func (k *checker) fencing(i int, h *Host) {
	field := hostField(i, "fencing")
	wanted := k.cluster.Spec.Topology.Fencing && h.Role != Worker
	switch {
	case h.Fencing == nil && wanted:
		k.report(field, "is missing, but the topology has fencing", "write fencing: {} to use the BMC's address and credentials")
	case h.Fencing == nil:
	case !k.cluster.Spec.Topology.Fencing:
		k.report(field, "the topology has no fencing", "write topology.fencing: true with two control plane machines, or leave it out")
	default:
		if k.required(field+".address", h.Fencing.Address, "write the Redfish address of the machine's BMC") {
			k.bmcAddress(field+".address", h.Fencing.Address)
		}
		if h.Fencing.Credentials.IsZero() {
			k.report(field+".credentials", "is missing", "write where user:password is read from")
		}
	}
}
