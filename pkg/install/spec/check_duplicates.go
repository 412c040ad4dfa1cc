package spec

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// registerOf remembers who has what, to find those who have the same.
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

// duplicates reports what two hosts cannot share: names, identities, addresses.
// The service would take most of them without a word.
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

// sharedBMCs reports hosts that are one machine, or may be: of two at one
// controller both have to say which of its systems they are.
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
