package service

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

const encryptionCheck = "disk-encryption-requirements-satisfied"

// encrypted registers a cluster that encrypts the disks of some roles, and two machines.
func encrypted(t *testing.T, settings fields) *bench {
	t.Helper()
	b := newBench(t, nil)
	params := one4("10.0.0.100", "10.0.0.101")
	params["disk_encryption"] = settings
	b.make(params)
	b.boot()
	b.boot()
	return b
}

func tang() fields {
	return fields{"enable_on": "workers", "mode": "tang", "tang_servers": `[{"url":"http://tang.example.com","thumbprint":"x"}]`}
}

// TestEncryptionWaitsForRoles and is part of what any machine must have.
func TestEncryptionWaitsForRoles(t *testing.T) {
	b := encrypted(t, fields{"enable_on": "masters", "mode": "tpmv2"})
	without, mute := b.machines[0], b.machines[1]
	without.unclean = func(inventory map[string]any) { inventory["tpm_version"] = "none" }
	mute.silent = true // so that no role is suggested
	b.pass(30 * time.Second)
	check := func(what string, want [2]string, prefix string) {
		t.Helper()
		got := without.get()
		if diff := cmp.Diff(want, outcomes(t, got)[encryptionCheck]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if info := got["status_info"].(string); !strings.HasPrefix(info, prefix) {
			t.Errorf("%s: %s", what, info)
		}
	}
	check("without a role", [2]string{model.Pending, "Missing role assignment"}, model.InfoMinimumHardware)
	b.must("PATCH", without.path(), fields{"host_role": "master"})
	b.pass(10 * time.Second)
	check("without a TPM", [2]string{model.Failed, "TPM version could not be found, make sure TPM is enabled in host's BIOS"}, model.InfoMinimumHardware)
	b.must("PATCH", without.path(), fields{"host_role": "worker"})
	b.pass(10 * time.Second)
	check("as a worker, whose disk is not encrypted", [2]string{}, model.InfoNotInstallable)
	needs := b.must("GET", "/clusters/"+b.cluster+"/preflight-requirements", nil).text
	if strings.Count(needs, `"tpm_enabled_in_bios":true`) != 1 {
		t.Errorf("one role needs a TPM: %s", needs)
	}
}

// TestTangIsAskedForWhereDisksAreEncrypted and its failure is kept.
func TestTangIsAskedForWhereDisksAreEncrypted(t *testing.T) {
	b := encrypted(t, tang())
	b.pass(20 * time.Second)
	m := b.machines[0]
	for _, role := range []string{"master", "worker"} {
		b.must("PATCH", m.path(), fields{"host_role": role})
		text := b.must("GET", m.path()+"/instructions", nil).text
		if got := strings.Contains(text, steps.StepTang); got != (role == model.RoleWorker) {
			t.Errorf("%s is asked to reach the Tang servers: %v", role, got)
		}
	}
	b.must("POST", m.path()+"/instructions", fields{"step_id": "tang-connectivity-check-1", "step_type": steps.StepTang, "exit_code": 1, "error": "no route"})
	b.pass(10 * time.Second)
	got := m.get()
	want := [2]string{model.Failed, "Could not validate that all Tang servers are reachable and working: no route"}
	if diff := cmp.Diff(want, outcomes(t, got)[encryptionCheck]); diff != "" || got["tang_connectivity"] != "no route" {
		t.Errorf("tang_connectivity %v (-want +got):\n%s", got["tang_connectivity"], diff)
	}
}
