package aicli

import (
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// host carries a host over.
func (r *reader) host(all, n *source.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	mac, id := n.Get("mac"), n.Get("id")
	i := r.HostWithMAC(mac.Peek())
	if i < 0 {
		i = r.AddHost(n)
	}
	h := r.Host(i)
	name := source.First(n, "requested_hostname", "name")
	source.SetText(r.Account, settings.HostField(i, "name"), &h.Name, name)
	if second := n.Get("name"); second != nil && second != name {
		if second.Peek() == h.Name {
			r.Means(second, "is the hostname, too")
		} else {
			r.Lose(second, "aicli finds the host by this name: write by what the machine is known into "+settings.HostField(i, "match"))
		}
	}
	source.SetText(r.Account, settings.HostField(i, "match.mac"), &h.Match.MAC, mac)
	source.SetText(r.Account, settings.HostField(i, "match.uuid"), &h.Match.UUID, id)
	role := n.Get("role")
	if role == nil {
		role = all.Get("role")
	}
	r.Role(i, role)
	r.match(i, name)
	r.installDisk(i, source.First(n, "installation_disk_path", "disk"))
	if keep := source.First(n, "disks_skip_formatting", "skip_disks"); keep != nil {
		for _, item := range keep.Items() {
			disk := item
			if item.Kind == source.MapNode {
				disk = source.First(item, "disk_id", "path")
				r.Boolean(item.Get("skip_formatting"))
			}
			h.Disk.Keep = append(h.Disk.Keep, devicePath(r.Text(disk)))
		}
		r.From(settings.HostField(i, "disk.keep"), keep)
	}
	r.labels(i, source.First(n, "node_labels", "labels"))
	source.SetText(r.Account, settings.HostField(i, "machineConfigPool"), &h.MachineConfigPool, source.First(n, "mcp", "machine_config_pool_name"))
	r.arguments(i, n.Get("extra_args"))
	if file := n.Get("ignition_file"); file != nil {
		if copied := r.beside(file, "ignition/"+source.FileName(filepath.Base(file.Peek()))); copied != "" {
			h.Ignition = &spec.Document{File: copied}
			r.From(settings.HostField(i, "ignition"), file)
		}
	}
	r.bmc(i, all, n)
	r.Means(n.Get("cluster"), "binds the host, which oaictl does for every host of the file")
	r.Lose(n.Get("infraenv"), "the hosts of the file boot the images of this cluster")
	for _, key := range []string{"reset", "bmc_reset"} {
		r.Lose(n.Get(key), "oaictl resets a BMC only when it is told to")
	}
}

// match says by what a host is known that has neither an address nor an id.
func (r *reader) match(i int, name *source.Node) {
	h := r.Host(i)
	if h.Match != (spec.Match{}) || name == nil {
		return
	}
	h.Match.Hostname = h.Name
	r.From(settings.HostField(i, "match.hostname"), name)
	r.Losses = append(r.Losses, source.Lost{At: name, Loss: loss.Loss{
		Path: name.Path(), Value: name.Text,
		Why: "aicli takes the first machine whose name begins with it; here the machine has to have exactly this hostname by itself: write its MAC address into " + settings.HostField(i, "match.mac"),
	}})
}

// installDisk carries the disk to install on over.
func (r *reader) installDisk(i int, n *source.Node) {
	if n == nil {
		return
	}
	r.Host(i).Disk.Hints.DeviceName = devicePath(r.Text(n))
	r.From(settings.HostField(i, "disk.hints.deviceName"), n)
}

// devicePath is the path of a disk, of which aicli takes the name alone, too.
func devicePath(name string) string {
	if name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return "/dev/" + name
}

func (r *reader) disk(n *source.Node) {
	switch {
	case n == nil:
	case len(r.Cluster.Spec.Hosts) == 1:
		r.installDisk(0, n)
	default:
		r.Lose(n, "there is no single host that it is for: write it into spec.hosts[].disk.hints.deviceName")
	}
}

// labels carries labels of a node over: a map, or a list of key=value.
func (r *reader) labels(i int, n *source.Node) {
	if n == nil || n.Kind == source.MapNode {
		r.NodeLabels(i, n)
		return
	}
	list := n.Items()
	for _, item := range list {
		if item.Kind == source.MapNode {
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

// arguments carries arguments of coreos-installer over: a list, or a text
// with blanks.
func (r *reader) arguments(i int, n *source.Node) {
	if n == nil {
		return
	}
	field := settings.HostField(i, "installerArgs")
	r.From(field, n)
	switch {
	case n.Kind == source.ListNode:
		source.SetTexts(r.Account, field, &r.Host(i).InstallerArgs, n)
	case strings.HasPrefix(strings.TrimSpace(n.Peek()), "["):
		r.InstallerArgs(i, n)
	default:
		r.Host(i).InstallerArgs = strings.Fields(r.Text(n))
	}
}

// bmc carries the BMC of a host over; user and password may stand once for
// all hosts.
func (r *reader) bmc(i int, all, n *source.Node) {
	address := source.First(n, "bmc_url", "url")
	user, password := source.First(n, "bmc_user", "user"), source.First(n, "bmc_password", "password")
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
	r.Host(i).BMC.Credentials = r.Login(settings.HostField(i, "bmc.credentials"), r.BMCFile(i), user, password)
}
