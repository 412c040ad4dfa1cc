package aicli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (r *reader) host(all, n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	mac := n.Get("mac")
	i := r.HostFor(n, []string{mac.Peek()})
	h := r.Host(i)
	name := input.First(n, "requested_hostname", "name")
	r.Set(fields.HostField(i, "name"), name)
	if second := n.Get("name"); second != nil && second != name {
		if second.Peek() == h.Name {
			r.Means(second, "is the hostname, too")
		} else {
			r.Lose(second, "aicli finds the host by this name: write by what the machine is known into "+fields.HostField(i, "match"))
		}
	}
	r.Fields(n, fields.ParametersHost, i)
	role := n.Get("role")
	if role == nil {
		role = all.Get("role")
	}
	r.Role(i, role)
	r.match(i, name)
	r.installDisk(i, input.First(n, "installation_disk_path", "disk"))
	if keep := input.First(n, "disks_skip_formatting", "skip_disks"); keep != nil {
		for _, item := range keep.Items() {
			disk := item
			if item.Kind == input.MapNode {
				disk = input.First(item, "disk_id", "path")
				r.Boolean(item.Get("skip_formatting"))
			}
			h.Disk.Keep = append(h.Disk.Keep, devicePath(r.Text(disk)))
		}
		r.From(fields.HostField(i, "disk.keep"), keep)
	}
	r.labels(i, input.First(n, "node_labels", "labels"))
	r.Set(fields.HostField(i, "machineConfigPool"), input.First(n, "mcp", "machine_config_pool_name"))
	r.arguments(i, n.Get("extra_args"))
	if file := n.Get("ignition_file"); file != nil {
		if copied := r.beside(file, "ignition/"+input.FileName(filepath.Base(file.Peek()))); copied != "" {
			h.Ignition = &spec.Document{File: copied}
			r.From(fields.HostField(i, "ignition"), file)
		}
	}
	r.bmc(i, all, n)
	r.Keys(n, "aicli-host")
}

func (r *reader) match(i int, name *input.Node) {
	h := r.Host(i)
	if h.Match != (spec.Match{}) || name == nil {
		return
	}
	h.Match.Hostname = h.Name
	r.From(fields.HostField(i, "match.hostname"), name)
	r.LoseAs(name, name.Text, "aicli takes the first machine whose name begins with it; here the machine has to have exactly this hostname "+
		"by itself: write its MAC address into "+fields.HostField(i, "match.mac"))
}

func (r *reader) installDisk(i int, n *input.Node) {
	if n == nil {
		return
	}
	r.Host(i).Disk.Hints.DeviceName = devicePath(r.Text(n))
	r.From(fields.HostField(i, "disk.hints.deviceName"), n)
}

func devicePath(name string) string {
	if name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return "/dev/" + name
}

func (r *reader) disk(n *input.Node) {
	switch {
	case n == nil:
	case len(r.Cluster.Spec.Hosts) == 1:
		r.installDisk(0, n)
	default:
		r.Lose(n, "there is no single host that it is for: write it into spec.hosts[].disk.hints.deviceName")
	}
}

// labels carries labels of a node over: a map, or a list of key=value.
func (r *reader) labels(i int, n *input.Node) {
	if n == nil || n.Kind == input.MapNode {
		r.NodeLabels(i, n)
		return
	}
	list := n.Items()
	for _, item := range list {
		if item.Kind == input.MapNode {
			if key := item.Get("key"); key != nil && item.Get("value") != nil {
				r.NodeLabel(i, r.Text(key), item.Get("value"))
				continue
			}
			r.NodeLabels(i, item)
			continue
		}
		key, value, _ := strings.Cut(r.Text(item), "=")
		if r.Host(i).Labels == nil {
			r.Host(i).Labels = map[string]string{}
		}
		r.Host(i).Labels[key] = value
	}
	if len(list) == 0 {
		r.ListOf(n)
	}
}

