//go:build linux

package inventory

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/mountinfo"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestParseLscpu(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   models.CPU
		err    bool
	}{
		"flat": {
			output: `{"lscpu":[{"field":"Architecture:","data":"x86_64"},{"field":"CPU(s):","data":"8"},{"field":"Model name:","data":"A"},
				{"field":"CPU MHz:","data":"2000.5"},{"field":"CPU max MHz:","data":"3500"},{"field":"Flags:","data":"fpu  vme"}]}`,
			want: models.CPU{Architecture: "x86_64", Count: 8, ModelName: "A", Frequency: 3500, Flags: []string{"fpu", "vme"}},
		},
		"nested, as releases since 2.37 may print it": {
			output: `{"lscpu":[{"field":"CPU(s):","data":"2","children":[{"field":"On-line CPU(s) list:","data":"0,1"}]},
				{"field":"Vendor ID:","data":"B","children":[{"field":"Model name:","data":"C","children":[{"field":"Flags:","data":"fpu"}]}]}]}`,
			want: models.CPU{Count: 2, ModelName: "C", Flags: []string{"fpu"}},
		},
		"IBM Z": {
			output: `{"lscpu":[{"field":"Machine type:","data":"3931"},{"field":"CPU static MHz:","data":"5200"}]}`,
			want:   models.CPU{ModelName: "3931", Frequency: 5200},
		},
		"no numbers": {
			output: `{"lscpu":[{"field":"CPU(s):","data":"many"},{"field":"CPU MHz:","data":"-"},{"field":"","data":null}]}`, want: models.CPU{},
		},
		"no JSON":   {output: "lscpu: failed", err: true},
		"no fields": {output: "{}", err: true},
	} {
		got, err := parseLscpu([]byte(test.output))
		if (err != nil) != test.err {
			t.Errorf("%s: got %v", name, err)
		} else if err == nil && !sameJSON(t, got, test.want) {
			t.Errorf("%s: got %+v, want %+v", name, *got, test.want)
		}
	}
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	return bytes.Equal(must.Get(json.Marshal(a))(t), must.Get(json.Marshal(b))(t))
}

