package metal3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// HardwareConfig says what machines there are: one for each boot MAC address that a host names.
type HardwareConfig struct {
	// ServiceURL is the assisted-service that clusters report to once they are installed. Machines
	// that boot call the one that their image or user data name.
	ServiceURL string
	HTTPClient *http.Client
	Clock      clock.Clock
	Seed       uint64
	// Network is where the machines sit; the zero value is 192.168.127.0/24.
	Network host.Network
	// Joins and JoinsAll are what becomes of machines that run what was installed: see host.Config.
	Joins    func(ctx context.Context, j host.Joining) error
	JoinsAll bool
	// Scenario is the trouble to make; nil is none.
	Scenario *scenario.Scenario
	// Logf takes a line about each thing that happens; nil drops them.
	Logf func(format string, args ...any)
}

// Hardware is the machines of a data centre. Several management clusters share them: a machine runs on when one
// hands it over to another.
type Hardware struct {
	config HardwareConfig
	fleet  *host.Fleet

	mu       sync.Mutex
	machines map[string]*machine // by MAC address
}

// NewHardware prepares machines, of which there is none yet.
func NewHardware(config HardwareConfig) (*Hardware, error) {
	if config.Logf == nil {
		config.Logf = func(string, ...any) {}
	}
	h := &Hardware{config: config, machines: map[string]*machine{}}
	var err error
	h.fleet, err = host.New(host.Config{
		ServiceURL: config.ServiceURL, HTTPClient: config.HTTPClient, Open: true, Clock: config.Clock, Seed: config.Seed,
		Scenario: config.Scenario, Joins: config.Joins, JoinsAll: config.JoinsAll, Logf: config.Logf,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the machines: %w", err)
	}
	return h, nil
}

// Run has the machines live until ctx ends, and returns its cause.
func (h *Hardware) Run(ctx context.Context) error { return h.fleet.Run(ctx) }

// machineOf is the machine with a MAC address, which is made where there is none. Its name and
// architecture are those that it is first asked for by.
func (h *Hardware) machineOf(mac, name, arch string) (*machine, error) {
	mac = strings.ToLower(mac)
	if mac == "" {
		return nil, errors.New("it has no bootMACAddress, which its machine is known by")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.machines[mac]; m != nil {
		return m, nil
	}
	made, err := host.NewMachine(h.config.Seed, len(h.machines), h.config.Network)
	if err != nil {
		return nil, err
	}
	made.Name, made.Hostname = name, name
	made.NICs[0].MAC = mac
	switch arch {
	case "":
	case "aarch64":
		made.CPUArch = "arm64"
	default:
		made.CPUArch = arch
	}
	m := &machine{hardware: h, changed: make(chan struct{})}
	made.Chassis = m
	m.made = made
	if err := h.fleet.Add(made); err != nil {
		return nil, err
	}
	h.machines[mac] = m
	return m, nil
}

// Break turns the machine with a MAC address off until it is repaired; its controller cannot turn it on. It
// reports whether there is such a machine.
func (h *Hardware) Break(mac string) bool { return h.setBroken(mac, true) }

// Repair lets a broken machine be switched on again.
func (h *Hardware) Repair(mac string) bool { return h.setBroken(mac, false) }

// Reclaim has the machine of a UUID boot an image and not its disk, as a node does that the service takes back.
func (h *Hardware) Reclaim(uuid, image string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.machines {
		if m.made.UUID == uuid {
			m.logf("is reclaimed")
			m.insert(image)
			m.turn(true)
		}
	}
}

// Writes is how often the disk of each machine was written or wiped, by the machines' names.
func (h *Hardware) Writes() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	writes := make(map[string]int, len(h.machines))
	for _, m := range h.machines {
		writes[m.made.Name], _ = m.Written()
	}
	return writes
}

// Starts is how often each machine was switched on, or started anew, by its controller.
func (h *Hardware) Starts() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	starts := make(map[string]int, len(h.machines))
	for _, m := range h.machines {
		_, starts[m.made.Name], _ = m.Switched()
	}
	return starts
}

