//go:build linux

package controller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// compact has three hosts become nodes, and the console available.
func compact(w *world) {
	later(40*time.Second, func() {
		w.node("m-1", "10.0.0.1", true)
		w.node("m-2.example.com", "10.0.0.2", false)
		w.api.Mu.Lock()
		w.api.Logs[configServerSpace+"/mcs-1"] = `I0101 api.go:109] Pool master requested by address:"10.0.0.3:41234" User-Agent:"Ignition/2.14.0" Accept-Header: "x"` + "\n"
		w.api.Mu.Unlock()
	})
	later(100*time.Second, func() {
		w.node("m-2.example.com", "10.0.0.2", true)
		w.node("M-3", "10.0.0.3", true)
	})
	later(200*time.Second, func() { w.operator("console", "True", "False", "All is well") })
}

// TestInstallCompact is the whole installation of three hosts. The order of what changes at the service is that of the
// recorded original.
func TestInstallCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3")
		compact(w)
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Slice(t, w.changes(), []string{
			"Progress m-1 Joined", "Progress m-1 Done", "Progress m-2 Joined", "Progress m-3 Configuring",
			"Progress m-3 Joined", "Progress m-3 Done", "Progress m-2 Done",
			"FinalizingProgress Waiting for cluster operators",
			"UpdateOperator console 4.19.3 failed working on it",
			"UpdateOperator console 4.19.3 available All is well",
			"FinalizingProgress Adding router ca", "UploadIngressCert CERT",
			"FinalizingProgress Waiting for olm operators csv initialization", "FinalizingProgress Done",
			"CompleteInstallation true  0",
			"ClusterLogsProgress requested", "UploadLogs controller", "ClusterLogsProgress completed",
		})
		ready := w.api.Get("", "events", "assisted-installer", readyEvent)
		check.Equal(t, hosttest.Text(ready, "message"), "Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start")
		check.Same(t, w.service.archives, []map[string]string{{logsFile: "the log of the pod"}})
		if took := time.Since(w.boot); took > 6*time.Minute {
			t.Errorf("it took %s", took)
		}
		check.Contains(t, w.text(), "finished")
	})
}

// TestInstallSingleNode: the only node is ready at once, and its own kubeconfig is used.
func TestInstallSingleNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "sno")
		w.node("sno", "10.0.0.1", true)
		w.operator("console", "True", "False", "All is well")
		w.api.Put("config.openshift.io", "clusteroperators", hosttest.Object{"metadata": hosttest.Object{"name": "dns"}})
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Slice(t, w.changes(), []string{
			"Progress sno Joined", "Progress sno Done", "FinalizingProgress Waiting for cluster operators",
			"UpdateOperator console 4.19.3 available All is well",
			"FinalizingProgress Adding router ca", "UploadIngressCert CERT",
			"FinalizingProgress Waiting for olm operators csv initialization", "FinalizingProgress Done", "CompleteInstallation true  0",
			"ClusterLogsProgress requested", "UploadLogs controller", "ClusterLogsProgress completed",
		})
		check.Equal(t, w.service.status(), models.ClusterStatusInstalled)
	})
}
