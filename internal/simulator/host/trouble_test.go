package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"
)

// last is the output of the latest reply of a type of the machine at index.
func (o outcome) last(t *testing.T, list []Machine, index int, stepType models.StepType, into any) {
	t.Helper()
	h := o.fake.hosts[list[index].UUID]
	if h == nil || len(h.replies[stepType]) == 0 {
		t.Fatalf("machine %d never answered %s", index, stepType)
	}
	replies := h.replies[stepType]
	if err := json.Unmarshal([]byte(replies[len(replies)-1].Output), into); err != nil {
		t.Fatal(err)
	}
}

func TestNeverBoot(t *testing.T) {
	list := machines(t, 3)
	out := play(t, newFake(t, 3, 3), list, "  - {match: {name: host-1}, do: never-boot}\n", 2*time.Hour)
	if out.fake.hosts[list[1].UUID] != nil || len(out.fake.hosts) != 2 {
		t.Errorf("%d hosts registered, host-1 among them: %t", len(out.fake.hosts), out.fake.hosts[list[1].UUID] != nil)
	}
	out = play(t, newFake(t, 3, 3), list, "  - {match: {name: host-1}, do: never-boot, args: {for: 30m}}\n", 5*time.Hour)
	out.wantInstalled(t, 75*time.Minute, 100*time.Minute)
}

func TestTroubleInWhatAMachineReports(t *testing.T) {
	list := machines(t, 2)
	list[1].Role = "worker"
	script := `
  - {match: {index: 0}, do: inventory, args: {cpus: 2, memory: 4GiB, disk: 20GB, patch: {tpm_version: null, system_vendor: {virtual: true}}}}
  - {match: {role: worker, index: 0}, do: hostname}
  - {match: {role: worker}, do: network, args: {subnet: 10.9.0.0/24}}
  - {match: {name: host-0}, do: unreachable-ntp}
  - {match: {mac: "` + list[0].NICs[0].MAC + `"}, do: slow-disk, args: {sync: 55ms}}
  - {match: {index: 0}, do: image-pull-failure, args: {image: release}}
`
	fake := newFake(t, 2, 2)
	out := play(t, fake, list, script, 30*time.Minute)
	var first, second models.Inventory
	out.last(t, list, 0, models.StepTypeInventory, &first)
	out.last(t, list, 1, models.StepTypeInventory, &second)
	if first.CPU.Count != 2 || first.Memory.PhysicalBytes != 4<<30 || first.Disks[0].SizeBytes != 20e9 || first.TpmVersion != "" || !first.SystemVendor.Virtual {
		t.Errorf("patched inventory: %+v", first)
	}
	if second.Hostname != "localhost" || second.Interfaces[0].IPV4Addresses[0] != "10.9.0.11/24" || second.Routes[0].Gateway != "10.9.0.1" {
		t.Errorf("inventory of the worker: %+v", second)
	}
	var ntp models.NtpSynchronizationResponse
	out.last(t, list, 0, models.StepTypeNtpSynchronizer, &ntp)
	if ntp.NtpSources[0].SourceState != "unreachable" {
		t.Errorf("time sources: %+v", ntp)
	}
	var speed struct {
		Sync int64 `json:"io_sync_duration"`
	}
	out.last(t, list, 0, models.StepTypeInstallationDiskSpeedCheck, &speed)
	if speed.Sync != 55 {
		t.Errorf("disk syncs in %d ms", speed.Sync)
	}
	var images struct {
		Images []models.ContainerImageAvailability `json:"images"`
	}
	out.last(t, list, 0, models.StepTypeContainerImageAvailability, &images)
	if images.Images[0].Result != "failure" || images.Images[1].Result != "success" {
		t.Errorf("images: %+v", images)
	}
	out.last(t, list, 1, models.StepTypeContainerImageAvailability, &images)
	if images.Images[0].Result != "success" {
		t.Errorf("the other machine's images: %+v", images)
	}
}

func TestTroubleThatPassesIsReportedAgain(t *testing.T) {
	list := machines(t, 1)
	fake := newFake(t, 3, 3) // never complete, so it goes on asking
	out := play(t, fake, list, "  - {do: hostname, args: {name: localhost, for: 20m}}\n", 40*time.Minute)
	replies := fake.hosts[list[0].UUID].replies[models.StepTypeInventory]
	var names []string
	for _, r := range replies {
		var inv models.Inventory
		if err := json.Unmarshal([]byte(r.Output), &inv); err != nil {
			t.Fatal(err)
		}
		names = append(names, inv.Hostname)
	}
	if !slices.Equal(names, []string{"localhost", "host-0"}) {
		t.Errorf("reported names %v; log %v", names, out.log)
	}
}

