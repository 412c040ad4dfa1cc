//go:build linux

package inventory

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const up = net.FlagUp | net.FlagBroadcast | net.FlagMulticast | net.FlagRunning

func prefixesOf(texts ...string) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}

// machines are the machines of the goldens. Each has a file in testdata.
func machines() map[string]func(testing.TB) *fake {
	return map[string]func(testing.TB) *fake{
		"virtual-machine": virtualMachine, "server": server, "iscsi-boot": iscsiBoot, "usb-stick": usbStick, "bare": bare,
	}
}

// virtualMachine runs from a CD, and has UEFI and one virtio disk.
func virtualMachine(t testing.TB) *fake {
	f := newFake(t)
	f.writeAll("proc", map[string]string{
		"cmdline":             "coreos.liveiso=rhcos-9 ignition.platform.id=metal BOOTIF=01-52-54-00-aa-bb-cc",
		"sys/kernel/hostname": "localhost",
		"meminfo":             "MemTotal:       16384000 kB\nMemFree: 1 kB",
		"cpuinfo":             "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t: fpu hypervisor",
	})
	f.programs["lscpu -J"] = `{"lscpu":[{"field":"Architecture:","data":"x86_64"},{"field":"CPU(s):","data":"4"},
		{"field":"Model name:","data":"Intel Xeon Processor (Skylake)"},{"field":"CPU max MHz:","data":"2600.0000"},
		{"field":"CPU MHz:","data":"2100.5"},{"field":"Flags:","data":"fpu vme hypervisor"}]}`
	f.programs["systemd-detect-virt --vm"] = "kvm\n"
	f.programs["dmidecode -t 17"] = "Handle 0x1100, DMI type 17\n\tSize: 16 GB\n"
	f.write("sys/firmware/dmi/tables/DMI", memoryTable(16384))
	f.writeAll("sys/class/dmi/id", map[string]string{
		"sys_vendor": "QEMU", "product_name": "Standard PC (Q35 + ICH9, 2009)", "product_serial": "", "product_uuid": "11111111-2222-3333-4444-555555555555",
		"product_family": "", "chassis_asset_tag": "",
	})
	f.write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "\x06\x00\x00\x00\x00")
	f.block(block{
		name: "vda", number: "252:0", on: "pci0000:00/0000:00:02.3/0000:04:00.0/virtio2", size: "251658240", rotates: true,
		files: map[string]string{"device/vendor": "0x1af4"},
		udev:  map[string]string{"ID_PATH": "pci-0000:04:00.0", "ID_PATH_TAG": "pci-0000_04_00_0"},
		links: []string{"by-path/pci-0000:04:00.0", "by-path/virtio-pci-0000:04:00.0"},
	})
	f.block(block{
		name: "sr0", number: "11:0", on: "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0", size: "2200000", rotates: true,
		files: map[string]string{
			"removable": "1", "device/vendor": "QEMU    ", "device/scsi_device/0:0:0:0/uevent": "",
		},
		udev: map[string]string{
			"ID_PATH": "pci-0000:00:1f.2-ata-1", "ID_MODEL": "QEMU_DVD-ROM", "ID_SERIAL_SHORT": "QM00001", "ID_SERIAL": "QEMU_DVD-ROM_QM00001",
		},
		links: []string{"by-path/pci-0000:00:1f.2-ata-1", "by-id/ata-QEMU_DVD-ROM_QM00001"},
		start: bootSector(),
	})
	f.block(block{name: "loop0", number: "7:0", size: "1000"})
	f.block(block{name: "loop1", number: "7:1", size: "0"})
	f.mounts("7:0 /dev/loop0 /sysroot", "11:0 /dev/sr0 /run/media/iso")
	f.net("lo", "virtual", map[string]string{"carrier": "1"})
	f.net("enp1s0", "pci0000:00/0000:00:02.0/0000:01:00.0/virtio0", map[string]string{
		"carrier": "1", "speed": "-1", "device/vendor": "0x1af4", "device/device": "0x0001",
	})
	f.links = []Link{
		{Index: 1, Name: "lo", MTU: 65536, Flags: net.FlagUp | net.FlagLoopback | net.FlagRunning, Addresses: prefixesOf("127.0.0.1/8", "::1/128")},
		{
			Index: 2, Name: "enp1s0", MTU: 1500, Flags: up, MAC: "52:54:00:AA:bb:cc",
			Addresses: prefixesOf("192.0.2.10/24", "169.254.3.4/16", "2001:db8::10/128", "fe80::1/64"),
		},
	}
	f.routes = []Route{
		{
			Family: unix.AF_INET, Link: 2, Interface: "enp1s0", Metric: 100,
			Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.0.2.1"),
		},
		{Family: unix.AF_INET, Link: 2, Interface: "enp1s0", Metric: 100, Destination: netip.MustParsePrefix("192.0.2.0/24")},
		{Family: unix.AF_INET6, Link: 3, Interface: "other", Advertised: true, Destination: netip.MustParsePrefix("2001:db8::/48")},
		{Family: unix.AF_INET6, Link: 2, Interface: "enp1s0", Metric: 100, Advertised: true, Destination: netip.MustParsePrefix("::/0")},
		{Family: unix.AF_INET6, Link: 2, Interface: "enp1s0", Metric: 100, Advertised: true, Destination: netip.MustParsePrefix("2001:db8::/64")},
	}
	return f
}

