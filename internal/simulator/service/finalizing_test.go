package service

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// finalizing is a bench with one host, which is installed, and with the given operator.
func finalizing(t *testing.T, olm ...fields) *bench {
	t.Helper()
	b := madeBench(t, fields{"control_plane_count": 1, "olm_operators": olm})
	m := b.boot()
	b.install()
	m.walk(model.StageDone)
	b.until(model.ClusterFinalizing)
	return b
}

// later lets time pass, after which the cluster is looked at once.
func (b *bench) later(span time.Duration) {
	b.clock.at = b.clock.at.Add(span)
	b.s.tick()
}

func (b *bench) reports(stage string) {
	b.t.Helper()
	b.must("PUT", "/clusters/"+b.cluster+"/progress", fields{"finalizing_stage": stage})
}

// TestVerdictDecidesNothing lets a controller say that it failed, or not, whenever it
// likes: the operators decide.
func TestVerdictDecidesNothing(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	verdict := func(success bool) {
		t.Helper()
		before := b.get()
		a := b.must("POST", "/clusters/"+b.cluster+"/actions/complete-installation", fields{"is_success": success, "error_info": "no",
			"data": fields{operatorReport: []fields{{"name": "console", "status": "failed"}, {"name": "dns", "status": "progressing"}}}})
		after := b.get()
		if a.status != 202 || after["status"] != before["status"] || after["status_info"] != before["status_info"] {
			t.Errorf("success %t: %d, from %v to %v: %v", success, a.status, before["status"], after["status"], after["status_info"])
		}
	}
	verdict(false)
	m := b.boot()
	b.install()
	m.walk(model.StageDone)
	b.until(model.ClusterFinalizing)
	path := "/clusters/" + b.cluster
	b.must("POST", path+"/uploads/ingress-cert", model.InString("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
	b.must("PUT", path+"/monitored-operators", fields{"name": "console", "status": "failed", "status_info": "degraded"})
	verdict(true)
	b.pass(time.Minute)
	b.inState(model.ClusterFinalizing)
	verdict(false)
	b.must("PUT", path+"/monitored-operators", fields{"name": "console", "status": "available"})
	b.until(model.ClusterInstalled)
	verdict(false)
	told := b.must("GET", "/events?cluster_id="+b.cluster+"&order=ascending", nil).text
	if n := strings.Count(told, "The following operators are experiencing issues: console\""); n != 3 {
		t.Errorf("%d reports of operators, want one for each failure that was reported", n)
	}
}

// TestFinalizingTakesTooLong is about what time decides.
func TestFinalizingTakesTooLong(t *testing.T) {
	for _, tc := range []struct {
		stage  string
		within time.Duration
		state  string
		info   string
		stays  bool
	}{
		{stage: "", within: 5 * time.Hour, state: model.ClusterError, info: "Cluster installation timeout while finalizing"},
		{stage: model.FinalizingOperator, within: 5 * time.Hour, state: model.ClusterError, info: "Cluster installation timeout while finalizing"},
		{
			stage: "Adding router ca", within: 70 * time.Minute, state: model.ClusterError,
			info: "Cluster finalizing stage 'Adding router ca' has been timed out after timeout duration of 70 minutes",
		},
		{
			stage: "Waiting for OLM operator setup jobs", within: 90 * time.Minute, state: model.ClusterError,
			info: "Cluster finalizing stage 'Waiting for OLM operator setup jobs' has been timed out after timeout duration of 90 minutes",
		},
		{
			stage: "Applying olm manifests", within: 10 * time.Minute, state: model.ClusterFinalizing, stays: true,
			info: "Cluster finalizing stage 'Applying olm manifests' is taking longer than the expected duration (10 minutes). To troubleshoot use kubeconfig or connect to any node using ssh",
		},
		{
			stage: "Waiting for olm operators csv", within: 90 * time.Minute, state: model.ClusterFinalizing, stays: true,
			info: "Cluster finalizing stage 'Waiting for olm operators csv' is taking longer than the expected duration (90 minutes). To troubleshoot use kubeconfig or connect to any node using ssh",
		},
	} {
		t.Run(tc.stage, func(t *testing.T) {
			t.Parallel()
			b := finalizing(t, fields{"name": "lvm"})
			operators := b.s.records.clusters.of(b.cluster).MonitoredOperators
			operators[len(operators)-1].TimeoutSeconds = 90 * 60
			if tc.stage != "" {
				b.reports(tc.stage)
			}
			b.later(tc.within - time.Minute)
			if c := b.get(); c["status"] != model.ClusterFinalizing || c["status_info"] != model.InfoFinalizing {
				t.Fatalf("before its time %v: %v", c["status"], c["status_info"])
			}
			b.later(2 * time.Minute)
			c := b.get()
			if c["status"] != tc.state || c["status_info"] != tc.info {
				t.Errorf("%v: %v", c["status"], c["status_info"])
			}
			timedOut := c["progress"].(map[string]any)["finalizing_stage_timed_out"] == true
			told := strings.Count(b.must("GET", "/events?cluster_id="+b.cluster, nil).text, "finalizing_stage_timed_out")
			if timedOut != tc.stays || told != one(tc.stays) {
				t.Errorf("marked %t, told %d times", timedOut, told)
			}
			if tc.stays {
				b.later(5 * time.Hour)
			}
			b.inState(model.ClusterError)
		})
	}
}

// worstBoot is a finalizing cluster with a worker that has booted the wrong disk: the
// cluster waits for a user.
func worstBoot(t *testing.T) (*bench, *machine) {
	t.Helper()
	b := installing(t, 4)
	var worker *machine
	for _, m := range b.machines {
		if m.get()["role"] == model.RoleWorker {
			worker = m
			continue
		}
		m.walk(model.StageDone)
	}
	b.until(model.ClusterFinalizing)
	b.reports(model.FinalizingOperator)
	worker.walk(model.StageRebooting)
	worker.silent = true
	b.later(41 * time.Minute)
	b.later(10 * time.Second)
	if host, got := worker.state(), b.status(); host != model.HostPendingUser || got != model.ClusterPendingUser {
		t.Fatalf("worker %s, cluster %s", host, got)
	}
	return b, worker
}

// TestFinalizingWaitsForUser has a user come in time, after which the limits begin anew.
func TestFinalizingWaitsForUser(t *testing.T) {
	b, worker := worstBoot(t)
	b.later(59 * time.Minute)
	if a := worker.stage(model.StageIgnition, ""); a.status != 200 {
		t.Fatal(a.text)
	}
	b.later(10 * time.Second)
	if c := b.get(); c["status"] != model.ClusterFinalizing {
		t.Fatalf("%v: %v", c["status"], c["status_info"])
	}
	b.later(4*time.Hour + 59*time.Minute)
	b.inState(model.ClusterFinalizing)
	b.later(2 * time.Minute)
	b.inState(model.ClusterError)
}

// TestFinalizingWithoutWorker has no user come: the cluster does without the worker.
func TestFinalizingWithoutWorker(t *testing.T) {
	b, worker := worstBoot(t)
	b.later(61 * time.Minute)
	if h := worker.get(); h["status"] != model.HostError || h["status_info"] != model.InfoNotBooted {
		t.Errorf("%v: %v", h["status"], h["status_info"])
	}
	b.finalize()
	if got := b.get()["status_info"]; got != model.InfoWorkersMissing {
		t.Errorf("status_info %q", got)
	}
}

// TestFinalizingPercentage follows the operators, not the stages, and never goes back.
func TestFinalizingPercentage(t *testing.T) {
	b := finalizing(t, fields{"name": "lvm"})
	look := func(want, total float64) {
		t.Helper()
		p := b.get()["progress"].(map[string]any)
		if got, _ := p["finalizing_stage_percentage"].(float64); got != want || p["total_percentage"] != total {
			t.Errorf("%v %%, %v in all, want %v and %v", got, p["total_percentage"], want, total)
		}
	}
	b.reports(model.FinalizingDone)
	look(0, 80)
	operators := len(b.s.records.clusters.of(b.cluster).MonitoredOperators)
	b.must("PUT", "/clusters/"+b.cluster+"/monitored-operators", fields{"name": "console", "status": "available"})
	share := float64(100 / operators)
	look(share, 80+float64(int(share*15/100)))
	b.must("PUT", "/clusters/"+b.cluster+"/monitored-operators", fields{"name": "console", "status": "failed"})
	look(share, 80+float64(int(share*15/100)))
}
