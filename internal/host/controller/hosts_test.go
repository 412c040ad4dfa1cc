//go:build linux

package controller

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// TestRequests: first requests and serving requests of the hosts of the cluster are approved, and no others. Each that is not
// gets one event, with the reason.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3", "w-4", "m-5", "m-6", "m-7")
		w.service.setStage("w-4", models.HostStageWritingImageToDisk)
		w.node("m-1", "10.0.0.1", true)
		w.request("first", "m-2", nil)
		w.request("serving", "m-1", nil, "10.0.0.1")
		w.request("foreign", "evil", nil)
		w.request("early", "w-4", nil)
		w.request("other-address", "m-1", nil, "10.0.0.77")
		w.request("neighbour", "m-1", nil, "10.0.0.2")
		w.request("vip", "m-1", nil, "10.0.0.100")
		w.node("m-5", "10.0.0.55", true) // by DHCP it had 10.0.0.5 before
		w.request("moved", "m-5", nil, "10.0.0.55")
		w.node("m-6", "192.168.0.6", true)
		w.request("away", "m-6", nil, "192.168.0.6")
		w.node("m-7", "10.0.0.5", true)
		w.request("stolen", "m-7", nil, "10.0.0.5")
		w.request("taken", "m-1", nil)
		later(2*time.Minute, func() { w.service.setStage("w-4", models.HostStageRebooting) })
		later(5*time.Minute, func() {
			w.request("rival-1", "m-3", nil)
			w.request("rival-2", "m-3", nil)
		})
		later(10*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		var got []string
		for _, name := range w.api.Names("certificates.k8s.io", "certificatesigningrequests") {
			if w.approved(name) {
				got = append(got, name)
			}
		}
		check.Slice(t, got, []string{"early", "first", "moved", "serving"})
		reasons := map[string][]string{}
		for _, name := range w.api.Names("", "events") {
			if e := w.api.Get("", "events", "default", name); e != nil {
				about := hosttest.Text(e, "involvedObject", "name")
				reasons[about] = append(reasons[about], hosttest.Text(e, "reason"))
				check.Contains(t, hosttest.Text(e, "message"), "oc adm certificate approve "+about)
			}
		}
		check.Same(t, reasons, map[string][]string{
			"foreign": {"UnknownName"}, "early": {"HostNotInstalled"}, "other-address": {"UnknownAddress"}, "neighbour": {"ForeignAddress"},
			"vip": {"VirtualAddress"}, "taken": {"NodeExists"}, "rival-1": {"RivalKeys"}, "rival-2": {"RivalKeys"},
			"away": {"UnknownAddress"}, "stolen": {"ForeignAddress"},
		})
		approval := w.api.Get("certificates.k8s.io", "certificatesigningrequests", "", "first")["status"].(hosttest.Object)["conditions"].([]any)[0].(hosttest.Object)
		check.Equal(t, approval["reason"], any("ApprovedByOaictl"))
	})
}

// TestFloodOfRequests: many requests of a stranger delay no host, and there are few events about them.
func TestFloodOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2")
		for i := range 250 {
			w.request(fmt.Sprintf("flood-%03d", i), fmt.Sprintf("evil-%d", i), nil)
		}
		w.request("good", "m-2", nil)
		later(8*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, w.approved("good"), true)
		if n := len(w.api.Names("", "events")); n > noticesInAll+1 {
			t.Errorf("%d events", n)
		}
		check.Contains(t, w.text(), "too many certificate requests are pending")
	})
}

// TestLabels: workers of another pool wait for their labels, and the pool of workers is paused meanwhile.
func TestLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "w-2")
		worker := w.service.host("w-2")
		worker.Role, worker.MachineConfigPoolName, worker.NodeLabels = models.HostRoleWorker, "infra", `{"node-role.kubernetes.io/infra":"","zone":"a"}`
		w.api.Put("machineconfiguration.openshift.io", "machineconfigpools", hosttest.Object{"metadata": hosttest.Object{"name": "worker"}, "spec": hosttest.Object{"paused": false}})
		w.node("m-1", "10.0.0.1", true)
		paused := func() any {
			return w.api.Get("machineconfiguration.openshift.io", "machineconfigpools", "", "worker")["spec"].(hosttest.Object)["paused"]
		}
		later(2*time.Minute, func() {
			check.Equal(t, paused(), any(true))
			w.node("w-2", "10.0.0.2", true)
		})
		w.operator("console", "True", "False", "All is well")
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, paused(), any(false))
		labels := w.api.Get("", "nodes", "", "w-2")["metadata"].(hosttest.Object)["labels"].(hosttest.Object)
		check.Equal(t, labels["zone"], any("a"))
	})
}

// TestUntaint: on vSphere the nodes wait for a cloud provider that has no credentials.
func TestUntaint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.service.cluster.Platform.Type = ptr(models.PlatformTypeVsphere)
		w.node("m-1", "10.0.0.1", false, hosttest.Object{"key": "a", "effect": "NoSchedule"},
			hosttest.Object{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"})
		later(3*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		taints := w.api.Get("", "nodes", "", "m-1")["spec"].(hosttest.Object)["taints"].([]any)
		check.Equal(t, len(taints), 1)
	})
}