// server has NVMe, SCSI, multipath, RAID, LVM, Fibre Channel, a BMC, a GPU, a TPM, and a bond.
func server(t testing.TB) *fake {
	f := newFake(t)
	f.writeAll("proc", map[string]string{"cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1", "sys/kernel/hostname": "node-7.example.com", "meminfo": "MemTotal: 263000000 kB"})
	f.programs["lscpu -J"] = `{"lscpu":[{"field":"Architecture:","data":"x86_64"},{"field":"CPU(s):","data":"64"},
		{"field":"Model name:","data":"AMD EPYC 7543"},{"field":"Flags:","data":"fpu svm"}]}`
	f.programs["dmidecode -t 17"] = "\tSize: 128 GB\n\tSize: No Module Installed\n\tSize: 128 GB\n\tVolatile Size: 128 GB\n"
	f.write("sys/firmware/dmi/tables/DMI", memoryTable(0x7fff+131072, 0, 0x7fff+131072))
	f.writeAll("sys/class/dmi/id", map[string]string{
		"sys_vendor": "Example Inc.", "product_name": "Server 9", "product_serial": "SN0001", "product_family": "Servers", "chassis_asset_tag": "A-17",
	})
	f.writeAll("sys/firmware/efi", map[string]string{"fw_platform_size": "64"})
	f.write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "\x06\x00\x00\x00\x01")
	f.write("sys/class/tpm/tpm0/tpm_version_major", "2\n")
	serverDisks(f)
	f.write("dev/ipmi0", "")
	f.programs["ipmitool lan print 1"] = "Set in Progress         : Set Complete\nIP Address Source       : DHCP Address\nIP Address              : 198.51.100.7\n"
	f.programs["ipmitool lan6 print 1 enables"] = "IPv6/IPv4 Addressing Enables: both\n"
	f.programs["ipmitool lan6 print 1 dynamic_addr"] = "IPv6 Dynamic Address 0:\n    Source/Type:    SLAAC\n    Address:        ::/0\n    Status:         active\n"
	f.programs["ipmitool lan6 print 1 static_addr"] = "IPv6 Static Address 0:\n    Enabled:        yes\n    Address:        2001:db8:5::7/64\n    Status:         active\n"
	f.writeAll("sys/bus/pci/devices/0000:3b:00.0", map[string]string{
		"class": "0x030200", "vendor": "0x10de", "device": "0x1eb8",
		"modalias": "pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00",
	})
	f.writeAll("sys/bus/pci/devices/0000:00:1f.2", map[string]string{
		"class": "0x010601", "vendor": "0x8086", "device": "0x2922", "modalias": "pci:v00008086d00002922sv00001AF4sd00001100bc01sc06i01",
	})
	f.write("usr/share/hwdata/pci.ids", "# comment\n10de  NVIDIA Corporation\n\t1eb8  TU104GL [Tesla T4]\n\t\t10de 12a2  Tesla T4\n8086  Intel Corporation\n\t1eb8  not this\nC 03  Display controller\n")
	f.net("bond0", "virtual", map[string]string{"carrier": "1", "speed": "25000"})
	f.net("bond0.7", "virtual", map[string]string{"carrier": "1", "speed": "25000"})
	f.net("ens1f0", "pci0000:17/0000:17:00.0/0000:18:00.0", map[string]string{"carrier": "1", "speed": "25000", "device/vendor": "0x15b3", "device/device": "0x1015"})
	f.net("ens1f1", "pci0000:17/0000:17:00.0/0000:18:00.1", map[string]string{"carrier": "0", "device/vendor": "0x15b3", "device/device": "0x1015"})
	f.net("tap0", "virtual", map[string]string{"carrier": "0"})
	f.programs["biosdevname -i ens1f0"] = "p1p1\n"
	f.links = []Link{
		{Index: 2, Name: "ens1f0", MTU: 9000, Flags: up, MAC: "02:00:00:00:00:01"},
		{Index: 3, Name: "ens1f1", MTU: 9000, Flags: net.FlagUp | net.FlagBroadcast | net.FlagMulticast, MAC: "02:00:00:00:00:02"},
		{Index: 4, Name: "bond0", MTU: 9000, Flags: up, MAC: "02:00:00:00:00:01", Kind: "bond", Addresses: prefixesOf("203.0.113.5/26")},
		{Index: 5, Name: "bond0.7", MTU: 9000, Flags: up, MAC: "02:00:00:00:00:01", Kind: "vlan", Addresses: prefixesOf("2001:db8:7::5/64")},
		{Index: 6, Name: "tap0", Kind: "tun"},
	}
	return f
}