func TestFailedInstallerEndsTheHost(t *testing.T) {
	list := machines(t, 3)
	fake := newFake(t, 3, 3)
	out := play(t, fake, list, "  - {match: {index: 1}, at: {stage: Writing image to disk}, do: fail, args: {reason: the disk died}}\n", 3*time.Hour)
	h := fake.hosts[list[1].UUID]
	if h.failure != "the disk died" || h.stage != models.HostStageWritingImageToDisk {
		t.Errorf("failed with %q at %q", h.failure, h.stage)
	}
	if fake.status != "error" {
		t.Errorf("the cluster is %s", fake.status)
	}
	if r := h.replies[models.StepTypeInstall]; len(r) != 1 || r[0].ExitCode != 1 {
		t.Errorf("replies to install: %+v", r)
	}
	if len(h.replies[models.StepTypeLogsGather]) == 0 || h.logs != 1 {
		t.Errorf("gathered logs %d times, sent them %d times", len(h.replies[models.StepTypeLogsGather]), h.logs)
	}
	if !errors.Is(out.err, context.DeadlineExceeded) {
		t.Errorf("the fleet ended by itself: %v", out.err)
	}
}

func TestResetMachineIsBootedFromTheISOAgain(t *testing.T) {
	list := machines(t, 1)
	fake := newFake(t, 1, 1)
	polls := 0
	fake.refuse = func(method, path string) int {
		// The person at the service resets the cluster once it has failed.
		if fake.status == "error" && strings.HasSuffix(path, "/instructions") && method == http.MethodGet {
			if polls++; polls == 3 {
				fake.status = "insufficient"
				h := fake.hosts[list[0].UUID]
				h.status, h.replies = "resetting-pending-user-action", map[models.StepType][]models.StepReply{}
			}
		}
		return 0
	}
	out := play(t, fake, list, "  - {at: {stage: Waiting for bootkube}, do: fail}\n", 6*time.Hour)
	out.wantInstalled(t, time.Hour, 2*time.Hour)
	if n := fake.hosts[list[0].UUID].registrations; n != 2 {
		t.Errorf("registered %d times", n)
	}
}

func TestStallHoldsAStage(t *testing.T) {
	list := machines(t, 1)
	fake := newFake(t, 1, 1)
	play(t, fake, list, "  - {at: {stage: Waiting for bootkube}, do: stall}\n", 6*time.Hour)
	h := fake.hosts[list[0].UUID]
	if h.stage != models.HostStageWaitingForBootkube || h.polls < 300 {
		t.Errorf("is at %q after %d polls", h.stage, h.polls)
	}
	out := play(t, newFake(t, 1, 1), list, "  - {at: {stage: Waiting for bootkube}, do: stall, args: {for: 40m}}\n", 6*time.Hour)
	out.wantInstalled(t, 80*time.Minute, 110*time.Minute)
}

func TestStallOfANodeThatJoins(t *testing.T) {
	list := machines(t, 3)
	fake := newFake(t, 3, 3)
	play(t, fake, list, "  - {match: {index: 2}, at: {stage: Configuring}, do: stall}\n", 3*time.Hour)
	if h := fake.hosts[list[2].UUID]; h.stage != models.HostStageConfiguring {
		t.Errorf("is at %q", h.stage)
	}
	if fake.status != "installing" {
		t.Errorf("the cluster is %s", fake.status)
	}
}

func TestBootISOUntilTheOrderIsPutRight(t *testing.T) {
	list := machines(t, 3)
	fake := newFake(t, 3, 3)
	seen := false
	fake.refuse = func(string, string) int {
		for _, h := range fake.hosts {
			seen = seen || h.status == "installing-pending-user-action"
		}
		return 0
	}
	out := play(t, fake, list, "  - {match: {index: 1}, at: {stage: Rebooting}, do: boot-iso, args: {for: 15m}}\n", 6*time.Hour)
	out.wantInstalled(t, 50*time.Minute, 90*time.Minute)
	if !seen || fake.hosts[list[1].UUID].registrations != 2 {
		t.Errorf("never waited for its user, %d registrations", fake.hosts[list[1].UUID].registrations)
	}
	fake = newFake(t, 3, 3)
	play(t, fake, list, "  - {match: {index: 1}, at: {stage: Rebooting}, do: boot-iso}\n", 4*time.Hour)
	if h := fake.hosts[list[1].UUID]; h.status != "installing-pending-user-action" {
		t.Errorf("is %s", h.status)
	}
}