// arguments carries over arguments of coreos-installer: a list, or words in a text.
func (r *reader) arguments(i int, n *input.Node) {
	if n == nil {
		return
	}
	field := fields.HostField(i, "installerArgs")
	r.From(field, n)
	switch {
	case n.Kind == input.ListNode:
		r.Set(field, n)
	case strings.HasPrefix(strings.TrimSpace(n.Peek()), "["):
		r.InstallerArgs(i, n)
	default:
		r.Host(i).InstallerArgs = strings.Fields(r.Text(n))
	}
}

func (r *reader) bmc(i int, all, n *input.Node) {
	address := input.First(n, "bmc_url", "url")
	user, password := input.First(n, "bmc_user", "user"), input.First(n, "bmc_password", "password")
	if user == nil {
		user = all.Get("bmc_user")
	}
	if password == nil {
		password = all.Get("bmc_password")
	}
	if !r.BMC(i, address, address, nil) {
		return
	}
	r.Host(i).BMC.Insecure = true // aicli verifies no certificate
	r.Host(i).BMC.Credentials = r.Login(fields.HostField(i, "bmc.credentials"), r.BMCFile(i), user, password)
}

// network carries a static network over: nmstate, or nmstate below network_yaml.
func (r *reader) network(n *input.Node) {
	config := n
	var table *input.Node
	if n.Kind == input.MapNode {
		table = n.Get("mac_interface_map")
		if inner := n.Get("network_yaml"); inner != nil {
			config = r.Embed(inner)
		}
	} else if n.Kind == input.TextNode && !strings.Contains(n.Text, "\n") {
		r.Lose(n, "is a file with the network of a host: write it as spec.hosts[].net.nmstate: {file: PATH}")
		return
	} else {
		config = r.Embed(n)
	}
	if config == nil {
		return
	}
	macs := networkMACs(config, table)
	i := r.HostWithMAC(macs...)
	// A host without an address may be the one: taken for another it would stand there twice.
	if i < 0 && slices.ContainsFunc(r.Cluster.Spec.Hosts, func(h spec.Host) bool { return h.Match.MAC == "" && h.Net == nil }) {
		r.Wrong(n, "it is not known which of the hosts this network is for", "write the MAC address of each machine into hosts[].mac")
		return
	}
	if i < 0 {
		i = r.AddHost(n)
		r.Present[fields.HostField(i, "hostname")] = true
	}
	r.networkTable(i, table)
	if config == n { // nmstate beside the table: the keys but that one
		bare := *n
		bare.Children = slices.DeleteFunc(slices.Clone(n.Children), func(c *input.Node) bool { return c.Key == "mac_interface_map" })
		config = &bare
	}
	r.Network(i, nil, config)
	if len(macs) > 0 && r.Host(i).Match.MAC == "" {
		r.Host(i).Match.MAC = macs[0]
	}
	if table == nil && r.Host(i).Net != nil && len(macs) == 0 && r.Host(i).Match.MAC != "" {
		r.NameInterface(i, &input.Node{In: n.In, Kind: input.TextNode, Text: r.Host(i).Match.MAC})
	}
}

func (r *reader) networkTable(i int, table *input.Node) {
	for _, entry := range r.ListOf(table) {
		var nic spec.NIC
		r.SetIn("", &nic.Name, entry.Get("logical_nic_name"))
		r.SetIn("", &nic.MAC, entry.Get("mac_address"))
		h := r.Host(i)
		if h.Net == nil {
			h.Net = &spec.HostNet{}
		}
		h.Net.Interfaces = append(h.Net.Interfaces, nic)
	}
}

func networkMACs(config, table *input.Node) []string {
	if table != nil {
		return table.Each("mac_address")
	}
	return slices.DeleteFunc(config.Child("interfaces").Each("mac-address"), func(mac string) bool { return mac == "" })
}