// serverDisks are the disks of the server.
func serverDisks(f *fake) {
	f.t.Helper()
	f.block(block{
		name: "nvme0n1", number: "259:0", on: "pci0000:16/0000:16:00.0/nvme/nvme0", size: "3750748848",
		files: map[string]string{"wwid": "eui.0025385800000001", "device/transport": "pcie"},
		udev: map[string]string{
			"ID_PATH": "pci-0000:16:00.0-nvme-1", "ID_MODEL": "SAMSUNG MZQL21T9HCJR", "ID_SERIAL_SHORT": "S0000001",
			"ID_SERIAL": "SAMSUNG_MZQL21T9HCJR_S0000001", "ID_WWN": "eui.0025385800000001",
		},
		links: []string{"by-id/nvme-eui.0025385800000001", "by-id/nvme-SAMSUNG_MZQL21T9HCJR_S0000001", "by-path/pci-0000:16:00.0-nvme-1"},
	})
	f.block(block{name: "nvme1c0n1", number: "259:1", on: "pci0000:16/0000:16:01.0/nvme/nvme1", files: map[string]string{"hidden": "1"}})
	const san = "/target1:0:0/1:0:0:1"
	for _, p := range []struct{ name, number, host string }{{"sda", "8:0", "host1"}, {"sdb", "8:16", "host2"}} {
		f.block(block{
			name: p.name, number: p.number, on: "pci0000:17/0000:17:02.0/" + p.host + san, size: "209715200", rotates: true,
			files: map[string]string{
				"device/vendor": "NETAPP  ", "device/vpd_pg83": "x", "holders/dm-0/uevent": "", "device/scsi_device/1:0:0:1/uevent": "",
			},
			udev: map[string]string{
				"ID_PATH": "pci-0000:17:02.0-fc-0x500a09808a1b2c3d-lun-1-" + p.name, "ID_MODEL": "LUN_C-Mode", "ID_SERIAL": "3600a0980383030000000000000000001",
				"ID_SERIAL_SHORT": "600a0980383030000000000000000001", "SCSI_IDENT_SERIAL": "800000000001",
				"ID_WWN": "0x600a098038303000", "ID_WWN_WITH_EXTENSION": "0x600a0980383030000000000000000001",
			},
		})
		f.programs["sg_inq -p 0x83 /dev/"+p.name] = "VPD INQUIRY: Device Identification page\n"
	}
	f.block(block{
		name: "dm-0", number: "253:0", size: "209715200", rotates: true,
		files: map[string]string{"dm/uuid": "mpath-3600a0980383030000000000000000001", "dm/name": "mpatha"},
		udev:  map[string]string{"DM_WWN": "0x600a0980383030000000000000000001", "DM_NAME": "mpatha"},
		links: []string{"by-id/wwn-0x600a0980383030000000000000000001", "by-id/dm-name-mpatha"},
	})
	for _, p := range []struct{ name, number, id string }{{"sdc", "8:32", "0x5000c500a0000001"}, {"sdd", "8:48", "0x5000c500a0000002"}} {
		f.block(block{
			name: p.name, number: p.number, on: "pci0000:00/0000:00:11.4/ata/host5/target5:0:0/5:0:0:0-" + p.name, size: "7814037168", rotates: true,
			files: map[string]string{"device/vendor": "ATA     ", "device/scsi_device/5:0:0:0/uevent": "", "holders/md127/uevent": ""},
			udev: map[string]string{
				"ID_PATH": "pci-0000:00:11.4-ata-1", "ID_MODEL": "ST4000NM0035", "ID_SERIAL_SHORT": "ZC10000" + p.name, "ID_WWN": p.id,
			},
			links: []string{"by-id/wwn-" + p.id},
			parts: []part{{p.name + "1", p.number[:2] + "3", ""}},
			start: bootSector(),
		})
	}
	f.block(block{name: "md127", number: "9:127", size: "7813772288", rotates: true, files: map[string]string{"holders/dm-1/uevent": ""}})
	f.block(block{name: "dm-1", number: "253:1", files: map[string]string{"dm/uuid": "LVM-abcdef", "dm/name": "vg-data"}})
	f.block(block{name: "dm-2", number: "253:2", files: map[string]string{"dm/uuid": "CRYPT-LUKS2-1", "dm/name": "luks-1"}})
	f.block(block{name: "dm-3", number: "253:3", files: map[string]string{"dm/name": "without"}})
	f.block(block{name: "zram0", number: "251:0"})
	f.mounts("253:1 /dev/mapper/vg-data /var/lib/data")
}

