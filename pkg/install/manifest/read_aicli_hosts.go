package manifest

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// aicliHost carries a host over.
func (r *reader) aicliHost(all, n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	mac, id := n.get("mac"), n.get("id")
	i := r.hostWithMAC(mac.peek())
	if i < 0 {
		i = r.addHost(n)
	}
	h := r.host(i)
	name := first(n, "requested_hostname", "name")
	setText(r, hostField(i, "name"), &h.Name, name)
	if second := n.get("name"); second != nil && second != name {
		if second.peek() == h.Name {
			r.means(second, "is the hostname, too")
		} else {
			r.lose(second, "aicli finds the host by this name: write by what the machine is known into "+hostField(i, "match"))
		}
	}
	setText(r, hostField(i, "match.mac"), &h.Match.MAC, mac)
	setText(r, hostField(i, "match.uuid"), &h.Match.UUID, id)
	role := n.get("role")
	if role == nil {
		role = all.get("role")
	}
	r.role(i, role)
	r.aicliMatch(i, name)
	r.installDisk(i, first(n, "installation_disk_path", "disk"))
	if keep := first(n, "disks_skip_formatting", "skip_disks"); keep != nil {
		for _, item := range keep.items() {
			disk := item
			if item.kind == mapNode {
				disk = first(item, "disk_id", "path")
				r.boolean(item.get("skip_formatting"))
			}
			h.Disk.Keep = append(h.Disk.Keep, devicePath(r.text(disk)))
		}
		r.from(hostField(i, "disk.keep"), keep)
	}
	r.aicliLabels(i, first(n, "node_labels", "labels"))
	setText(r, hostField(i, "machineConfigPool"), &h.MachineConfigPool, first(n, "mcp", "machine_config_pool_name"))
	r.aicliArguments(i, n.get("extra_args"))
	if file := n.get("ignition_file"); file != nil {
		if copied := r.beside(file, "ignition/"+fileName(filepath.Base(file.peek()))); copied != "" {
			h.Ignition = &spec.Document{File: copied}
			r.from(hostField(i, "ignition"), file)
		}
	}
	r.aicliBMC(i, all, n)
	r.means(n.get("cluster"), "binds the host, which oaictl does for every host of the file")
	r.lose(n.get("infraenv"), "the hosts of the file boot the images of this cluster")
	for _, key := range []string{"reset", "bmc_reset"} {
		r.lose(n.get(key), "oaictl resets a BMC only when it is told to")
	}
}

// aicliMatch says by what a host is known that has neither an address nor an id.
func (r *reader) aicliMatch(i int, name *node) {
	h := r.host(i)
	if h.Match != (spec.Match{}) || name == nil {
		return
	}
	h.Match.Hostname = h.Name
	r.from(hostField(i, "match.hostname"), name)
	r.losses = append(r.losses, lost{at: name, loss: Loss{
		Path: name.path(), Value: name.text,
		Why: "aicli takes the first machine whose name begins with it; here the machine has to have exactly this hostname by itself: write its MAC address into " + hostField(i, "match.mac"),
	}})
}

// installDisk carries the disk to install on over.
func (r *reader) installDisk(i int, n *node) {
	if n == nil {
		return
	}
	r.host(i).Disk.Hints.DeviceName = devicePath(r.text(n))
	r.from(hostField(i, "disk.hints.deviceName"), n)
}

// devicePath is the path of a disk, of which aicli takes the name alone, too.
func devicePath(name string) string {
	if name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return "/dev/" + name
}

func (r *reader) aicliDisk(n *node) {
	switch {
	case n == nil:
	case len(r.cluster.Spec.Hosts) == 1:
		r.installDisk(0, n)
	default:
		r.lose(n, "there is no single host that it is for: write it into spec.hosts[].disk.hints.deviceName")
	}
}

// aicliLabels carries labels of a node over: a map, or a list of key=value.
func (r *reader) aicliLabels(i int, n *node) {
	if n == nil || n.kind == mapNode {
		r.nodeLabels(i, n)
		return
	}
	list := n.items()
	for _, item := range list {
		if item.kind == mapNode {
			if key := item.get("key"); key != nil && item.get("value") != nil {
				r.nodeLabel(i, r.text(key), item.get("value"))
				continue
			}
			r.nodeLabels(i, item)
			continue
		}
		key, value, _ := strings.Cut(r.text(item), "=")
		if r.host(i).Labels == nil {
			r.host(i).Labels = map[string]string{}
		}
		r.host(i).Labels[key] = value
	}
	if len(list) == 0 {
		r.listOf(n)
	}
}

// aicliArguments carries arguments of coreos-installer over: a list, or a text
// with blanks.
func (r *reader) aicliArguments(i int, n *node) {
	if n == nil {
		return
	}
	field := hostField(i, "installerArgs")
	r.from(field, n)
	switch {
	case n.kind == listNode:
		setTexts(r, field, &r.host(i).InstallerArgs, n)
	case strings.HasPrefix(strings.TrimSpace(n.peek()), "["):
		r.installerArgs(i, n)
	default:
		r.host(i).InstallerArgs = strings.Fields(r.text(n))
	}
}

// aicliBMC carries the BMC of a host over; user and password may stand once for
// all hosts.
func (r *reader) aicliBMC(i int, all, n *node) {
	address := first(n, "bmc_url", "url")
	user, password := first(n, "bmc_user", "user"), first(n, "bmc_password", "password")
	if user == nil {
		user = all.get("bmc_user")
	}
	if password == nil {
		password = all.get("bmc_password")
	}
	if !r.bmc(i, address, address, nil) {
		return
	}
	r.host(i).BMC.Insecure = true // aicli verifies no certificate
	r.host(i).BMC.Credentials = r.login(hostField(i, "bmc.credentials"), r.bmcFile(i), user, password)
}

