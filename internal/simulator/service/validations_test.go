package service

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// outcomes reads validations_info as id to [status, message].
func outcomes(t *testing.T, object map[string]any) map[string][2]string {
	t.Helper()
	var categories map[string][]struct{ ID, Status, Message string }
	text, _ := object["validations_info"].(string)
	if err := json.Unmarshal([]byte(text), &categories); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	all := map[string][2]string{}
	for _, list := range categories {
		for _, o := range list {
			all[o.ID] = [2]string{o.Status, o.Message}
		}
	}
	return all
}

func TestHostValidations(t *testing.T) {
	for _, tc := range []struct {
		name    string
		trouble func(*machine)
		state   string
		id      string
		message string
	}{
		{"fine", func(*machine) {}, model.HostKnown, "", ""},
		{"no time source only warns", func(m *machine) { m.unsynced = true }, model.HostKnown, "ntp-synced", "Host couldn't synchronize with any NTP server"},
		{"small disks", func(m *machine) {
			m.unclean = func(i map[string]any) {
				i["disks"] = []fields{{"id": "a", "path": "/dev/sda", "drive_type": "HDD", "size_bytes": 20_000_000_000}}
			}
		}, model.HostInsufficient, "has-min-valid-disks", "No eligible disks were found, please check specific disks to see why they are not eligible"},
		{"too weak for anything", func(m *machine) { m.cpus = 1 }, model.HostInsufficient, "has-min-cpu-cores", "The host is not eligible to participate in Openshift Cluster because the minimum required CPU cores for any role is 2, found only 1"},
		{"another network", func(m *machine) {
			m.unclean = func(i map[string]any) {
				i["interfaces"] = []fields{{"name": "eth0", "mac_address": m.mac(), "ipv4_addresses": []string{"172.16.0.5/24"}}}
			}
		}, model.HostInsufficient, "belongs-to-machine-cidr", "Host does not belong to machine network CIDRs. Verify that the host belongs to every CIDR listed under machine networks"},
		{"a name twice", func(m *machine) { m.name = "host-0" }, model.HostInsufficient, "hostname-unique", "Hostname host-0 is not unique in cluster"},
		{"a forbidden name", func(m *machine) { m.name = "localhost" }, model.HostInsufficient, "hostname-valid", "The host name localhost is forbidden"},
		{"no default route", func(m *machine) { m.unclean = func(i map[string]any) { i["routes"] = []fields{} } }, model.HostInsufficient, "has-default-route", "Host has not yet been configured with a default route."},
		{"two cards in one network", func(m *machine) {
			m.unclean = func(i map[string]any) {
				i["interfaces"] = append(i["interfaces"].([]fields), fields{"name": "eth1", "mac_address": "52:54:00:ff:00:01", "ipv4_addresses": []string{"10.0.0.99/24"}})
			}
		}, model.HostInsufficient, "non-overlapping-subnets", "Address networks are overlapping: Address network 10.0.0.0/24 appears on multiple interfaces [eth0, eth1]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := compact(t, 3)
			tc.trouble(b.machines[1])
			b.pass(time.Minute)
			got := b.machines[1].get()
			if got["status"] != tc.state {
				t.Errorf("%v: %v, want %s", got["status"], got["status_info"], tc.state)
			}
			if tc.id == "" {
				return
			}
			if diff := cmp.Diff([2]string{model.Failed, tc.message}, outcomes(t, got)[tc.id]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.id, diff)
			}
			if tc.state != model.HostKnown && !strings.Contains(got["status_info"].(string), tc.message) {
				t.Errorf("status_info does not say why: %v", got["status_info"])
			}
		})
	}
}