// iscsiBoot has three disks of iSCSI targets. The firmware boots from the first.
func iscsiBoot(t testing.TB) *fake {
	f := newFake(t)
	f.writeAll("proc", map[string]string{"cmdline": "rd.iscsi.firmware=1", "sys/kernel/hostname": "node-8", "meminfo": "MemTotal: 8000000 kB"})
	f.programs["lscpu -J"] = `{"lscpu":[{"field":"Architecture:","data":"x86_64"},{"field":"CPU(s):","data":"1"}]}`
	f.write("sys/firmware/ibft/initiator/initiator-name", "iqn.2026-01.com.example:host\n")
	f.write("sys/firmware/ibft/target0/target-name", "iqn.2026-01.com.example:boot\n")
	for i, disk := range []struct{ name, number, target, state string }{
		{"sda", "8:0", "boot", "running"}, {"sdb", "8:16", "data", "running"}, {"sdc", "8:32", "boot", "transport-offline"},
	} {
		digit := string(rune('1' + i))
		session := "platform/host" + digit + "/session" + digit
		f.block(block{
			name: disk.name, number: disk.number, on: session + "/target1:0:0/1:0:0:" + digit, rotates: true,
			files: map[string]string{"device/vendor": "LIO-ORG", "device/state": disk.state},
			udev:  map[string]string{"ID_PATH": "ip-192.0.2.200:3260-iscsi-iqn.2026-01.com.example:" + disk.target + "-lun-" + digit, "ID_MODEL": "disk"},
		})
		f.write("sys/class/iscsi_session/session"+digit+"/targetname", "iqn.2026-01.com.example:"+disk.target+"\n")
		f.write("sys/class/iscsi_host/host"+digit+"/ipaddress", "192.0.2.10\n")
	}
	f.mounts("0:30 tmpfs /run")
	return f
}

