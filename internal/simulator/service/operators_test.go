package service

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

func operatorsOf(object map[string]any) []string {
	var names []string
	list, _ := object["monitored_operators"].([]any)
	for _, o := range list {
		if o, ok := o.(map[string]any); ok && o["operator_type"] == "olm" {
			names = append(names, o["name"].(string))
		}
	}
	return names
}

// TestOperatorChecks asks for operators that machines cannot carry, and for some
// that they can.
func TestOperatorChecks(t *testing.T) {
	for _, tc := range []struct {
		name, operator string
		change         func(*bench)
		id             string
		cluster, host  [2]string
	}{
		{
			"storage on disks that are there", "odf", func(b *bench) { b.memory(96) }, "odf-requirements-satisfied",
			[2]string{"success", "ODF Requirements for Compact Deployment are satisfied."}, [2]string{"success", ""},
		},
		{
			"storage without disks", "odf", func(b *bench) { b.disks(1) }, "odf-requirements-satisfied",
			[2]string{"failure", "Insufficient resources to deploy ODF in compact mode. ODF requires a minimum of 3 hosts. Each host must have at least 1 additional disk of 25 GB minimum and an installation disk."},
			[2]string{"failure", "Insufficient disks, ODF requires at least one non-installation SSD or HDD disk on each host in compact mode."},
		},
		{
			"storage with an open number of workers", "odf", func(b *bench) { b.boot(); b.boot() }, "odf-requirements-satisfied",
			[2]string{"failure", "The cluster must either have no dedicated worker nodes or at least three. Add or remove hosts, or change their roles configurations to meet the requirement."},
			[2]string{"pending", "Auto-assigning roles for hosts with ODF is allowed only for clusters with exactly three hosts. For other scenarios, please manually assign the host role as either a control plane node or a worker."},
		},
		{
			"AI without workers", "openshift-ai", func(*bench) {}, "openshift-ai-requirements-satisfied",
			[2]string{"failure", "OpenShift AI requires at least 2 worker nodes, but the cluster has 0."}, [2]string{"success", ""},
		},
		{
			"GPUs that are not there", "nvidia-gpu", func(*bench) {}, "nvidia-gpu-requirements-satisfied",
			[2]string{"failure", "The NVIDIA GPU operator requires at least one supported NVIDIA GPU, but there is none in the discovered hosts."}, [2]string{"success", ""},
		},
		{
			"local volumes without a disk", "lvm", func(b *bench) { b.disks(1) }, "lvm-requirements-satisfied",
			[2]string{"success", ""}, [2]string{"failure", "Logical Volume Manager requires at least one non-installation HDD/SSD disk on the host"},
		},
		{
			"virtual machines on too few cores", "cnv", func(b *bench) { b.machines[0].cpus = 1 }, "cnv-requirements-satisfied",
			[2]string{"success", ""}, [2]string{"failure", "Insufficient CPU to deploy OpenShift Virtualization. Required CPU count is 2 but found 1 "},
		},
		{
			"virtual machines on hosts without a role", "cnv", func(b *bench) { b.boot().silent = true }, "cnv-requirements-satisfied",
			[2]string{"success", ""}, [2]string{"failure", "All host roles must be assigned to enable OpenShift Virtualization"},
		},
		{"one that needs nothing", "metallb", func(*bench) {}, "metallb-requirements-satisfied", [2]string{"success", ""}, [2]string{"success", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := compact(t, 3)
			tc.change(b)
			b.must("PATCH", "/clusters/"+b.cluster, fields{"olm_operators": []fields{{"name": tc.operator}}})
			b.pass(time.Minute)
			if got := outcomes(t, b.get())[tc.id]; got != tc.cluster {
				t.Errorf("cluster: %q", got)
			}
			if got := outcomes(t, b.machines[0].get())[tc.id]; got != tc.host {
				t.Errorf("host: %q", got)
			}
		})
	}
}

// memory gives every machine so much of it, in GiB.
func (b *bench) memory(gib int) {
	for _, m := range b.machines {
		m.unclean = func(inventory map[string]any) {
			inventory["memory"] = fields{"physical_bytes": gib << 30, "usable_bytes": gib << 30}
		}
	}
}

// disks leaves every machine its first n disks.
func (b *bench) disks(n int) {
	for _, m := range b.machines {
		m.unclean = func(inventory map[string]any) { inventory["disks"] = inventory["disks"].([]fields)[:n] }
	}
}

// TestOperatorsTaken asks for every operator that the service lists, and for its
// bundles.
func TestOperatorsTaken(t *testing.T) {
	b := newBench(t, nil)
	list := model.StringList(b.must("GET", "/supported-operators", nil).text)
	if len(list) != 28 {
		t.Errorf("%d operators", len(list))
	}
	for _, name := range list {
		b.make(fields{"olm_operators": []fields{{"name": name}}})
		if got := operatorsOf(b.get()); len(got) == 0 || got[0] != name {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, tc := range []struct {
		extra fields
		want  int
	}{
		{fields{"olm_operators": []fields{{"name": "cnv"}}}, 1},
		{fields{"olm_operators": []fields{{"name": "openshift-ai"}}}, 1},
		{fields{"olm_operators": []fields{{"name": "openshift-ai"}}, "control_plane_count": 1, "high_availability_mode": "None"}, 2},
		{fields{"operator_bundles": []fields{{"id": "virtualization"}}}, 13},
	} {
		b.make(tc.extra)
		if got := operatorsOf(b.get()); len(got) != tc.want {
			t.Errorf("%v brings %v", tc.extra, got)
		}
	}
}

// TestLocalVolumesAskNothingOfMastersWithWorkers since the volumes are on those.
func TestLocalVolumesAskNothingOfMastersWithWorkers(t *testing.T) {
	for hosts, want := range map[int]string{
		3: "Require at least 5 CPU cores for master role, found only 4",
		5: "Sufficient CPU cores for role master",
	} {
		b := madeBench(t, fields{"olm_operators": []fields{{"name": "lvm"}}})
		for i := range hosts {
			m := b.boot()
			role := model.RoleMaster
			if i >= 3 {
				role = model.RoleWorker
			}
			m.cpus = 4
			b.must("PATCH", m.path(), fields{"host_role": role})
		}
		b.pass(30 * time.Second)
		if got := outcomes(t, b.machines[0].get())["has-cpu-cores-for-role"][1]; got != want {
			t.Errorf("%d hosts: %s", hosts, got)
		}
	}
}