func TestClusterValidations(t *testing.T) {
	for _, tc := range []struct {
		name  string
		extra fields
		hosts int
		state string
		id    string
		want  [2]string
	}{
		{"no domain", fields{"base_dns_domain": ""}, 3, model.ClusterPendingInput, "dns-domain-defined", [2]string{model.Failed, "The base domain is undefined and must be provided."}},
		{"no addresses", nil, 3, model.ClusterPendingInput, "api-vips-defined", [2]string{model.Failed, "API virtual IPs are undefined and must be provided."}},
		{"too few", one4("10.0.0.100", "10.0.0.101"), 2, model.ClusterInsufficient, "sufficient-masters-count", [2]string{model.Failed, "The cluster must have exactly 3 dedicated control plane nodes. Add or remove hosts, or change their roles configurations to meet the requirement."}},
		{"overlapping networks", vips([]string{"10.0.0.100"}, []string{"10.0.0.101"}, fields{"service_networks": []fields{{"cidr": "10.128.0.0/16"}}}), 3, model.ClusterInsufficient, "no-cidrs-overlapping", [2]string{model.Failed, "CIDRS Overlapping: ServiceNetworkCidr and ClusterNetworkCidr: CIDRS 10.128.0.0/16 and 10.128.0.0/14 overlap."}},
		{"host prefix too long", vips([]string{"10.0.0.100"}, []string{"10.0.0.101"}, fields{"cluster_networks": []fields{{"cidr": "10.128.0.0/14", "host_prefix": 30}}}), 3, model.ClusterInsufficient, "network-prefix-valid", [2]string{model.Failed, "Host prefix, now 30, must be less than or equal to 25 to allow at least 128 addresses"}},
		{"a single node and a friend", fields{"control_plane_count": 1}, 2, model.ClusterInsufficient, "sufficient-masters-count", [2]string{model.Failed, "Single-node clusters must have a single control plane node and no workers."}},
		{"an address outside", one4("10.5.0.100", "10.5.0.101"), 3, model.ClusterPendingInput, "machine-cidr-defined", [2]string{model.Failed, "The Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or Ingress virtual IPs."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := madeBench(t, tc.extra)
			for range tc.hosts {
				b.boot()
			}
			b.pass(time.Minute)
			got := b.get()
			if got["status"] != tc.state {
				t.Errorf("%v, want %s", got["status"], tc.state)
			}
			if diff := cmp.Diff(tc.want, outcomes(t, got)[tc.id]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.id, diff)
			}
		})
	}
}

func TestIgnoredValidationsHinderNothing(t *testing.T) {
	b := compact(t, 3)
	b.machines[1].unclean = func(i map[string]any) { i["routes"] = []fields{} }
	b.pass(time.Minute)
	b.inState(model.ClusterInsufficient)
	b.must("PUT", "/clusters/"+b.cluster+"/ignored-validations", fields{"host-validation-ids": `["has-default-route"]`})
	b.until(model.ClusterReady)
	for _, field := range []string{"ignored_host_validations", "ignored_cluster_validations"} {
		if shown, is := b.get()[field]; is {
			t.Errorf("the cluster shows %s: %v", field, shown)
		}
	}
	if got := b.must("GET", "/clusters/"+b.cluster+"/ignored-validations", nil).object()["host-validation-ids"]; got != `["has-default-route"]` {
		t.Errorf("ignored: %v", got)
	}
}

// TestMultipathDisks: the device is installed on, not its paths; one of other disks than FC or iSCSI is not.
func TestMultipathDisks(t *testing.T) {
	for kind, want := range map[string][3]string{
		"FC":  {"Disk is a member of multipath device dm-0 and is not eligible for installation. Use the multipath device instead.", "", ""},
		"SSD": {"", "", "Multipath device has path of unsupported type. It must be FC, iSCSI"},
	} {
		var inv model.Inventory
		err := json.Unmarshal([]byte(`{"cpu": {"architecture": "x86_64"}, "disks": [
			{"name": "sda", "path": "/dev/sda", "drive_type": "`+kind+`", "holders": "dm-0", "size_bytes": 200000000000},
			{"name": "sdb", "path": "/dev/sdb", "drive_type": "`+kind+`", "size_bytes": 200000000000},
			{"name": "dm-0", "path": "/dev/dm-0", "drive_type": "Multipath", "size_bytes": 200000000000}]}`), &inv)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // its own reasons are judged anew
			inv.JudgeDisks(100)
		}
		for i, reason := range want {
			if e := inv.Disks[i].InstallationEligibility; e.Eligible != (reason == "") || strings.Join(e.NotEligibleReasons, "; ") != reason {
				t.Errorf("%s: %s is %+v, want %q", kind, inv.Disks[i].Path, e, reason)
			}
		}
	}
}