// aicliNetwork carries a static network over: nmstate as it is, or below
// network_yaml, or in a file.
func (r *reader) aicliNetwork(n *node) {
	config := n
	var table *node
	if n.kind == mapNode {
		table = n.get("mac_interface_map")
		if inner := n.get("network_yaml"); inner != nil {
			config = r.embed(inner)
		}
	} else if n.kind == textNode && !strings.Contains(n.text, "\n") {
		r.lose(n, "is a file with the network of a host: write it as spec.hosts[].net.nmstate: {file: PATH}")
		return
	} else {
		config = r.embed(n)
	}
	if config == nil {
		return
	}
	macs := networkMACs(config, table)
	i := r.hostWithMAC(macs...)
	if i < 0 && r.anyUnaddressed() {
		r.wrong(n, "it is not known which of the hosts this network is for", "write the MAC address of each machine into hosts[].mac")
		return
	}
	if i < 0 {
		i = r.addHost(n)
		r.present[hostField(i, "hostname")] = true
	}
	r.networkTable(i, table)
	if config == n { // nmstate beside the table: the keys but that one
		bare := *n
		bare.children = slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return c.key == "mac_interface_map" })
		config = &bare
	}
	r.network(i, nil, config)
	if len(macs) > 0 && r.host(i).Match.MAC == "" {
		r.host(i).Match.MAC = macs[0]
	}
	if table == nil && r.host(i).Net != nil && len(macs) == 0 && r.host(i).Match.MAC != "" {
		r.nameInterface(i, &node{in: n.in, kind: textNode, text: r.host(i).Match.MAC})
	}
}

// anyUnaddressed says whether there is a host that a network with an unknown
// address may be for: taken for another machine it would stand there twice.
func (r *reader) anyUnaddressed() bool {
	return slices.ContainsFunc(r.cluster.Spec.Hosts, func(h spec.Host) bool { return h.Match.MAC == "" && h.Net == nil })
}

// networkTable carries over which interface has which address.
func (r *reader) networkTable(i int, table *node) {
	for _, entry := range r.listOf(table) {
		var nic spec.NIC
		setText(r, "", &nic.Name, entry.get("logical_nic_name"))
		setText(r, "", &nic.MAC, entry.get("mac_address"))
		h := r.host(i)
		if h.Net == nil {
			h.Net = &spec.HostNet{}
		}
		h.Net.Interfaces = append(h.Net.Interfaces, nic)
	}
}

// networkMACs are the addresses that a network speaks of.
func networkMACs(config, table *node) []string {
	var macs []string
	for _, entry := range table.items() {
		macs = append(macs, entry.child("mac_address").peek())
	}
	for _, nic := range config.child("interfaces").items() {
		if mac := nic.child("mac-address").peek(); mac != "" && table == nil {
			macs = append(macs, mac)
		}
	}
	return macs
}

// aicliFlow takes what tells aicli what to do, rather than what a cluster is.
func (r *reader) aicliFlow(n *node) {
	for _, key := range []string{"bmc_user", "bmc_password", "role"} {
		r.lose(n.get(key), "is for hosts that say nothing of their own, and there is none")
	}
	r.means(n.get("rendezvous_ip"), "says on which machine the service of an image runs: oaictl installs with a service that runs elsewhere")
	if len(r.cluster.Spec.Registry.Mirrors) > 0 {
		for _, key := range []string{"registry_url", "disconnected_url"} {
			r.means(n.get(key), "is where mirrors are that nothing names: those that installconfig names win")
		}
	}
	r.meansIf(n.get("infraenv"), "is the default", "true", "True")
	r.meansIf(n.get("day2"), "is the default", "false", "False")
	r.meansIf(n.get("password"), "is the default", "false", "False")
	for key, why := range map[string]string{
		"infraenv":             "oaictl names its own images after the cluster; for one that exists write spec.infraEnv.ref",
		"day2":                 "machines are added to a cluster that is there with oaictl's own verb",
		"password":             "sets a user with a password that everybody knows: log in with a key of spec.sshKeys",
		"download_iso_cmd":     "is a command for a shell, which is not run from a file",
		"download_iso_path":    "is where an image is downloaded to: ask oaictl for the image",
		"iso_url":              "is where machines boot from: oaictl asks the service",
		"hosts_number":         "is how many machines are waited for: name them in spec.hosts, or count them in spec.topology",
		"bmc_reset":            "oaictl resets a BMC only when it is told to",
		"registry_url":         "says not what is mirrored: write spec.registry.mirrors",
		"disconnected_url":     "says not what is mirrored: write spec.registry.mirrors",
		"ignition_version":     "Ignition says its version itself",
		"cluster_id":           "belongs to a cluster that is there",
		"api_vip_dns_name":     "belongs to a cluster that is installed already",
		"api_vip_dnsname":      "belongs to a cluster that is installed already",
		"api_vips_dnsname":     "belongs to a cluster that is installed already",
		"onprem_ip":            "says where the service is: tell oaictl with its own flags",
		"onprem_version":       "says which service is started: oaictl starts none",
		"persistent":           "says how the service is started: oaictl starts none",
		"restart_policy":       "says how the service is started: oaictl starts none",
		"okd":                  "says how the service is started: oaictl starts none",
		"keep":                 "says how the service is stopped: oaictl stops none",
		"AI_URL":               "says where the service is: tell oaictl with its own flags",
		"AI_OFFLINETOKEN":      "is a secret of the service's: tell oaictl with its own flags",
		"AI_TOKEN":             "is a secret of the service's: tell oaictl with its own flags",
		"static_network_paths": "names files with networks: write them as spec.hosts[].net.nmstate",
	} {
		r.lose(n.get(key), why)
	}
}
