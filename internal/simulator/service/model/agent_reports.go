package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// Inventory is what an agent posts about its machine; unknown keys are dropped.
type Inventory struct {
	models.Inventory
	Addresses []Address `json:"-"` // of all interfaces, parsed once
	Virtual   []string  `json:"-"` // types of the interfaces that were dropped
}

// Address is an address of a machine and the interface that has it.
type Address struct {
	Prefix netip.Prefix // address and length as posted, not masked
	NIC    int
}

// Present are the entries of a list that are not null, which no agent means to send.
func Present[T any](list []*T) []*T {
	return slices.DeleteFunc(list, func(entry *T) bool { return entry == nil })
}

// ParseInventory reads what an agent posted, and drops the interfaces that are no machine's own.
func ParseInventory(text string) (*Inventory, error) {
	inv := &Inventory{}
	if err := json.Unmarshal([]byte(text), inv); err != nil {
		return nil, fmt.Errorf("reading the inventory: %w", err)
	}
	inv.Disks, inv.Gpus, inv.Routes = Present(inv.Disks), Present(inv.Gpus), Present(inv.Routes)
	inv.Interfaces = slices.DeleteFunc(Present(inv.Interfaces), func(n *models.Interface) bool {
		virtual := !OneOf(n.Type, "", "physical", "vlan", "bond")
		if virtual {
			inv.Virtual = append(inv.Virtual, n.Type)
		}
		return virtual
	})
	for i, n := range inv.Interfaces {
		for _, text := range slices.Concat(n.IPV4Addresses, n.IPV6Addresses) {
			if p, err := netip.ParsePrefix(text); err == nil {
				inv.Addresses = append(inv.Addresses, Address{p, i})
			}
		}
	}
	return inv, nil
}

// In is the machine's address within the network.
func (inv *Inventory) In(network netip.Prefix) (Address, bool) {
	for _, a := range inv.Addresses {
		if network.Contains(a.Prefix.Addr()) {
			return a, true
		}
	}
	return Address{}, false
}

// InAny is the machine's address within the first of the networks that it has one in.
func (inv *Inventory) InAny(networks []MachineNetwork) (Address, bool) {
	for _, n := range networks {
		if network, err := netip.ParsePrefix(n.CIDR); err == nil {
			if a, in := inv.In(network); in {
				return a, true
			}
		}
	}
	return Address{}, false
}

func validDriveTypes(arch string) []string {
	types := []string{"HDD", "SSD", "Multipath", "iSCSI", "RAID"}
	if arch == "x86_64" {
		types = append(types, "FC")
	}
	if arch == "s390x" {
		types = append(types, "FC", "ECKD", "ECKD (ESE)", "FBA")
	}
	return types
}

// JudgeDisks decides which disks can be installed on; an agent's own reasons stand.
func (inv *Inventory) JudgeDisks(minGB int64) {
	arch := ""
	if inv.CPU != nil {
		arch = inv.CPU.Architecture
	}
	// Reasons that start like these are the service's own, and judged anew each time.
	own := []string{"Disk is too small (disk only has", "Drive type is ", "Multipath device has path", "Disk is a member of multipath device"}
	for _, d := range inv.Disks {
		var reasons []string
		for _, r := range d.InstallationEligibility.NotEligibleReasons {
			if !slices.ContainsFunc(own, func(start string) bool { return strings.HasPrefix(r, start) }) {
				reasons = append(reasons, r)
			}
		}
		if least := minGB * 1_000_000_000; d.SizeBytes < least {
			reasons = append(reasons, fmt.Sprintf("Disk is too small (disk only has %s, but %s are required)",
				humanBytes(d.SizeBytes), humanBytes(least)))
		}
		if types := validDriveTypes(arch); !slices.Contains(types, string(d.DriveType)) {
			reasons = append(reasons, fmt.Sprintf("Drive type is %s, it must be one of %s.", d.DriveType, strings.Join(types, ", ")))
		}
		reasons = append(reasons, inv.multipathReasons(d)...)
		d.InstallationEligibility = models.DiskInstallationEligibility{Eligible: len(reasons) == 0, NotEligibleReasons: reasons}
		d.ID = DiskID(d)
	}
}

// multipathReasons are why a path of a multipath device, or the device, cannot be installed on.
func (inv *Inventory) multipathReasons(d *models.Disk) []string {
	network := func(of *models.Disk) bool {
		return of.DriveType == models.DriveTypeFC || of.DriveType == models.DriveTypeISCSI
	}
	kinds := map[models.DriveType]bool{} // of the device's paths
	for _, other := range inv.Disks {
		if d.DriveType == models.DriveTypeMultipath && strings.Contains(other.Holders, d.Name) {
			kinds[other.DriveType] = true
		}
		holds := other.DriveType == models.DriveTypeMultipath && slices.Contains(strings.Split(d.Holders, ","), other.Name)
		if network(d) && holds {
			return []string{fmt.Sprintf("Disk is a member of multipath device %s and is not eligible for installation. Use the "+
				"multipath device instead.", other.Name)}
		}
	}
	switch {
	case d.DriveType != models.DriveTypeMultipath:
	case !kinds[models.DriveTypeFC] && !kinds[models.DriveTypeISCSI]:
		return []string{fmt.Sprintf("Multipath device has path of unsupported type. It must be %s, %s", models.DriveTypeFC,
			models.DriveTypeISCSI)}
	case len(kinds) > 1:
		return []string{"Multipath device has paths of different types, but they must all be the same type"}
	}
	return nil
}