func TestDiskChoice(t *testing.T) {
	b := compact(t, 3)
	b.pass(20 * time.Second)
	m := b.machines[0]
	if got := m.get()["installation_disk_id"]; got != "/dev/disk/by-id/a" {
		t.Errorf("chose %v: hard disks come before solid ones", got)
	}
	b.must("PATCH", m.path(), fields{"disks_selected_config": []fields{{"id": "/dev/disk/by-id/b", "role": "install"}}})
	b.pass(20 * time.Second)
	if got := m.get()["installation_disk_id"]; got != "/dev/disk/by-id/b" {
		t.Errorf("the user's choice became %v", got)
	}
	var inv model.Inventory
	if err := json.Unmarshal([]byte(m.get()["inventory"].(string)), &inv); err != nil {
		t.Fatal(err)
	}
	want := []string{"Disk is too small (disk only has 20 GB, but 100 GB are required)"}
	if diff := cmp.Diff(want, inv.Disks[2].InstallationEligibility.NotEligibleReasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzStepReply(f *testing.F) {
	f.Add("inventory", `{"disks":[{}]}`)
	f.Add("connectivity-check", `{"remote_hosts":[{"l2_connectivity":[{}]}]}`)
	f.Add("verify-vips", `[{"vip":"1.2.3.4"}]`)
	f.Fuzz(func(t *testing.T, kind, output string) {
		b := compact(t, 1)
		m := b.machines[0]
		m.poll()
		b.call("POST", m.path()+"/instructions", fields{"step_id": "x", "step_type": kind, "exit_code": 0, "output": output})
		b.s.tick()
		b.answers("", "GET", m.path(), nil, 200)
	})
}

// TestPlatformOfMachines holds machines against the platform of their cluster: it is the
// manufacturer that counts, to the letter, and a machine of vSphere has to show its disks'
// UUIDs in any cluster.
func TestPlatformOfMachines(t *testing.T) {
	const noUUID = "VSphere disk.EnableUUID isn't enabled for this virtual machine, it's necessary for disks to be mounted properly"
	for _, tc := range []struct {
		platform, manufacturer string
		uuids                  bool
		fits                   string
		disks                  [2]string
	}{
		{"baremetal", "Acme", false, "success", [2]string{"", ""}},
		{"vsphere", "Acme", false, "failure", [2]string{"", ""}},
		{"vsphere", "VMware", true, "failure", [2]string{"", ""}},
		{"vsphere", "VMware, Inc.", true, "success", [2]string{"success", "VSphere disk.EnableUUID is enabled for this virtual machine"}},
		{"vsphere", "VMware, Inc.", false, "success", [2]string{"failure", noUUID}},
		{"baremetal", "VMware, Inc.", false, "success", [2]string{"failure", noUUID}},
		{"nutanix", "Nutanix", false, "success", [2]string{"", ""}},
		{"nutanix", "VMware, Inc.", true, "failure", [2]string{"success", "VSphere disk.EnableUUID is enabled for this virtual machine"}},
	} {
		b := madeBench(t, fields{"platform": fields{"type": tc.platform}})
		m := b.boot()
		m.unclean = func(inventory map[string]any) {
			inventory["system_vendor"] = fields{"manufacturer": tc.manufacturer}
			for _, disk := range inventory["disks"].([]fields) {
				disk["has_uuid"] = tc.uuids
			}
		}
		b.pass(30 * time.Second)
		got := outcomes(t, m.get())
		if got["compatible-with-cluster-platform"][0] != tc.fits || got["vsphere-disk-uuid-enabled"] != tc.disks {
			t.Errorf("%s in a cluster of %s: %q, %q", tc.manufacturer, tc.platform, got["compatible-with-cluster-platform"], got["vsphere-disk-uuid-enabled"])
		}
	}
}