func FuzzParseLscpu(f *testing.F) {
	f.Add([]byte(`{"lscpu":[{"field":"CPU(s):","data":"2","children":[{"field":"Flags:","data":"a b"}]}]}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		if cpu, err := parseLscpu(output); err == nil && cpu.Count < 0 {
			t.Errorf("%d processors", cpu.Count)
		}
	})
}

func TestMemoryModules(t *testing.T) {
	kilobytes := []byte(memoryTable(0x8000 | 512))
	unknownSize := []byte(memoryTable(0))
	at := bytes.IndexByte(unknownSize, dmiMemory) + dmiSize
	unknownSize[at], unknownSize[at+1] = 0xff, 0xff
	for name, test := range map[string]struct {
		table []byte
		want  int64
		err   string
	}{
		"one module":          {[]byte(memoryTable(8192)), 8 << 30, ""},
		"two, and one socket": {[]byte(memoryTable(8192, 0, 4096)), 12 << 30, ""},
		"64 GiB":              {[]byte(memoryTable(dmiSizeExtended + 65536)), 64 << 30, ""},
		"512 KiB":             {kilobytes, 0, ""},
		"unknown size":        {unknownSize, 0, ""},
		"empty":               {nil, 0, ""},
		"what follows the end is not read": {
			append([]byte(memoryTable(1024)), memoryTable(1024)...), 1 << 30, "",
		},
		"short structure":       {[]byte{17, 6, 0, 0, 1, 2, 0, 0}, 0, ""},
		"too short":             {[]byte{17, 3, 0, 0}, 0, "3 bytes long"},
		"longer than the table": {[]byte{17, 40, 0, 0, 0, 0}, 0, "40 bytes long"},
		"no end of the strings": {[]byte{1, 4, 0, 0, 'a'}, 0, "do not end"},
	} {
		got, err := memoryModules(test.table)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: got %v, want %q", name, err, test.err)
		}
		want := test.want
		if name == "512 KiB" {
			continue // sizes in KiB are below
		}
		if got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	module := make([]byte, 0x20)
	module[dmiSize], module[dmiSize+1] = 0x00, 0x82
	if got := moduleSize(module); got != 512<<10 {
		t.Errorf("512 KiB are %d bytes", got)
	}
}

func FuzzMemoryModules(f *testing.F) {
	f.Add([]byte(memoryTable(8192, 0, 1<<20)))
	f.Add([]byte{17, 40, 0, 0})
	f.Fuzz(func(t *testing.T, table []byte) {
		if total, err := memoryModules(table); total < 0 {
			t.Errorf("%d bytes, %v", total, err)
		}
	})
}

func TestParseDmidecode(t *testing.T) {
	for output, want := range map[string]int64{
		"\tSize: 16 GB\n\tSize: 8192 MB\n":             24 << 30,
		"\tSize: No Module Installed\n":                0,
		"\tVolatile Size: 16 GB\n\tCache Size: None\n": 0,
		"\tSize: 512 kB\n":                             512 << 10,
		"\tSize: 2 TB\n":                               2 << 40,
		"":                                             0,
		"\tSize: 99999999999999999999999 GB\n\tSize: 1 bytes\r\n": 1,
	} {
		if got, err := parseDmidecode(output); got != want || err != nil {
			t.Errorf("%q: got %d, %v, want %d", output, got, err, want)
		}
	}
	for _, output := range []string{"\tSize: 3 apples\n", "\tSize: 9000000000000 TB\n", "\tSize: -1 GB\n"} {
		if got, err := parseDmidecode(output); err == nil {
			t.Errorf("%q: got %d", output, got)
		}
	}
}

// TestMemoryMethods: the firmware's table, then dmidecode, then the kernel's blocks, then what it uses.
func TestMemoryMethods(t *testing.T) {
	f := newFake(t)
	check := func(want int64, method models.MemoryMethod) {
		t.Helper()
		got := f.collector().memory(t.Context())
		if got.PhysicalBytes != want || got.PhysicalBytesMethod != method {
			t.Errorf("got %d by %q, want %d by %q", got.PhysicalBytes, got.PhysicalBytesMethod, want, method)
		}
	}
	check(0, "")
	f.write("proc/meminfo", "MemFree: 5 kB\nMemTotal:       1024 kB\n")
	check(1<<20, models.MemoryMethodGhw)
	f.write("sys/devices/system/memory/block_size_bytes", "8000000\n")
	f.write("sys/devices/system/memory/memory3/state", "online\n")
	check(0x8000000, models.MemoryMethodGhw)
	f.programs["dmidecode -t 17"] = "\tSize: 2 GB\n"
	check(2<<30, models.MemoryMethodDmidecode)
	f.write("sys/firmware/dmi/tables/DMI", "\x11\x03\x00\x00")
	check(2<<30, models.MemoryMethodDmidecode)
	f.write("sys/firmware/dmi/tables/DMI", memoryTable(4096))
	check(4<<30, models.MemoryMethodDmidecode)
	f.programs["dmidecode -t 17"] = "\tSize: 2 apples\n"
	must.Do(t, os.Remove(f.at("sys/firmware/dmi/tables/DMI")))
	check(0x8000000, models.MemoryMethodGhw)
	for _, broken := range []string{"MemTotal: many kB\n", "MemTotal: 5 apples\n", "MemFree: 5 kB\n"} {
		f.write("proc/meminfo", broken)
		if got := f.collector().memory(t.Context()); got.UsableBytes != 0 {
			t.Errorf("%q is %d bytes", broken, got.UsableBytes)
		}
	}
}

func TestBMC(t *testing.T) {
	for output, want := range map[string]string{
		"IP Address Source       : DHCP Address\nIP Address              : 192.0.2.7\nSubnet Mask : 255.255.255.0\n": "192.0.2.7",
		"IP Address              : 0.0.0.0\n": "",
		"IP Address              : none\n":    "",
		"IP Address              :\n":         "",
		"Invalid channel: 9\n":                "",
	} {
		if got := parseLan(output); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
	const second = "IPv6 Static Address 0:\n    Enabled:        no\n    Address:        2001:db8::1/64\n    Status:         active\n" +
		"IPv6 Static Address 1:\n    Enabled:        yes\n    Address:        2001:db8::2/64\n    Status:         active\n"
	for output, want := range map[string]string{
		second: "2001:db8::2",
		"IPv6 Dynamic Address 0:\n    Source/Type:    DHCPv6\n    Address:        2001:db8::3/64\n    Status:         active\n":                   "2001:db8::3",
		"IPv6 Dynamic Address 0:\n    Source/Type:    static\n    Enabled: yes\n    Address:        2001:db8::3/64\n    Status:         active\n": "",
		"IPv6 Dynamic Address 0:\n    Source/Type:    SLAAC\n    Address:        ::/0\n    Status:         active\n":                              "",
		"IPv6 Static Address 0:\n    Enabled:        yes\n    Address:        2001:db8::1/64\n    Status:         disabled\n":                     "",
		"IPv6 Static Address 0:\n    Enabled:        yes\n    Address:        nonsense\n    Status:         active\n":                             "",
		"": "",
	} {
		if got := parseLan6(output); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
	for output, want := range map[string]bool{
		"IPv6/IPv4 Addressing Enables: both\n": true, "IPv6/IPv4 Addressing Enables: ipv6\n": true, "IPv6/IPv4 Addressing Enables: ipv4\n": false, "": false,
	} {
		if usesIPv6(output) != want {
			t.Errorf("%q: want %t", output, want)
		}
	}
}

// TestBMCChannels: the address is on the third channel; others fail.
func TestBMCChannels(t *testing.T) {
	f := newFake(t)
	f.write("dev/ipmi0", "")
	c := f.collector()
	if got, got6 := c.bmcAddress(t.Context()), c.bmcV6Address(t.Context()); got != noBMC || got6 != noBMCv6 {
		t.Errorf("without an address: %s and %s", got, got6)
	}
	f.programs["ipmitool lan print 2"] = "IP Address : 0.0.0.0\n"
	f.programs["ipmitool lan print 3"] = "IP Address : 192.0.2.7\n"
	f.programs["ipmitool lan6 print 1 enables"] = "IPv6/IPv4 Addressing Enables: ipv4\n"
	f.programs["ipmitool lan6 print 3 enables"] = "IPv6/IPv4 Addressing Enables: both\n"
	f.programs["ipmitool lan6 print 3 dynamic_addr"] = "IPv6 Dynamic Address 0:\n    Source/Type:    SLAAC\n    Address:        2001:db8::7/64\n    Status:         active\n"
	if got, got6 := c.bmcAddress(t.Context()), c.bmcV6Address(t.Context()); got != "192.0.2.7" || got6 != "2001:db8::7" {
		t.Errorf("got %s and %s", got, got6)
	}
}

func FuzzIPMI(f *testing.F) {
	f.Add("IP Address              : 192.0.2.7\n")
	f.Add("IPv6 Dynamic Address 0:\n    Source/Type:    SLAAC\n    Address:        2001:db8::7/64\n    Status:         active\n")
	f.Fuzz(func(t *testing.T, output string) {
		if a := parseLan(output); strings.ContainsAny(a, " %\n") {
			t.Errorf("the address %q", a)
		}
		if a := parseLan6(output); strings.ContainsAny(a, " %/\n") {
			t.Errorf("the address %q", a)
		}
		usesIPv6(output)
	})
}

func TestSecureBoot(t *testing.T) {
	const variable = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	for content, want := range map[string]models.SecureBootState{
		"\x06\x00\x00\x00\x00":     models.SecureBootStateDisabled,
		"\x06\x00\x00\x00\x01":     models.SecureBootStateEnabled,
		"\x06\x00\x00\x00\x02":     models.SecureBootStateUnknown,
		"\x06\x00\x00\x00\x01\x00": models.SecureBootStateUnknown,
		"\x06\x00\x00\x00":         models.SecureBootStateUnknown,
		"":                         models.SecureBootStateUnknown,
	} {
		f := newFake(t)
		f.write(variable, content)
		if got := f.collector().secureBoot(); got != want {
			t.Errorf("%x: got %s, want %s", content, got, want)
		}
	}
	if got := newFake(t).collector().secureBoot(); got != models.SecureBootStateNotSupported {
		t.Errorf("without a variable: %s", got)
	}
}

func TestBootDevice(t *testing.T) {
	for source, want := range map[string]string{
		"/dev/loop1": models.BootDeviceTypeEphemeral, "/dev/sda4": models.BootDeviceTypePersistent, "": "",
	} {
		mounts := []mountinfo.Mount{{Source: "tmpfs", Point: "/run"}}
		if source != "" {
			mounts = append(mounts, mountinfo.Mount{Source: source, Point: "/sysroot"})
		}
		if got := bootDeviceType(mounts); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

func TestTPM(t *testing.T) {
	f := newFake(t)
	for content, want := range map[string]string{"1\n": "1.2", "2\n": "2.0", "3\n": "", "": ""} {
		f.write("sys/class/tpm/tpm0/tpm_version_major", content)
		if got := f.collector().tpmVersion(); got != want {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	}
	must.Do(t, os.Remove(f.at("sys/class/tpm/tpm0/tpm_version_major")))
	must.Do(t, os.Mkdir(f.at("sys/class/tpm/tpm0/tpm_version_major"), 0o700))
	if got := f.collector().tpmVersion(); got != "" {
		t.Errorf("a TPM that cannot be read: %q", got)
	}
}

func TestSystemVendor(t *testing.T) {
	for name, test := range map[string]struct {
		files    map[string]string
		programs map[string]string
		absent   bool // no systemd-detect-virt
		want     models.SystemVendor
	}{
		"oVirt": {
			files: map[string]string{"sys/class/dmi/id/product_family": "RHV", "sys/class/dmi/id/sys_vendor": "Red Hat", "sys/class/dmi/id/product_name": "RHEL"},
			want:  models.SystemVendor{Manufacturer: "Red Hat", ProductName: "oVirt", SerialNumber: unknown},
		},
		"Oracle's cloud": {
			files:    map[string]string{"sys/class/dmi/id/chassis_asset_tag": "OracleCloud.com", "sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "P"},
			programs: map[string]string{"systemd-detect-virt --vm": "kvm\n"},
			want:     models.SystemVendor{Manufacturer: "OracleCloud.com", ProductName: "P", SerialNumber: unknown, Virtual: true},
		},
		"IBM Z, LPAR": {
			files: map[string]string{"proc/cpuinfo": "vendor_id       : IBM/S390", "proc/sysinfo": "Manufacturer: IBM"},
			want:  models.SystemVendor{Manufacturer: "IBM/S390", ProductName: "LPAR", SerialNumber: unknown},
		},
		"IBM Z, KVM": {
			files: map[string]string{"proc/cpuinfo": "vendor_id       : IBM/S390", "proc/sysinfo": "VM00 Control Program: KVM/Linux"},
			want:  models.SystemVendor{Manufacturer: "IBM/S390", ProductName: "KVM/Linux", SerialNumber: unknown, Virtual: true},
		},
		"IBM Z, z/VM": {
			files: map[string]string{"proc/cpuinfo": "vendor_id       : IBM/S390", "proc/sysinfo": "VM00 Control Program: z/VM    7.3.0"},
			want:  models.SystemVendor{Manufacturer: "IBM/S390", ProductName: "z/VM    7.3.0", SerialNumber: unknown},
		},
		"IBM Z, without sysinfo": {
			files: map[string]string{"proc/cpuinfo": "vendor_id       : IBM/S390"},
			want:  models.SystemVendor{Manufacturer: "IBM/S390", ProductName: "LPAR", SerialNumber: unknown},
		},
		"an unknown maker of a PC": {
			files: map[string]string{"proc/cpuinfo": "vendor_id       : GenuineIntel"},
			want:  models.SystemVendor{Manufacturer: unknown, ProductName: unknown, SerialNumber: unknown},
		},
		"by the processors, without systemd": {
			files: map[string]string{"proc/cpuinfo": "flags : fpu hypervisor"}, absent: true,
			want: models.SystemVendor{Manufacturer: unknown, ProductName: unknown, SerialNumber: unknown, Virtual: true},
		},
		"by the kernel, without systemd": {
			files: map[string]string{"sys/hypervisor/type": "xen"}, absent: true,
			want: models.SystemVendor{Manufacturer: unknown, ProductName: unknown, SerialNumber: unknown, Virtual: true},
		},
		"by the product, without systemd": {
			files: map[string]string{"sys/class/dmi/id/sys_vendor": "Microsoft Corporation", "sys/class/dmi/id/product_name": "Virtual Machine"}, absent: true,
			want: models.SystemVendor{Manufacturer: "Microsoft Corporation", ProductName: "Virtual Machine", SerialNumber: unknown, Virtual: true},
		},
		"by the vendor, without systemd": {
			files: map[string]string{"sys/class/dmi/id/sys_vendor": "VMware, Inc."}, absent: true,
			want: models.SystemVendor{Manufacturer: "VMware, Inc.", ProductName: unknown, SerialNumber: unknown, Virtual: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.writeAll("", test.files)
			f.programs = test.programs
			if test.absent {
				f.absent = []string{"systemd-detect-virt"}
			}
			if got := *f.collector().systemVendor(t.Context()); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestUsableHostname(t *testing.T) {
	nic := func(name, kind, mac string, addresses ...string) *models.Interface {
		return &models.Interface{Name: name, Type: kind, MacAddress: mac, IPV4Addresses: addresses}
	}
	for name, test := range map[string]struct {
		name       string
		interfaces []*models.Interface
		want       string
	}{
		"a name":    {"node-1", []*models.Interface{nic("eth0", "physical", "02:00:00:00:00:01", "192.0.2.1/24")}, "node-1"},
		"no name":   {"", []*models.Interface{nic("eth0", "physical", "02:00:00:00:00:01", "192.0.2.1/24")}, ""},
		"forbidden": {"localhost4", []*models.Interface{nic("eth0", "physical", "02:00:00:00:00:AB", "192.0.2.1/24")}, "02-00-00-00-00-ab"},
		"sorted by name": {
			"localhost", []*models.Interface{
				nic("eth1", "bond", "02:00:00:00:00:02", "192.0.2.1/24"), nic("eth0", "vlan", "02:00:00:00:00:01", "192.0.2.2/24"),
			}, "02-00-00-00-00-01",
		},
		"no usable one": {
			"localhost6", []*models.Interface{
				nic("lo", "device", "", "127.0.0.1/8"), nic("br0", "bridge", "02:00:00:00:00:02", "192.0.2.1/24"),
				nic("eth0", "physical", "", "192.0.2.1/24"), nic("eth1", "physical", "02:00:00:00:00:03"), nic("eth2", "physical", "02:00:00:00:00:04", "127.0.0.5/8"),
			}, "localhost6",
		},
	} {
		if got := (Collector{}).usableHostname(test.name, test.interfaces); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestHostID has the ids that the assisted-installer-agent makes.
func TestHostID(t *testing.T) {
	const (
		ofSerial = "0cc175b9-c0f1-b6a8-31c3-99e269772661" // MD5 of "a"
		uuid     = "11111111-2222-3333-4444-55555555555F"
		lower    = "11111111-2222-3333-4444-55555555555f"
		ofMAC    = "664af1a9-49e6-73a7-8e2e-548696f69cd8" // MD5 of "02:00:00:00:00:01"
	)
	links := []Link{{Name: "b", MAC: "02:00:00:00:00:02"}, {Name: "lo"}, {Name: "a", MAC: "02:00:00:00:00:01"}}
	for name, test := range map[string]struct {
		serial, uuid string
		links        []Link
		want         string
	}{
		"serial number":          {"a", uuid, links, ofSerial},
		"spaces around it":       {" a \n", uuid, links, ofSerial},
		"no serial number":       {"", uuid, links, lower},
		"default string":         {"Default string", uuid, links, lower},
		"none":                   {"(none)", uuid, links, lower},
		"NONE":                   {"NONE", uuid, links, lower},
		"a dash":                 {"-", uuid, links, lower},
		"unknown":                {"Unknown", uuid, links, lower},
		"not specified":          {"Not Specified", uuid, links, lower},
		"ProLiant":               {"PCA_number.ACC", uuid, links, lower},
		"BlueField board":        {"Unspecified Base Board Serial Number", uuid, links, lower},
		"BlueField system":       {"Unspecified System Serial Number", uuid, links, lower},
		"no UUID":                {"", "", links, ofMAC},
		"zeros":                  {"", "00000000-0000-0000-0000-000000000000", links, ofMAC},
		"one that many have":     {"", "03000200-0400-0500-0006-000700080009", links, ofMAC},
		"no UUID but a text":     {"", "Not Settable", links, ofMAC},
		"nothing":                {"", "", nil, FailureID},
		"no interface has a MAC": {"", "", []Link{{Name: "lo"}}, FailureID},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.links = test.links
			if test.serial != "" {
				f.write("sys/class/dmi/id/board_serial", test.serial)
			}
			if test.uuid != "" {
				f.write("sys/class/dmi/id/product_uuid", test.uuid+"\n")
			}
			if got := f.collector().HostID(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestGPUNames(t *testing.T) {
	f := newFake(t)
	f.writeAll("sys/bus/pci/devices/0000:3b:00.0", map[string]string{"class": "0x120000", "vendor": "0x10de", "device": "0x1eb8"})
	f.writeAll("sys/bus/pci/devices/not-an-address", map[string]string{"class": "0x030000", "vendor": "0x10de", "device": "0x1eb8"})
	named := func(vendor, name string) {
		t.Helper()
		got := f.collector().gpus()
		if len(got) != 1 || got[0].Vendor != vendor || got[0].Name != name {
			t.Errorf("got %+v, want %q %q", got[0], vendor, name)
		}
	}
	named(unknown, unknown)
	f.write("usr/share/misc/pci.ids.gz", "no gzip")
	named(unknown, unknown)
	var compressed bytes.Buffer
	out := gzip.NewWriter(&compressed)
	must.Get(io.WriteString(out, "10de  NVIDIA\n\t1eb9  other\n"))(t)
	must.Do(t, out.Close())
	f.write("usr/share/misc/pci.ids.gz", compressed.String())
	named("NVIDIA", unknown)
	f.write("usr/share/hwdata/pci.ids", "10de  NVIDIA Corporation\n\t1eb8  T4\n")
	named("NVIDIA Corporation", "T4")
	f.write("usr/share/hwdata/pci.ids", strings.Repeat("x", 1<<20))
	named(unknown, unknown)
}

func FuzzNameDevices(f *testing.F) {
	f.Add("# x\n10de  NVIDIA\n\t1eb8  T4\n\t\t10de 12a2  x\nC 03  Display\n")
	f.Fuzz(func(t *testing.T, content string) {
		gpus := []*models.Gpu{{VendorID: "10de", DeviceID: "1eb8", Name: unknown, Vendor: unknown}}
		if err := nameDevices(gpus, strings.NewReader(content)); err == nil && strings.Contains(gpus[0].Name+gpus[0].Vendor, "\n") {
			t.Errorf("got %+v", gpus[0])
		}
	})
}

func TestInterfaceTypes(t *testing.T) {
	f := newFake(t)
	f.net("eth0", "pci0000:00/0000:00:02.0", map[string]string{"carrier": "1", "speed": "fast"})
	f.net("br0", "virtual", map[string]string{"carrier": "1"})
	f.netErr = errors.New("one interface cannot be read")
	f.links = []Link{{Name: "eth0", Kind: "bond"}, {Name: "br0", Kind: "bridge"}, {Name: "gone"}}
	c := f.collector()
	var types []string
	for _, i := range c.interfaces(t.Context(), c.links(), c.kernelRoutes()) {
		types = append(types, i.Type)
		if i.SpeedMbps != 0 {
			t.Errorf("%s has the speed %d", i.Name, i.SpeedMbps)
		}
	}
	if !slices.Equal(types, []string{"physical", "bridge", "physical"}) {
		t.Errorf("got %q", types)
	}
}

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		says string
		err  string
	}{
		"no arguments": {nil, `{"bmc_address":"0.0.0.0",`, ""},
		"where to log": {[]string{"--with-journal-logging=false", "-with-text-logging"}, `{"bmc_address":"0.0.0.0",`, ""},
		"help":         {[]string{"--help"}, "Usage of inventory", ""},
		"unknown flag": {[]string{"--write"}, "flag provided but not defined", "read the arguments of inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := bare(t).collector().Run(t.Context(), test.args, &out)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if !strings.HasPrefix(out.String(), test.says) {
				t.Errorf("printed %q, want %q", out.String(), test.says)
			}
		})
	}
}

// TestResolve: links lead nowhere out of the tree's folder.
func TestResolve(t *testing.T) {
	f := newFake(t)
	f.write("dev/sda", "")
	f.write("a/b/file", "")
	for name, target := range map[string]string{
		"dev/relative": "../dev/sda", "dev/absolute": "/dev/sda", "dev/out": "../../../../dev/sda", "dev/chain": "relative", "a/folder": "/a/b",
		"dev/nothing": "gone", "dev/loop": "loop", "dev/etc": "/etc/passwd",
	} {
		must.Do(t, os.Symlink(target, f.at(name)))
	}
	files := f.collector().files()
	for path, want := range map[string]string{
		"dev/relative": "/dev/sda", "/dev/absolute": "/dev/sda", "dev/out": "/dev/sda", "dev/chain": "/dev/sda", "a/folder/file": "/a/b/file",
		"a/folder/../b/file": "/a/b/file", "": "/", "dev/nothing": "", "dev/loop": "", "dev/etc": "",
	} {
		got, err := files.resolve(path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", path, got, err, want)
		}
	}
	if got, err := (tree{}).resolve("/proc/self/ns"); err != nil || !strings.HasPrefix(got, "/proc/") {
		t.Errorf("got %s, %v", got, err)
	}
	// The kernel's link to the root folder of a process reads "/", and is not followed.
	if got, err := (tree{"/proc/self/root"}).resolve("/proc/version"); got != "/proc/version" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestMachineRoot: a test runs in no container of the machine, or in one that shows the first process's folder.
func TestMachineRoot(t *testing.T) {
	if root := MachineRoot(); root != "" && root != "/proc/1/root" {
		t.Errorf("got %q", root)
	}
}
