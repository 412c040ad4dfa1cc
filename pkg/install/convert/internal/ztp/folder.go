package ztp

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The files of the agent-based installer's folder that are no objects.
const (
	fileFencing   = "fencing-credentials.yaml"
	fileOperators = "operators.yaml"
)

// folderHosts carries over the folders of hosts that the agent-based installer
// has: by which addresses a machine is known, its role and its disk.
func (r *Hub) folderHosts(in *source.Input) {
	byHost := map[string]bool{}
	for name := range in.Raw {
		if parts := strings.Split(name, "/"); len(parts) == 3 && parts[0] == source.DirHostConfig {
			byHost[parts[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byHost)) {
		r.folderHost(in, name)
	}
}

// fileAddresses are the MAC addresses of a machine, below the folder of its name.
const fileAddresses = "mac_addresses"

// folderOf is the name of the machine that has one of the addresses by its folder,
// "" for none.
func folderOf(in *source.Input, macs []string) string {
	for _, name := range slices.Sorted(maps.Keys(in.Raw)) {
		dir, file := path.Split(name)
		if file != fileAddresses || path.Dir(path.Clean(dir)) != source.DirHostConfig {
			continue
		}
		for _, own := range strings.Fields(string(in.Raw[name])) {
			if slices.ContainsFunc(macs, func(mac string) bool { return settings.SameMAC(mac, own) }) {
				return path.Base(dir)
			}
		}
	}
	return ""
}

func (r *Hub) folderHost(in *source.Input, name string) {
	folder := path.Join(source.DirHostConfig, name)
	take := func(file string) *source.Node {
		n := r.rawText(in, path.Join(folder, file))
		if n != nil {
			n.Text = strings.TrimSpace(n.Text)
		}
		return n
	}
	addresses := take(fileAddresses)
	if addresses.Peek() == "" {
		r.Problem(source.JoinPath(in.Path, folder), 0, 0, "", "has no "+fileAddresses+", by which the machine is known", "write its MAC addresses there, one a line")
		return
	}
	macs := strings.Fields(r.Text(addresses))
	i := r.HostFor(addresses, macs, name) // which may boot from another interface
	h := r.Host(i)
	if h.Name == "" || h.BMC == nil {
		h.Name = name
	}
	if h.Hostname == "" {
		r.Present[settings.HostField(i, "hostname")] = true // the files set none
	}
	if h.Match.MAC == "" {
		h.Match.MAC = macs[0]
		r.From(settings.HostField(i, "match.mac"), addresses)
	}
	r.furtherMACs(i, macs, addresses)
	r.Role(i, take("role"))
	hints := path.Join(folder, "root-device-hints.yaml")
	if data, ok := in.Raw[hints]; ok {
		delete(in.Raw, hints)
		for _, doc := range r.Parse(source.JoinPath(in.Path, hints), data) {
			doc.Label = hints + ":"
			r.Docs = append(r.Docs, doc)
			r.Hints(i, doc.Root)
		}
	}
}

// furtherMACs tells addresses of a machine that nothing in cluster.yaml speaks
// of.
func (r *Hub) furtherMACs(i int, macs []string, at *source.Node) {
	h := r.Host(i)
	var unsaid []string
	for _, mac := range macs {
		known := settings.SameMAC(h.Match.MAC, mac)
		if h.Net != nil {
			known = known || slices.ContainsFunc(h.Net.Interfaces, func(nic spec.NIC) bool { return settings.SameMAC(nic.MAC, mac) })
		}
		if !known {
			unsaid = append(unsaid, mac)
		}
	}
	if len(unsaid) > 0 {
		r.LoseAs(at, strings.Join(unsaid, " "), "a machine is recognised by one MAC address, "+h.Match.MAC)
	}
}

// folderFiles reads the files beside the objects: credentials for fencing, and
// operators to install.
func (r *Hub) folderFiles(in *source.Input) {
	for _, fencing := range r.laterFencing {
		r.Fencing(fencing)
	}
	for _, doc := range in.Docs {
		switch path.Base(in.Below(doc.File)) {
		case fileFencing:
			r.Fencing(doc.Root.Get("credentials"))
		case fileOperators:
			r.Operators(doc.Root)
		}
	}
}