func TestStoppedAgentGoesOnWhenTheTroubleIsOver(t *testing.T) {
	list := machines(t, 1)
	fake := newFake(t, 3, 3)
	play(t, fake, list, "  - {at: {after: 20m}, do: stop-agent}\n", 2*time.Hour)
	if polls := fake.hosts[list[0].UUID].polls; polls > 20 {
		t.Errorf("polled %d times", polls)
	}
	fake = newFake(t, 3, 3)
	play(t, fake, list, "  - {at: {after: 20m}, do: stop-agent, args: {for: 30m}}\n", 2*time.Hour)
	if polls := fake.hosts[list[0].UUID].polls; polls < 70 || polls > 95 {
		t.Errorf("polled %d times", polls)
	}
}

func TestPowerOffAtAStateOfTheService(t *testing.T) {
	list := machines(t, 2)
	fake := newFake(t, 3, 3)
	play(t, fake, list, "  - {match: {index: 1}, at: {state: known}, do: power-off}\n", 2*time.Hour)
	if polls := fake.hosts[list[1].UUID].polls; polls > 5 {
		t.Errorf("polled %d times", polls)
	}
	if polls := fake.hosts[list[0].UUID].polls; polls < 60 {
		t.Errorf("the other machine polled only %d times", polls)
	}
}

func TestAppear(t *testing.T) {
	list := machines(t, 1)
	fake := newFake(t, 1, 1)
	out := play(t, fake, list, `  - {at: {after: 5m}, do: appear, args: {name: stranger, mac: "52:54:00:ff:00:01"}}`+"\n", 5*time.Hour)
	if len(fake.hosts) != 2 {
		t.Fatalf("%d hosts", len(fake.hosts))
	}
	stranger := fake.hosts[fake.order[1]]
	if len(stranger.replies[models.StepTypeInventory]) > 0 && !strings.Contains(stranger.replies[models.StepTypeInventory][0].Output, "52:54:00:ff:00:01") {
		t.Errorf("inventory of the stranger: %s", stranger.replies[models.StepTypeInventory][0].Output)
	}
	if fake.status == "installed" && out.err != nil {
		t.Errorf("the fleet waits for the stranger: %v", out.err)
	}
	if _, err := New(Config{
		ServiceURL: "http://s.example.com", Clock: testClock(), InfraEnvID: fakeInfraEnv, Scenario: parse(t, "  - {at: {state: known}, do: appear}\n"),
	}); err == nil {
		t.Error("a machine that nobody knows yet cannot have a state")
	}
}

func TestOperatorsTimeout(t *testing.T) {
	list := machines(t, 1)
	fake := newFake(t, 1, 1)
	play(t, fake, list, "  - {do: operators-timeout, args: {reason: console is ill}}\n", 8*time.Hour)
	if fake.status != "error" || fake.operators["console"] != "progressing" || fake.completion == nil {
		t.Fatalf("cluster %s, completion %+v, operators %v", fake.status, fake.completion, fake.operators)
	}
	if report := fake.completion.Data["CLUSTER_OPERATORS_REPORT"]; fake.completion.Success || len(report) != 1 || report[0].StatusInfo != "console is ill" {
		t.Errorf("completion %+v", fake.completion)
	}
	out := play(t, newFake(t, 1, 1), list, "  - {do: operators-timeout, args: {for: 30m}}\n", 5*time.Hour)
	out.wantInstalled(t, time.Hour, 100*time.Minute)
	fake = newFake(t, 1, 1)
	fake.operators["lvm"] = ""
	play(t, fake, list, "  - {do: operators-timeout, args: {operators: [lvm]}}\n", 5*time.Hour)
	if fake.status != "installed" || fake.operators["lvm"] != "failed" {
		t.Errorf("cluster %s, operators %v", fake.status, fake.operators)
	}
}
