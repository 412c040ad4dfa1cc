package manifest

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// macsOf are the MAC addresses by which a host is recognised: that of match
// first, then those of its network.
func macsOf(c *spec.Cluster, host *spec.Host) []string {
	var macs []string
	if host.Match.MAC != "" {
		macs = append(macs, host.Match.MAC)
	}
	if _, interfaces, ok := c.StaticNetwork(host); ok {
		for _, nic := range interfaces {
			if !slices.Contains(macs, nic.MAC) {
				macs = append(macs, nic.MAC)
			}
		}
	}
	return macs
}

// hostConfigs are a folder for each host: its MAC addresses, role and root
// device hints.
func (w *writer) hostConfigs() {
	c := w.losses.cluster
	for _, host := range sortedHosts(c) {
		macs := macsOf(c, host)
		if len(macs) == 0 {
			w.loseHost(host, "name", host.Name, "has no MAC address, by which alone the agent-based installer recognises machines")
			continue
		}
		if host.Hostname != "" {
			w.loseHost(host, "hostname", host.Hostname, "the files name no host; it keeps the name that it has by itself")
		}
		folder := "hostconfig/" + host.Name + "/"
		w.file(folder+"mac_addresses", false, strings.Join(macs, "\n")+"\n")
		if host.Role != spec.Auto {
			w.file(folder+"role", false, roleWord(host.Role))
		}
		if hints := hintFields(host.Disk.Hints); len(hints) > 0 {
			w.yamlFile(folder+"root-device-hints.yaml", false, hints)
		}
	}
}

// fencingFile is the credentials by which hosts are powered off by their peers.
func (w *writer) fencingFile() {
	var list []any
	for _, host := range sortedHosts(w.losses.cluster) {
		entry, ok := w.fencingEntry(host)
		if !ok {
			continue
		}
		if macs := macsOf(w.losses.cluster, host); len(macs) > 0 {
			entry["macaddress"] = macs[0]
		} else {
			entry["hostname"] = host.Hostname
		}
		list = append(list, entry)
	}
	if list != nil {
		w.yamlFile("fencing-credentials.yaml", true, fields{"credentials": list})
	}
}

// fencingEntry is how a host is powered off, without what says which host it is;
// ok is false for one that has no fencing, or whose credentials cannot be
// written, and are lost.
func (w *writer) fencingEntry(host *spec.Host) (entry fields, ok bool) {
	if host.Fencing == nil {
		return nil, false
	}
	why := ""
	user, password, known := host.Fencing.Credentials.Login()
	switch {
	case !known || password.IsZero():
		why = "the credentials stand in a Secret on a hub"
	case !w.secrets:
		why = "secrets were not asked for"
	}
	if why != "" {
		w.loseHost(host, "fencing", plainOf(host.Fencing), why)
		return nil, false
	}
	return fields{
		"address": fencingAddress(host), "username": user, "password": password.Reveal(), "certificateVerification": fencingVerification(host),
	}, true
}
