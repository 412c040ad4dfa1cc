package ztp

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/target"
	"github.com/oaictl/oaictl/pkg/install/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostConfigs are a folder for each host: its MAC addresses, role and root
// device hints.
func (w *writer) hostConfigs() {
	c := w.Collector.Cluster
	for _, host := range objects.SortedHosts(c) {
		macs := target.MACsOf(c, host)
		if len(macs) == 0 {
			w.LoseHost(host, "name", host.Name, "has no MAC address, by which alone the agent-based installer recognises machines")
			continue
		}
		if host.Hostname != "" {
			w.LoseHost(host, "hostname", host.Hostname, "the files name no host; it keeps the name that it has by itself")
		}
		folder := "hostconfig/" + host.Name + "/"
		w.File(folder+"mac_addresses", false, strings.Join(macs, "\n")+"\n")
		if host.Role != spec.Auto {
			w.File(folder+"role", false, objects.RoleWord(host.Role))
		}
		if hints := objects.HintFields(host.Disk.Hints); len(hints) > 0 {
			w.YAMLFile(folder+"root-device-hints.yaml", false, hints)
		}
	}
}

// fencingFile is the credentials by which hosts are powered off by their peers.
func (w *writer) fencingFile() {
	var list []any
	for _, host := range objects.SortedHosts(w.Collector.Cluster) {
		entry, ok := w.FencingEntry(host)
		if !ok {
			continue
		}
		if macs := target.MACsOf(w.Collector.Cluster, host); len(macs) > 0 {
			entry["macaddress"] = macs[0]
		} else {
			entry["hostname"] = host.Hostname
		}
		list = append(list, entry)
	}
	if list != nil {
		w.YAMLFile("fencing-credentials.yaml", true, objects.Fields{"credentials": list})
	}
}
