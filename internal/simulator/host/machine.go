package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Machine is one computer as its hardware and its network make it. It is what
// the inventory reports, before any trouble.
type Machine struct {
	// Name is what scenarios and log lines call the machine. It never goes over the wire.
	Name string
	// Hostname is what the machine calls itself (inventory.hostname).
	Hostname string
	// Role is the role that its owner wants for it, if known; only scenarios look at it.
	Role string
	// InfraEnvID is the discovery image that it boots; empty is the fleet's.
	InfraEnvID string

	// UUID is the motherboard's; the agent uses it as host id.
	UUID string
	// Manufacturer, Product and Serial are those of the DMI table.
	Manufacturer, Product, Serial string
	// BMC is the address of the management controller; zero if there is none.
	BMC netip.Addr

	// CPUArch is x86_64, arm64, ppc64le or s390x.
	CPUArch string
	// CPUs counts threads.
	CPUs        int
	MemoryBytes int64
	Disks       []Disk
	NICs        []NIC
	// Gateways are the default routes, at most one of each IP version.
	Gateways []netip.Addr
	// BootMode is uefi or bios.
	BootMode string
	// TPM is none, 1.2 or 2.0.
	TPM string
	// Virtual tells a virtual machine from a physical one.
	Virtual bool
	// Chassis is what the BMC controls: when the machine boots, and from what. A machine without one boots the
	// discovery image as soon as there is one.
	Chassis Chassis
}

// MACs are those of the machine's network cards.
func (m *Machine) MACs() []string {
	var macs []string
	for _, n := range m.NICs {
		macs = append(macs, n.MAC)
	}
	return macs
}

