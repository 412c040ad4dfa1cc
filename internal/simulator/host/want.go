package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Want is what a file says about a machine; what is left empty is made up.
type Want struct {
	// Name is how the file calls the machine.
	Name string
	// MAC, Serial, UUID, Hostname and BMC (an IP address or a URL with one) identify it.
	MAC, Serial, UUID, Hostname, BMC string
	// Addresses are static ones, at most one of each IP version.
	Addresses []netip.Prefix
	// Gateway is the default route that goes with them.
	Gateway netip.Addr
	// Disk describes the disk to install on.
	Disk DiskHints
	// Role is control-plane, worker, arbiter or empty.
	Role string
	// CPUArch is the architecture; empty is x86_64.
	CPUArch string
	// InfraEnvID is the discovery image that it boots; empty is the fleet's.
	InfraEnvID string
}

// DiskHints are root device hints (metal3's rootDeviceHints).
type DiskHints struct {
	DeviceName, WWN, Serial, Model, Vendor, HCTL string
	// MinSizeGB is the smallest size, in units of 2^30 bytes.
	MinSizeGB int
	// Rotational asks for a spinning disk (true) or a solid one (false).
	Rotational *bool
}

// Machines makes one machine for each want, in order, and reports all that is wrong with them at once.
func Machines(seed uint64, network Network, wants []Want) ([]Machine, error) {
	network = network.orDefault()
	network.Avoid = slices.Clone(network.Avoid)
	for _, w := range wants {
		for _, a := range w.Addresses {
			network.Avoid = append(network.Avoid, a.Addr())
		}
		network.Avoid = append(network.Avoid, w.Gateway)
	}
	machines := make([]Machine, 0, len(wants))
	var problems []error
	for i, w := range wants {
		m, err := w.machine(seed, i, network)
		if err != nil {
			problems = append(problems, fmt.Errorf("making machine %q: %w", w.Name, err))
			continue
		}
		machines = append(machines, m)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return machines, nil
}

func (w Want) machine(seed uint64, index int, network Network) (Machine, error) {
	if w.MAC != "" {
		if _, err := net.ParseMAC(w.MAC); err != nil {
			return Machine{}, err
		}
	}
	if w.UUID != "" {
		if err := uuid.Validate(w.UUID); err != nil {
			return Machine{}, fmt.Errorf("UUID %q: %w", w.UUID, err)
		}
	}
	m, err := NewMachine(seed, index, network)
	if err != nil {
		return Machine{}, err
	}
	for _, f := range []struct {
		to    *string
		value string
	}{
		{&m.Name, w.Name}, {&m.Hostname, w.Hostname}, {&m.Serial, w.Serial},
		{&m.UUID, strings.ToLower(w.UUID)}, {&m.NICs[0].MAC, strings.ToLower(w.MAC)},
		{&m.CPUArch, w.CPUArch}, {&m.Role, w.Role}, {&m.InfraEnvID, w.InfraEnvID},
	} {
		if f.value != "" {
			*f.to = f.value
		}
	}
	if w.Hostname == "" && w.Name != "" {
		m.Hostname = strings.ToLower(w.Name)
	}
	if w.BMC != "" {
		m.BMC = bmcAddress(w.BMC)
	}
	w.settle(&m)
	m.Disks = w.Disk.disks(identity(seed, index))
	return m, nil
}

func (w Want) settle(m *Machine) {
	for _, address := range w.Addresses {
		is4 := address.Addr().Is4()
		nic := &m.NICs[0]
		nic.Addresses = slices.DeleteFunc(nic.Addresses, func(a netip.Prefix) bool { return a.Addr().Is4() == is4 })
		nic.Addresses = append(nic.Addresses, address)
		m.Gateways = slices.DeleteFunc(m.Gateways, func(g netip.Addr) bool { return g.Is4() == is4 })
		gateway := address.Masked().Addr().Next()
		if w.Gateway.IsValid() && w.Gateway.Is4() == is4 {
			gateway = w.Gateway
		}
		m.Gateways = append(m.Gateways, gateway)
	}
}

// bmcAddress is the IP address within a BMC's address; zero if a name is there.
func bmcAddress(text string) netip.Addr {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		text = u.Hostname()
	}
	a, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return a
}

const gib = 1 << 30

// disks is the disk that the hints describe, behind one more where they pick by what only one disk has.
func (h DiskHints) disks(id hardwareID) []Disk {
	target := newDisk(id, 0, "sda")
	name := strings.TrimPrefix(h.DeviceName, "/dev/")
	switch link, byPath := strings.CutPrefix(name, "disk/by-path/"); {
	case byPath:
		target.ByPath = link
	case strings.HasPrefix(name, "disk/by-id/wwn-"):
		target.WWN = strings.TrimPrefix(name, "disk/by-id/wwn-")
	case name != "" && !strings.Contains(name, "/"):
		target.Name = name
	}
	for _, f := range []struct {
		to    *string
		value string
	}{
		{&target.WWN, h.WWN}, {&target.Serial, h.Serial}, {&target.Model, h.Model},
		{&target.Vendor, h.Vendor}, {&target.HCTL, h.HCTL},
	} {
		if f.value != "" {
			*f.to = f.value
		}
	}
	target.SizeBytes = max(target.SizeBytes, int64(h.MinSizeGB)*gib)
	if h.Rotational != nil && *h.Rotational {
		target.DriveType = "HDD"
	}
	if h.DeviceName+h.WWN+h.Serial+h.HCTL == "" {
		return []Disk{target}
	}
	other := newDisk(id, 1, "sdb")
	if target.Name == "sdb" {
		other.Name = "sda"
	}
	if h.HCTL == other.HCTL {
		other.HCTL = "0:0:2:0"
	}
	other.DriveType, other.SizeBytes = "HDD", 960_000_000_000
	if other.Name < target.Name {
		return []Disk{other, target}
	}
	return []Disk{target, other}
}