func (r *reader) contents(n *input.Node) {
	c := r.Cluster
	if secret := n.Get("pull_secret"); secret != nil {
		if strings.HasPrefix(strings.TrimSpace(secret.Peek()), "{") {
			r.PullSecret(secret)
		} else if name := r.beside(secret, "pull-secret.json"); name != "" {
			r.PullSecretFrom(spec.Source{File: name}, secret)
		}
	}
	for _, key := range []string{"ssh_public_key", "public_key", "ssh_authorized_key"} {
		key := n.Get(key)
		if key == nil || key.Kind != input.TextNode || strings.Contains(strings.TrimSpace(key.Text), " ") {
			r.SSHKeys(key)
		} else if name := r.beside(key, ""); name != "" && c.Spec.SSHKeys == nil {
			c.Spec.SSHKeys = []spec.PublicSource{{File: name}}
			r.From("spec.sshKeys", key)
		}
	}
	for _, key := range []string{"additional_trust_bundle", "disconnected_ca"} {
		bundle := n.Get(key)
		if bundle == nil || bundle.Kind != input.TextNode || strings.Contains(bundle.Text, "-----BEGIN") {
			r.TrustBundle(bundle)
		} else if name := r.beside(bundle, ""); name != "" && c.Spec.Registry.TrustBundle == nil {
			c.Spec.Registry.TrustBundle = &spec.PublicSource{File: name}
			r.From("spec.registry.trustBundle", bundle)
		}
	}
	r.InstallOverrides(r.MapOf(n.Get("installconfig")))
	if endpoint := r.MapOf(n.Get("ignition_endpoint")); endpoint != nil {
		c.Spec.IgnitionEndpoint = &spec.IgnitionEndpoint{}
		r.Set("spec.ignitionEndpoint.url", endpoint.Get("url"))
		r.Lose(endpoint.Get("ca_certificate"), "is in base64: write the certificate into spec.ignitionEndpoint.ca")
	}
	r.manifests(n.Get("manifests"), string(spec.FolderManifests))
	r.manifests(n.Get("openshift_manifests"), input.DirOpenShift)
}

// manifests carries over extra manifests: a folder, or a list of names and contents.
func (r *reader) manifests(n *input.Node, folder string) {
	switch {
	case n == nil:
	case n.Kind == input.TextNode:
		r.folder(n, folder)
	default:
		for _, item := range r.ListOf(n) {
			for _, entry := range r.MapOf(item).All() {
				r.Manifest(folder, entry)
			}
		}
	}
}

func (r *reader) folder(n *input.Node, folder string) {
	dir := r.Text(n)
	full := dir
	if !isElsewhere(dir) {
		full = filepath.Join(filepath.Dir(n.In.File), dir)
	}
	entries, ok := r.Dir(full)
	if !ok {
		r.Wrong(n, "the folder cannot be read", "")
		return
	}
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !input.IsYAML(entry.Name()) {
			r.LoseAs(n, entry.Name(), "is in the folder, and no manifest: one ends in .yaml, .yml or .json")
			continue
		}
		data, err := r.Env.ReadFile(filepath.Join(full, entry.Name()))
		if err != nil {
			r.Wrong(n, "the manifest "+entry.Name()+" cannot be read: "+input.ReasonOf(err), "")
			return
		}
		r.Files[folder+"/"+entry.Name()] = data
		found = true
	}
	if found {
		r.ManifestFolder(folder, n)
	}
}

// isElsewhere says whether a path means the same wherever the document stands.
func isElsewhere(path string) bool { return filepath.IsAbs(path) || strings.HasPrefix(path, "~") }

// beside takes the path of a file. One that is relative to the parameters is
// copied, so that it stands beside the document; "" where it cannot be read.
func (r *reader) beside(n *input.Node, name string) string {
	file := r.Text(n)
	if file == "" {
		return ""
	}
	if isElsewhere(file) {
		return file
	}
	data, err := r.Env.ReadFile(filepath.Join(filepath.Dir(n.In.File), file))
	if err != nil {
		r.Wrong(n, "the file that it names cannot be read: "+input.ReasonOf(err), "name a file relative to the parameters")
		return ""
	}
	return r.File(cmp.Or(name, input.FileName(filepath.Base(file))), data)
}
