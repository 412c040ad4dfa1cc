//go:build linux

package inventory

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestRecordings: a machine that has what a recorded answer of the assisted-installer-agent says gives the same answer. The
// recorded machines are virtual ones without DMI, which have one disk and one network interface.
func TestRecordings(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "host", "*agent*.jsonl.gz")))(t)
	compared := 0
	for _, file := range files {
		for _, recorded := range recordedInventories(t, file) {
			compared++
			_, got, _ := asRecorded(t, recorded).collector().Execute(t.Context(), nil)
			if got != recorded {
				t.Errorf("%s: got %s\nwant %s", filepath.Base(file), got, recorded)
			}
		}
	}
	if compared == 0 {
		t.Errorf("%s has no inventories", folder)
	}
}

// recordedInventories are the different answers to the step inventory in a file of exchanges.
func recordedInventories(t *testing.T, file string) []string {
	t.Helper()
	in := must.Get(os.Open(file))(t)
	defer in.Close()
	lines := bufio.NewScanner(must.Get(gzip.NewReader(in))(t))
	const longest = 64 << 20
	lines.Buffer(nil, longest)
	var found []string
	seen := map[string]bool{}
	for lines.Scan() {
		var exchange struct {
			Request json.RawMessage `json:"request"`
		}
		var reply struct {
			StepType string `json:"step_type"`
			Output   string `json:"output"`
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &exchange))
		if json.Unmarshal(exchange.Request, &reply) != nil || reply.StepType != "inventory" || seen[reply.Output] {
			continue
		}
		seen[reply.Output] = true
		found = append(found, reply.Output)
	}
	must.Do(t, lines.Err())
	return found
}

// asRecorded is a machine that has what a recorded answer says.
func asRecorded(t *testing.T, recorded string) *fake {
	t.Helper()
	var inventory models.Inventory
	must.Do(t, json.Unmarshal([]byte(recorded), &inventory))
	f := newFake(t)
	f.write("proc/cmdline", inventory.Boot.CommandLine)
	f.write("proc/sys/kernel/hostname", inventory.Hostname+"\n")
	f.write("proc/meminfo", fmt.Sprintf("MemTotal: %d kB\n", inventory.Memory.UsableBytes>>10))
	f.write("sys/devices/system/memory/block_size_bytes", strconv.FormatInt(inventory.Memory.PhysicalBytes, 16)+"\n")
	f.write("sys/devices/system/memory/memory0/state", "online\n")
	f.programs["systemd-detect-virt --vm"] = "kvm\n"
	type field struct {
		Field string `json:"field"`
		Data  string `json:"data"`
	}
	f.programs["lscpu -J"] = string(must.Get(json.Marshal(map[string]any{"lscpu": []field{
		{"Architecture:", inventory.CPU.Architecture}, {"CPU(s):", strconv.FormatInt(inventory.CPU.Count, 10)},
		{"Model name:", inventory.CPU.ModelName}, {"Flags:", strings.Join(inventory.CPU.Flags, " ")},
	}}))(t))
	for _, d := range inventory.Disks {
		f.block(block{
			name: d.Name, number: "252:0", on: "pci0", size: strconv.FormatInt(d.SizeBytes/sectorSize, 10), rotates: true,
			files: map[string]string{"device/vendor": d.Vendor},
		})
	}
	names := map[string]int{}
	for n, i := range inventory.Interfaces {
		names[i.Name] = n + 1
		f.recordedLink(i, n+1)
	}
	for _, r := range inventory.Routes {
		route := Route{Family: r.Family, Link: names[r.Interface], Interface: r.Interface, Metric: r.Metric, Destination: netip.PrefixFrom(netip.MustParseAddr(r.Destination), 0)}
		if r.Gateway != "" {
			route.Gateway = netip.MustParseAddr(r.Gateway)
		}
		f.routes = append(f.routes, route)
	}
	return f
}

// recordedLink adds an interface as an answer describes it.
func (f *fake) recordedLink(i *models.Interface, index int) {
	f.t.Helper()
	device := "pci0"
	if i.Type != typePhysical {
		device = "virtual"
	}
	files := map[string]string{"carrier": "0", "device/vendor": i.Vendor, "device/device": i.Product}
	if i.HasCarrier {
		files["carrier"] = "1"
	}
	if i.SpeedMbps != 0 {
		files["speed"] = strconv.FormatInt(i.SpeedMbps, 10)
	}
	f.net(i.Name, device, files)
	link := Link{Index: index, Name: i.Name, MTU: int(i.Mtu), MAC: i.MacAddress, Addresses: prefixesOf(append(i.IPV4Addresses, i.IPV6Addresses...)...)}
	for _, name := range i.Flags {
		for bit := range 6 {
			if flag := net.Flags(1 << bit); flag.String() == name {
				link.Flags |= flag
			}
		}
	}
	if i.Type != typePhysical && i.Type != "device" {
		link.Kind = i.Type
	}
	f.links = append(f.links, link)
}