// TestBareMetalHosts: with provisioning and without.
func TestBareMetalHosts(t *testing.T) {
	for _, provisions := range []bool{true, false} {
		t.Run(fmt.Sprint("provisions ", provisions), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "m-1")
				bareMetal(w, provisions)
				later(10*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
				check.Equal(t, w.run(t.Context()), ExitDone)
				master := w.api.Get("metal3.io", "baremetalhosts", "openshift-machine-api", "m-1")
				worker := w.api.Get("metal3.io", "baremetalhosts", "openshift-machine-api", "w-2")
				check.Equal(t, worker["spec"].(hosttest.Object)["consumerRef"].(hosttest.Object)["name"], any("machine-w"))
				annotations, _ := master["metadata"].(hosttest.Object)["annotations"].(hosttest.Object)
				check.Equal(t, annotations["keep"], any("me"))
				if provisions {
					check.Equal(t, master["spec"].(hosttest.Object)["externallyProvisioned"], any(true))
					check.Equal(t, annotations[pausedAnnotation], nil)
					return
				}
				check.Equal(t, annotations[statusAnnotation], nil)
				status := master["status"].(hosttest.Object)
				check.Equal(t, hosttest.Text(status, "hardware", "hostname"), "m-1")
				check.Equal(t, status["poweredOn"], any(true))
				check.Equal(t, status["errorCount"], any(float64(0)))
				check.Equal(t, hosttest.Text(status, "lastUpdated"), w.boot.UTC().Format(time.RFC3339))
			})
		})
	}
}

// bareMetal makes a world on baremetal: a master and a worker, for which a Machine comes later.
func bareMetal(w *world, provisions bool) {
	w.service.cluster.Platform.Type = ptr(models.PlatformTypeBaremetal)
	if provisions {
		w.api.Put("metal3.io", "provisionings", hosttest.Object{"metadata": hosttest.Object{"name": "provisioning-configuration"}})
	}
	w.api.Put("metal3.io", "baremetalhosts", hosttest.Object{
		"metadata": hosttest.Object{"name": "m-1", "namespace": "openshift-machine-api", "annotations": hosttest.Object{
			"keep": "me", pausedAnnotation: "", statusAnnotation: `{"hardware":{"hostname":"m-1"},"poweredOn":true}`,
		}}, "spec": hosttest.Object{"consumerRef": hosttest.Object{"name": "machine-m"}},
	})
	w.api.Put("metal3.io", "baremetalhosts", hosttest.Object{
		"metadata": hosttest.Object{"name": "w-2", "namespace": "openshift-machine-api"}, "spec": hosttest.Object{}, "status": hosttest.Object{},
	})
	machine := func(name, role string) {
		w.api.Put("machine.openshift.io", "machines", hosttest.Object{"metadata": hosttest.Object{
			"name": name, "namespace": "openshift-machine-api", "labels": hosttest.Object{"machine.openshift.io/cluster-api-machine-role": role},
		}})
	}
	machine("machine-m", "master")
	later(3*time.Minute, func() { machine("machine-w", "worker") })
}

// wtmp is a file of records of these types.
func wtmp(types ...uint16) string {
	var out []byte
	for _, kind := range types {
		out = append(binary.LittleEndian.AppendUint16(out, kind), make([]byte, recordSize-2)...)
	}
	return string(out)
}

// TestReboots: the service is told how often each node was booted.
func TestReboots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2")
		w.env["NOTIFY_NUM_REBOOTS"] = "true"
		w.node("m-1", "10.0.0.1", true)
		w.node("m-2", "10.0.0.2", true)
		w.operator("console", "True", "False", "All is well")
		later(time.Minute, func() {
			w.api.Mu.Lock()
			w.api.Logs["m-1/wtmp"] = wtmp(2, 1, 7, 2, 8, 2)
			w.api.Mu.Unlock()
		})
		check.Equal(t, w.run(t.Context()), ExitDone)
		calls := strings.Join(w.changes(), "\n")
		check.Contains(t, calls, "TriggerEvent reboots_for_node: Node m-1 has been rebooted 3 times before completing installation")
		if strings.Contains(calls, "Node m-2 has been") {
			t.Error("a number was invented")
		}
		check.Contains(t, w.text(), "could not report how often a node was rebooted")
		for _, r := range w.api.Requests {
			if strings.HasPrefix(r.Resource, "nodes/proxy") {
				t.Errorf("the controller itself asked to %s", r)
			}
		}
	})
}

// TestHostsInError: once the remaining hosts are in error, nodes are followed no longer.
func TestHostsInError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2")
		w.node("m-1", "10.0.0.1", true)
		later(2*time.Minute, func() {
			w.service.mu.Lock()
			w.service.host("m-2").Status = ptr(models.HostStatusError)
			w.service.mu.Unlock()
		})
		later(10*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Contains(t, w.text(), "the remaining hosts, 1, are in error")
	})
}

// TestOddHosts: what the service sends that cannot be read is logged, escaped, and the other hosts go on.
func TestOddHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2")
		w.service.host("m-2").Inventory = "\x1b[31m{"
		w.service.cluster.Hosts = append(w.service.cluster.Hosts, &models.Host{Status: ptr("known")})
		w.node("m-1", "10.0.0.1", true)
		w.node("m-\x1b[2J", "10.0.0.9", true)
		later(3*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Contains(t, strings.Join(w.changes(), "\n"), "Progress m-1 Done")
		text := w.text()
		check.Contains(t, text, "read the inventory of the host")
		check.Contains(t, text, "without id, infra_env_id or status")
		if strings.Contains(text, "\x1b") {
			t.Error("an escape sequence is in the log")
		}
	})
}