func (h *Hardware) setBroken(mac string, broken bool) bool {
	h.mu.Lock()
	m := h.machines[strings.ToLower(mac)]
	h.mu.Unlock()
	if m == nil {
		return false
	}
	m.mu.Lock()
	m.broken = broken
	m.mu.Unlock()
	if broken {
		m.logf("breaks down")
		m.turn(false)
	}
	return true
}

type machine struct {
	hardware *Hardware
	made     host.Machine

	mu      sync.Mutex
	on      bool
	broken  bool
	starts  int
	changed chan struct{}
	// iso is what is in the virtual drive and booted at the next start.
	iso string
	// written is how often the disk was written or wiped, system what is on it; nil is nothing.
	written int
	system  *host.DiskSystem
}

var _ host.DiskWriter = (*machine)(nil)

func (m *machine) logf(format string, args ...any) {
	m.hardware.config.Logf("%s: "+format, append([]any{m.made.Name}, args...)...)
}

// Switched is how the machine is switched.
func (m *machine) Switched() (on bool, starts int, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on, m.starts, m.changed
}

// SetPower is the machine going off or on by itself.
func (m *machine) SetPower(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on = on && !m.broken
}

// Boot is what is in the virtual drive, if the machine was told to boot from there. It is
// told so for one start.
func (m *machine) Boot(ctx context.Context) (io.ReaderAt, int64, error) {
	m.mu.Lock()
	url := m.iso
	m.iso = ""
	m.mu.Unlock()
	if url == "" {
		return nil, 0, nil
	}
	content, size, err := bmc.ReadMedia(ctx, m.hardware.config.Clock, url, func(err error) { m.logf("hangs at its drive: %v", err) })
	if err != nil {
		return nil, 0, fmt.Errorf("boot from virtual media: %w", err)
	}
	return content, size, nil
}

// Written is what was last written on the machine's disk.
func (m *machine) Written() (times int, system *host.DiskSystem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written, m.system
}

// turn switches the machine on or off; one that is on is started anew.
func (m *machine) turn(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if on && m.broken || !on && !m.on {
		return
	}
	m.on = on
	if on {
		m.starts++
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *machine) isOn() bool {
	on, _, _ := m.Switched()
	return on
}

// write puts a system on the disk; nil wipes it.
func (m *machine) write(system *host.DiskSystem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.iso, m.system = "", system
	m.written++
}

// insert puts an image into the virtual drive, to boot from at the next start.
func (m *machine) insert(url string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.iso = url
}

func (m *machine) details() map[string]any {
	const mebibyte, mega = 1 << 20, 1_000_000
	nics, disks := []any{}, []any{}
	for i, n := range m.made.NICs {
		for _, address := range n.Addresses {
			nics = append(
				nics,
				map[string]any{"name": n.Name, "mac": n.MAC, "ip": address.Addr().String(), "speedGbps": int64(n.SpeedMbps / 1000), "pxe": i == 0},
			)
		}
	}
	for _, d := range m.made.Disks {
		disks = append(disks, map[string]any{
			"name": "/dev/" + d.Name, "sizeBytes": d.SizeBytes, "serialNumber": d.Serial, "model": d.Model, "vendor": d.Vendor, "wwn": d.WWN,
			"hctl":       d.HCTL,
			"rotational": d.DriveType == "HDD",
		})
	}
	return map[string]any{
		"hostname": m.made.Hostname, "ramMebibytes": m.made.MemoryBytes / mebibyte, "nics": nics, "storage": disks,
		"cpu":          map[string]any{"arch": ironicArch(m.made.CPUArch), "count": int64(m.made.CPUs), "clockMegahertz": float64(2400)},
		"systemVendor": map[string]any{"manufacturer": m.made.Manufacturer, "productName": m.made.Product, "serialNumber": m.made.Serial},
	}
}

func ironicArch(arch string) string {
	if arch == "arm64" {
		return "aarch64"
	}
	return arch
}