// Addresses are those of its network cards, without the lengths of their networks.
func (m *Machine) Addresses() []netip.Addr {
	var addresses []netip.Addr
	for i := range m.NICs {
		for _, prefix := range m.NICs[i].Addresses {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses
}

// NIC is a network card.
type NIC struct {
	Name, MAC string
	// Addresses are the card's, with the length of their network.
	Addresses []netip.Prefix
	MTU       int
	SpeedMbps int
	Carrier   bool
}

// Disk is a block device.
type Disk struct {
	// Name is the kernel's, such as sda.
	Name string
	// WWN with its 0x, Serial, Model, Vendor and HCTL are as udev shows them.
	WWN, Serial, Model, Vendor, HCTL string
	// ByPath is the link below /dev/disk/by-path, without the folder.
	ByPath string
	// DriveType is HDD, SSD, Multipath, …: the values of disk.drive_type.
	DriveType string
	SizeBytes int64
	Removable bool
	// HasUUID says that the virtual machine shows the disk's UUID.
	HasUUID bool
}

// Network is where machines sit.
type Network struct {
	// V4 and V6 are the subnets; a zero one means none of that version. Both zero means 192.168.127.0/24.
	V4, V6 netip.Prefix
	// Avoid are addresses that no machine may have, such as virtual addresses.
	Avoid []netip.Addr
}

// The offsets of a network that machines do not take: the first ten belong to
// routers, and these twenty are left for virtual addresses.
const (
	firstHost     = 10
	firstFree     = 100
	freeAddresses = 20
)

func defaultV4() netip.Prefix { return netip.MustParsePrefix("192.168.127.0/24") }

func (n Network) orDefault() Network {
	if !n.V4.IsValid() && !n.V6.IsValid() {
		n.V4 = defaultV4()
	}
	return n
}

// NetworkFor is the default network, wide enough for so many machines.
func NetworkFor(machines int) Network {
	if machines <= 200 {
		return Network{V4: defaultV4()}
	}
	return Network{V4: netip.MustParsePrefix("192.168.64.0/18")}
}

// NewMachine makes a believable machine, the index-th, from 0, of a seed. The same seed, index and network make the
// same machine. It fails if the network is too small for that index.
func NewMachine(seed uint64, index int, network Network) (Machine, error) {
	network = network.orDefault()
	id := identity(seed, index)
	m := Machine{
		Name:         fmt.Sprintf("host-%d", index),
		Hostname:     fmt.Sprintf("host-%d", index),
		UUID:         id.uuid(),
		Manufacturer: "Dell Inc.",
		Product:      "PowerEdge R650",
		Serial:       fmt.Sprintf("S%010X", id.number(1)&0xffffffffff),
		CPUArch:      "x86_64",
		CPUs:         16,
		MemoryBytes:  64 << 30,
		BootMode:     "uefi",
		TPM:          "2.0",
		Disks:        []Disk{newDisk(id, 0, "sda")},
		NICs: []NIC{{
			Name: "eth0", MTU: 1500, SpeedMbps: 10000, Carrier: true,
			MAC: fmt.Sprintf("52:54:00:%02x:%02x:%02x", id[0], id[1], id[2]), // QEMU's range, which belongs to no maker of hardware
		}},
	}
	m.BMC = netip.AddrFrom4([4]byte{10, 46, byte(index >> 8), byte(index)}).Next()
	for _, subnet := range []netip.Prefix{network.V4, network.V6} {
		if !subnet.IsValid() {
			continue
		}
		if err := m.join(subnet, index, network.Avoid); err != nil {
			return Machine{}, err
		}
	}
	return m, nil
}

// On makes a virtual machine of one that runs on vSphere or Nutanix.
func (m *Machine) On(platform string) {
	switch platform {
	case "vsphere":
		m.Manufacturer, m.Product = "VMware, Inc.", "VMware7,1"
		for i := range m.Disks {
			m.Disks[i].HasUUID = true
		}
	case "nutanix":
		m.Manufacturer, m.Product = "Nutanix", "AHV"
	default:
		return
	}
	m.Virtual = true
}

var errNetworkFull = errors.New("no address left")

func (m *Machine) join(subnet netip.Prefix, index int, avoid []netip.Addr) error {
	subnet = subnet.Masked()
	address, err := nthAddress(subnet, index, avoid)
	if err != nil {
		return fmt.Errorf("machine %d in network %s: %w", index, subnet, err)
	}
	m.NICs[0].Addresses = append(m.NICs[0].Addresses, netip.PrefixFrom(address, subnet.Bits()))
	m.Gateways = append(m.Gateways, subnet.Addr().Next())
	return nil
}

func nthAddress(subnet netip.Prefix, n int, avoid []netip.Addr) (netip.Addr, error) {
	taken := make(map[netip.Addr]bool, len(avoid))
	for _, a := range avoid {
		taken[a] = true
	}
	offset := uint64(firstHost)
	for {
		a := addressAt(subnet, offset)
		last := addressAt(subnet, offset+1)
		if !subnet.Contains(a) || a.Is4() && !subnet.Contains(last) {
			return netip.Addr{}, errNetworkFull
		}
		free := offset >= firstFree && offset < firstFree+freeAddresses
		if !free && !taken[a] {
			if n == 0 {
				return a, nil
			}
			n--
		}
		offset++
	}
}

func addressAt(subnet netip.Prefix, offset uint64) netip.Addr {
	raw := subnet.Masked().Addr().AsSlice()
	for i := len(raw) - 1; i >= 0 && offset > 0; i-- {
		offset += uint64(raw[i])
		raw[i] = byte(offset)
		offset >>= 8
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}

func newDisk(id hardwareID, n int, name string) Disk {
	return Disk{
		Name:      name,
		WWN:       fmt.Sprintf("0x5000c500%08x", uint32(id.number(2))+uint32(n)),
		Serial:    fmt.Sprintf("SN%08X", uint32(id.number(3))+uint32(n)),
		Model:     "PERC_H755",
		Vendor:    "DELL",
		HCTL:      fmt.Sprintf("0:0:%d:0", n),
		ByPath:    fmt.Sprintf("pci-0000:00:%02x.0-scsi-0:0:%d:0", 3, n),
		DriveType: "SSD",
		SizeBytes: 120_000_000_000,
	}
}

// hardwareID is where everything unique about a machine comes from.
type hardwareID [sha256.Size]byte

func identity(seed uint64, index int) hardwareID {
	return sha256.Sum256(fmt.Appendf(nil, "machine %d of %d", index, seed))
}

func (h hardwareID) number(n int) uint64 { return binary.BigEndian.Uint64(h[n*8%24:]) }

func (h hardwareID) uuid() string {
	id, _ := uuid.FromBytes(h[16:32])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

// Want is what a file says about a machine; what is left empty is made up.
type Want struct {
	Name string
	// MAC, Serial, UUID, Hostname and BMC (an IP address or a URL with one) identify it.
	MAC, Serial, UUID, Hostname, BMC string
	// Addresses are static ones, at most one of each IP version.
	Addresses []netip.Prefix
	// Gateway is the default route that goes with them.
	Gateway netip.Addr
	Disk    spec.DiskHints
	// Role is control-plane, worker, arbiter or empty.
	Role string
	// CPUArch is the architecture; empty is x86_64.
	CPUArch string
	// InfraEnvID is the discovery image that it boots; empty is the fleet's.
	InfraEnvID string
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
	return machines, errors.Join(problems...)
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
	m.Name = cmp.Or(w.Name, m.Name)
	m.Hostname = cmp.Or(w.Hostname, strings.ToLower(w.Name), m.Hostname)
	m.Serial = cmp.Or(w.Serial, m.Serial)
	m.UUID = cmp.Or(strings.ToLower(w.UUID), m.UUID)
	m.NICs[0].MAC = cmp.Or(strings.ToLower(w.MAC), m.NICs[0].MAC)
	m.CPUArch = cmp.Or(w.CPUArch, m.CPUArch)
	m.Role, m.InfraEnvID = w.Role, w.InfraEnvID
	if w.BMC != "" {
		m.BMC = bmcAddress(w.BMC)
	}
	w.settle(&m)
	m.Disks = hintedDisks(w.Disk, identity(seed, index))
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

// gigabyte is what the service counts sizes of disks in.
const gigabyte = 1_000_000_000

// reportedWWN is a world-wide name as a machine spells it, however a file does.
func reportedWWN(text string) string {
	digits := strings.TrimPrefix(strings.ToLower(text), "0x")
	if _, err := hex.DecodeString(digits); err == nil && (len(digits) == 16 || len(digits) == 32) {
		return "0x" + digits
	}
	return text
}

// hintedDisks is the disk that the hints describe, behind one more where they pick by what only one disk has.
func hintedDisks(h spec.DiskHints, id hardwareID) []Disk {
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
	target.WWN = reportedWWN(cmp.Or(h.WWNWithExtension, h.WWN+strings.TrimPrefix(h.WWNVendorExtension, "0x"), target.WWN))
	target.Serial = cmp.Or(h.SerialNumber, target.Serial)
	target.Model = cmp.Or(h.Model, target.Model)
	target.Vendor = cmp.Or(h.Vendor, target.Vendor)
	target.HCTL = cmp.Or(h.HCTL, target.HCTL)
	target.SizeBytes = max(target.SizeBytes, int64(h.MinSizeGigabytes)*gigabyte)
	if h.Rotational != nil && *h.Rotational {
		target.DriveType = "HDD"
	}
	if h.DeviceName+h.WWN+h.WWNWithExtension+h.SerialNumber+h.HCTL == "" {
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
