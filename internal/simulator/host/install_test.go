package host

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

// machines makes the first n of seed 1.
func machines(t *testing.T, n int) []Machine {
	t.Helper()
	var all []Machine
	for i := range n {
		m, err := NewMachine(1, i, NetworkFor(n))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// outcome is how a run of the fleet went.
type outcome struct {
	fake *fakeService
	took time.Duration
	err  error
	log  []string
}

// play runs the fleet against the fake until it ends, or for at most the given
// time, in a bubble where time passes at once.
func play(t *testing.T, fake *fakeService, list []Machine, script string, limit time.Duration) outcome {
	t.Helper()
	out := outcome{fake: fake}
	inBubble(t, fake, limit, func(ctx context.Context, t *testing.T, cfg Config) {
		cfg.InfraEnvID, cfg.Machines = fakeInfraEnv, list
		if fake.day2 {
			cfg.Boot = Day2
		}
		started := time.Now()
		cfg.Logf = func(format string, args ...any) {
			fake.mu.Lock()
			defer fake.mu.Unlock()
			out.log = append(out.log, fmt.Sprintf("%8s %s", time.Since(started).Round(time.Second), fmt.Sprintf(format, args...)))
		}
		if script != "" {
			s, err := scenario.Parse("test.yaml", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nspec:\n  hosts:\n"+script))
			if err != nil {
				t.Fatal(err)
			}
			cfg.Scenario = s
		}
		out.err = Run(ctx, cfg)
		out.took = time.Since(started)
	})
	t.Cleanup(func() {
		if t.Failed() || testing.Verbose() {
			for _, line := range out.log {
				t.Log(line)
			}
		}
	})
	return out
}

func TestSingleNodeInstalls(t *testing.T) {
	out := play(t, newFake(t, 1, 1), machines(t, 1), "", 5*time.Hour)
	out.wantInstalled(t, 40*time.Minute, 65*time.Minute)
	h := out.fake.hosts[out.fake.order[0]]
	want := []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWaitingForBootkube, models.HostStageWritingImageToDisk, models.HostStageRebooting, models.HostStageJoined, models.HostStageDone}
	if diff := cmp.Diff(want, h.stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func TestCompactClusterInstalls(t *testing.T) {
	out := play(t, newFake(t, 3, 3), machines(t, 3), "", 5*time.Hour)
	out.wantInstalled(t, 45*time.Minute, 65*time.Minute)
	for i, id := range out.fake.order {
		h := out.fake.hosts[id]
		want := []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWritingImageToDisk, models.HostStageRebooting, models.HostStageConfiguring, models.HostStageJoined, models.HostStageDone}
		if i == 0 {
			want = slices.Insert(want, 3, models.HostStageWaitingForControlPlane, models.HostStageWaitingForBootkube, models.HostStageWaitingForController)
		}
		if diff := cmp.Diff(want, h.stages); diff != "" {
			t.Errorf("stages of host %d (-want +got):\n%s", i, diff)
		}
		if h.percents < 15 {
			t.Errorf("host %d reported %d percentages", i, h.percents)
		}
		if h.logs == 0 {
			t.Errorf("host %d sent no logs", i)
		}
	}
}

// TestReportsLikeTheInstaller compares the reports of a bootstrap host, of a master and of a single node with those of the
// real installer 880389d4.
func TestReportsLikeTheInstaller(t *testing.T) {
	for nodes, hosts := range map[int][][]string{
		3: {
			{
				"Starting installation bootstrap", "GET bootstrap.ign", "Installing master", "GET ignition", "Writing image to disk",
				"Waiting for control plane Waiting for bootstrap node preparation",
				"Waiting for control plane Waiting for masters to join bootstrap control plane",
				"Waiting for bootkube", "Waiting for bootkube waiting for ETCD bootstrap to be complete",
				"Waiting for controller waiting for controller pod ready event", "Rebooting", "Configuring", "Joined", "Done",
			},
			{"Starting installation master", "Installing master", "GET ignition", "Writing image to disk", "Rebooting", "Configuring", "Joined", "Done"},
		},
		1: {{
			"Starting installation bootstrap", "Installing bootstrap", "GET bootstrap.ign", "Waiting for bootkube", "Writing image to disk",
			"Rebooting", "Joined", "Done",
		}},
	} {
		out := play(t, newFake(t, nodes, nodes), machines(t, nodes), "", 5*time.Hour)
		for i, want := range hosts {
			if diff := cmp.Diff(want, out.fake.hosts[out.fake.order[i]].told); diff != "" {
				t.Errorf("host %d of %d (-want +got):\n%s", i, nodes, diff)
			}
		}
	}
}

func TestWorkersInstallAfterTheControlPlane(t *testing.T) {
	fake := newFake(t, 3, 5)
	fake.operators["lvm"] = ""
	out := play(t, fake, machines(t, 5), "", 5*time.Hour)
	out.wantInstalled(t, 45*time.Minute, 80*time.Minute)
	for _, id := range fake.order[3:] {
		want := []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWritingImageToDisk, models.HostStageWaitingForControlPlane, models.HostStageRebooting, models.HostStageWaitingForIgnition, models.HostStageConfiguring, models.HostStageJoined, models.HostStageDone}
		if diff := cmp.Diff(want, fake.hosts[id].stages); diff != "" {
			t.Errorf("stages of a worker (-want +got):\n%s", diff)
		}
	}
	want := []models.FinalizingStage{models.FinalizingStageWaitingForClusterOperators, models.FinalizingStageAddingRouterCa, models.FinalizingStageWaitingForOlmOperatorsCsvInitialization, models.FinalizingStageApplyingOlmManifests, models.FinalizingStageWaitingForOlmOperatorsCsv, models.FinalizingStageDone}
	if diff := cmp.Diff(want, fake.finalizing); diff != "" {
		t.Errorf("finalizing stages (-want +got):\n%s", diff)
	}
	if fake.operators["lvm"] != "available" {
		t.Errorf("operator lvm is %q", fake.operators["lvm"])
	}
}

// wantInstalled checks an installation without trouble, within a time.
func (o outcome) wantInstalled(t *testing.T, least, most time.Duration) {
	t.Helper()
	if o.err != nil {
		t.Fatalf("the fleet did not come to an end: %v", o.err)
	}
	if o.fake.status != "installed" {
		t.Fatalf("the cluster is %s", o.fake.status)
	}

	if o.took < least || o.took > most {
		t.Errorf("took %s, not between %s and %s", o.took, least, most)
	}
	if o.fake.operators["console"] != "available" {
		t.Errorf("console is %q", o.fake.operators["console"])
	}
	block, _ := pem.Decode([]byte(o.fake.ingressCert))
	if block == nil {
		t.Fatalf("ingress certificate is no PEM: %q", o.fake.ingressCert)
	}
	if cert, err := x509.ParseCertificate(block.Bytes); err != nil || !cert.IsCA {
		t.Errorf("ingress certificate: %v", err)
	}
	for id, h := range o.fake.hosts {
		if n := len(h.replies[models.StepTypeInventory]); n > 2 {
			t.Errorf("host %s sent its inventory %d times", id, n)
		}
		if n := len(h.replies[models.StepTypeConnectivityCheck]); n > 1 {
			t.Errorf("host %s repeated its connectivity %d times", id, n)
		}
	}
}

func TestTheSameSeedMakesTheSameRun(t *testing.T) {
	a := play(t, newFake(t, 1, 1), machines(t, 1), "", 5*time.Hour)
	b := play(t, newFake(t, 1, 1), machines(t, 1), "", 5*time.Hour)
	if a.took != b.took {
		t.Errorf("took %s once, %s again", a.took, b.took)
	}
}

func TestFleetEndsWithItsContext(t *testing.T) {
	fake := newFake(t, 3, 3) // waits for a third machine
	out := play(t, fake, machines(t, 2), "", time.Hour)
	if !errors.Is(out.err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", out.err)
	}
}