// usbStick runs from a stick, and has a disk with a mounted partition, and two disks at one path.
func usbStick(t testing.TB) *fake {
	f := newFake(t)
	f.writeAll("proc", map[string]string{"cmdline": "coreos.liveiso=rhcos-9", "sys/kernel/hostname": "localhost.localdomain", "meminfo": "MemTotal: 8000000 kB"})
	f.programs["lscpu -J"] = `{"lscpu":[{"field":"Architecture:","data":"aarch64"},{"field":"CPU(s):","data":"8"}]}`
	f.write("sys/class/tpm/tpm0/tpm_version_major", "1\n")
	f.write("sys/devices/system/memory/block_size_bytes", "8000000\n")
	f.write("sys/devices/system/memory/memory0/state", "online\n")
	f.write("sys/devices/system/memory/memory1/state", "offline\n")
	f.write("sys/devices/system/memory/memory32/state", "online\n")
	f.write("sys/devices/system/memory/power/state", "online\n")
	f.block(block{
		name: "sda", number: "8:0", on: "pci0000:00/0000:00:14.0/usb1/1-1/host6/target6:0:0/6:0:0:0", size: "30000000", rotates: true,
		files: map[string]string{"removable": "1", "device/vendor": "SanDisk "},
		udev:  map[string]string{"ID_PATH": "pci-0000:00:14.0-usb-0:1:1.0-scsi-0:0:0:0", "ID_MODEL": "Ultra", "ID_SERIAL": "SanDisk_Ultra_1-0:0"},
		parts: []part{{"sda1", "8:1", ""}, {"sda2", "8:2", ""}},
		start: bootSector(),
	})
	f.block(block{
		name: "sdb", number: "8:16", on: "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0", udev: map[string]string{"ID_PATH": "pci-0000:00:17.0-ata-1"},
		links: []string{"by-path/pci-0000:00:17.0-ata-1"},
		parts: []part{{"sdb1", "8:17", ""}, {"sdb2", "8:18", ""}, {"sdb3", "8:19", ""}},
	})
	f.block(block{
		name: "sdc", number: "8:32", on: "pci0000:00/0000:00:17.0/ata1/host0/target0:0:1/0:0:1:0", rotates: true,
		udev: map[string]string{"ID_PATH": "pci-0000:00:17.0-ata-1"},
	})
	f.block(block{name: "mmcblk0", number: "179:0", on: "platform/emmc", udev: map[string]string{"ID_PATH": "platform-emmc"}})
	f.block(block{name: "xyz0", number: "240:0"})
	f.block(block{name: "fd0", number: "2:0", on: "platform/floppy.0"})
	f.mounts("7:0 /dev/loop0 /sysroot", "8:1 /dev/sda1 /run/media/iso", "8:2 /dev/sda2 /mnt/other", `8:17 /dev/sdb1 /var/with\040space`, "8:19 /dev/sdb3 /var")
	return f
}

// bare is a machine that shows nothing, and has no programs.
func bare(t testing.TB) *fake {
	f := newFake(t)
	f.absent = []string{"lscpu", "dmidecode", "ipmitool", "sg_inq", "systemd-detect-virt", "biosdevname"}
	f.write("proc/sys/kernel/arch", "aarch64\n")
	f.write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2800000\n")
	f.write("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "3000500\n")
	f.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Neoverse-N1\nFeatures\t: fp asimd\n\nprocessor\t: 1\n")
	return f
}

// memoryTable is a table of DMI structures with memory modules of these sizes in MiB, after a structure of another type.
func memoryTable(sizes ...int) string {
	var table strings.Builder
	table.WriteString("\x01\x06\x00\x01\x01\x02" + "Vendor\x00Product\x00\x00")
	for _, size := range sizes {
		module := make([]byte, 0x20)
		module[0], module[1] = dmiMemory, byte(len(module))
		module[dmiSize], module[dmiSize+1] = byte(size), byte(size>>8)
		if size > dmiSizeExtended {
			size -= dmiSizeExtended
			module[dmiSize], module[dmiSize+1] = 0xff, 0x7f
			module[dmiExtendedSize], module[dmiExtendedSize+1], module[dmiExtendedSize+2] = byte(size), byte(size>>8), byte(size>>16)
		}
		table.Write(module)
		table.WriteString("DIMM 0\x00\x00")
	}
	table.WriteString("\x7f\x04\xff\xff\x00\x00")
	return table.String()
}