// DiskID is how a disk is named: the most lasting of its names.
func DiskID(d *models.Disk) string { return cmp.Or(d.ID, d.ByID, d.Path) }

// humanBytes prints a size in decimal units with up to one decimal, as the service does.
func humanBytes(n int64) string {
	v, unit := inUnits(n, 1000, "B", "kB", "MB", "GB", "TB", "PB", "EB")
	if v < 10 && n >= 10 {
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// BinaryBytes prints a size in binary units.
func BinaryBytes(n int64) string {
	v, unit := inUnits(n, 1024, "bytes", "KiB", "MiB", "GiB", "TiB")
	if n < 1<<30 {
		return fmt.Sprintf("%.0f %s", math.Floor(v), unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

func inUnits(n int64, step float64, units ...string) (float64, string) {
	v, i := float64(n), 0
	for v >= step && i < len(units)-1 {
		v /= step
		i++
	}
	return v, units[i]
}

// EligibleDisks lists the disks that can be installed on: bootable ones first, then slow
// and small ones, so that the fast and large ones stay free for workloads.
func (inv *Inventory) EligibleDisks() []*models.Disk {
	list := slices.DeleteFunc(slices.Clone(inv.Disks), func(d *models.Disk) bool { return !d.InstallationEligibility.Eligible })
	slices.SortStableFunc(list, func(a, b *models.Disk) int {
		return cmp.Or(
			falseLast(a.Bootable, b.Bootable), -falseLast(isNVMe(a), isNVMe(b)),
			cmp.Compare(a.DriveType, b.DriveType), cmp.Compare(a.SizeBytes, b.SizeBytes), cmp.Compare(a.Hctl, b.Hctl))
	})
	return list
}

func isNVMe(d *models.Disk) bool { return strings.HasPrefix(d.Name, "nvme") }

func falseLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// FindDisk finds a disk by any of its names.
func (inv *Inventory) FindDisk(name string) *models.Disk {
	for _, d := range inv.Disks {
		if name != "" && slices.Contains([]string{DiskID(d), d.Path, d.ByID, d.ByPath}, name) {
			return d
		}
	}
	return nil
}

// OfVMware reports whether the machine is virtual and of vSphere.
func (inv *Inventory) OfVMware() bool {
	return inv.SystemVendor != nil && inv.SystemVendor.Manufacturer == "VMware, Inc."
}

// Weight counts a core, ten GiB of memory and 250 GiB of disks the same.
func (inv *Inventory) Weight() float64 {
	weight := 0.0
	if inv.CPU != nil {
		weight += float64(inv.CPU.Count)
	}
	if inv.Memory != nil {
		weight += 0.1 * float64(inv.Memory.UsableBytes>>30)
	}
	for _, d := range inv.EligibleDisks() {
		weight += 0.004 * float64(d.SizeBytes>>30)
	}
	return weight
}

// DefaultRoute is the first route to everywhere; nil where there is none.
func (inv *Inventory) DefaultRoute() *models.Route {
	for _, r := range inv.Routes {
		to, err := netip.ParseAddr(r.Destination)
		if err != nil || !to.IsUnspecified() || r.Interface == "" {
			continue
		}
		if gw, err := netip.ParseAddr(r.Gateway); err == nil && !gw.IsUnspecified() {
			return r
		}
	}
	return nil
}

// Network is the worst that a host has measured on its way to the others, found once.
type Network struct {
	Latency, Loss float64             // ms, and percent
	BrokenMTU     []*models.MtuReport // full packets that did not arrive
}

// SetConnectivity keeps a host's report.
func (h *Host) SetConnectivity(r models.ConnectivityReport) {
	printed := InString(r)
	if printed == h.Connectivity {
		return
	}
	h.Connectivity = printed
	h.Peers, h.Network = make(map[string]models.ConnectivityRemoteHost, len(r.RemoteHosts)), Network{}
	for _, remote := range Present(r.RemoteHosts) {
		remote.L2Connectivity = Present(remote.L2Connectivity)
		remote.L3Connectivity = Present(remote.L3Connectivity)
		remote.MtuReport = Present(remote.MtuReport)
		h.Peers[remote.HostID.String()] = *remote
	}
	for _, remote := range h.Peers {
		for _, m := range remote.MtuReport {
			if !m.MtuSuccessful {
				h.Network.BrokenMTU = append(h.Network.BrokenMTU, m)
			}
		}
		for _, l := range remote.L3Connectivity {
			h.Network.Latency, h.Network.Loss = max(h.Network.Latency, l.AverageRTTMs), max(h.Network.Loss, l.PacketLossPercentage)
		}
	}
}

// Majority is which hosts of a cluster can reach most of the others.
type Majority struct {
	// Networks maps a network, or IPv4 and IPv6, to the hosts of its majority.
	Networks map[string][]string
	// L3 maps a host to its addresses that the others reach.
	L3   map[string][]string
	Text string
}
