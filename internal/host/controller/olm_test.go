//go:build linux

package controller

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/shared/check"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

const storageManifests = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: from-list}}
---
# a comment alone
---
apiVersion: example.com/v1
kind: Storage
metadata: {name: main, namespace: storage}
`

// withOLM has the service monitor two operators of OLM, one of which cannot be installed by the first InstallPlan.
func withOLM(w *world) {
	w.service.operators = append(w.service.operators,
		&models.MonitoredOperator{Name: "lso", Namespace: "local", SubscriptionName: "lso-sub", OperatorType: models.OperatorTypeOlm},
		&models.MonitoredOperator{Name: "odf", Namespace: "storage", SubscriptionName: "odf-sub", OperatorType: models.OperatorTypeOlm},
	)
	w.service.files[manifestsFile] = fmt.Sprintf(`[{"Name":"odf","Content":%q},{"Name":"cnv","Content":"!"}]`, encoded(storageManifests))
	for _, name := range []string{"lso", "odf"} {
		space := map[string]string{"lso": "local", "odf": "storage"}[name]
		w.api.Put("operators.coreos.com", "subscriptions", hosttest.Object{
			"metadata": hosttest.Object{"name": name + "-sub", "namespace": space}, "status": hosttest.Object{"currentCSV": name + ".v1"},
		})
		w.phase(name, space, "Installing", "soon")
	}
	w.api.Put("batch", "jobs", hosttest.Object{"metadata": hosttest.Object{"name": "bad", "namespace": marketplace}, "status": hosttest.Object{"failed": 1}})
	w.api.Put("batch", "jobs", hosttest.Object{"metadata": hosttest.Object{"name": "good", "namespace": marketplace}, "status": hosttest.Object{"succeeded": 1}})
	for name, phase := range map[string]string{"bad": "Failed", "good": "Complete"} {
		w.api.Put("operators.coreos.com", "installplans", hosttest.Object{
			"metadata": hosttest.Object{"name": name, "namespace": "local", "ownerReferences": []any{hosttest.Object{"kind": "Subscription", "name": "lso-sub"}}},
			"status":   hosttest.Object{"phase": phase},
		})
	}
}

func (w *world) phase(name, space, phase, message string) {
	w.api.Put("operators.coreos.com", "clusterserviceversions", hosttest.Object{
		"metadata": hosttest.Object{"name": name + ".v1", "namespace": space}, "spec": hosttest.Object{"version": "1.0.0"},
		"status": hosttest.Object{"phase": phase, "message": message},
	})
}

// TestOperatorsOfOLM: they are awaited, their manifests are applied, and the kubeconfig for that is read once.
func TestOperatorsOfOLM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.node("m-1", "10.0.0.1", true)
		w.operator("console", "True", "False", "All is well")
		withOLM(w)
		w.api.Kinds = map[string]string{"/v1/ConfigMap": "configmaps"}
		later(5*time.Minute, func() { // the operator brings its kind along
			w.api.Mu.Lock()
			w.api.Kinds["example.com/v1/Storage"] = "storages"
			w.api.Mu.Unlock()
		})
		later(10*time.Minute, func() {
			w.phase("lso", "local", "Succeeded", "fine")
			w.phase("odf", "storage", "Succeeded", "fine")
		})
		check.Equal(t, w.run(t.Context()), ExitDone)
		calls := w.changes()
		calls = calls[slices.Index(calls, "FinalizingProgress Waiting for olm operators csv initialization"):]
		calls = slices.Compact(slices.DeleteFunc(calls, func(c string) bool {
			return strings.HasPrefix(c, "UploadLogs") || strings.HasPrefix(c, "ClusterFile")
		}))
		check.Slice(t, calls, []string{
			"FinalizingProgress Waiting for olm operators csv initialization", "FinalizingProgress Applying olm manifests",
			"ClusterCredential kubeconfig-noingress",
			"FinalizingProgress Waiting for olm operators csv", "UpdateOperator lso 1.0.0 progressing soon", "UpdateOperator odf 1.0.0 progressing soon",
			"UpdateOperator lso 1.0.0 available fine", "UpdateOperator odf 1.0.0 available fine",
			"FinalizingProgress Done", "CompleteInstallation true  0", "ClusterLogsProgress requested", "ClusterLogsProgress completed",
		})
		check.Slice(t, w.api.Names("batch", "jobs"), []string{"good"})
		check.Slice(t, w.api.Names("operators.coreos.com", "installplans"), []string{"good"})
		if w.api.Get("", "configmaps", "default", "from-list") == nil || w.api.Get("example.com", "storages", "storage", "main") == nil {
			t.Error("not all manifests were applied")
		}
		check.Contains(t, w.text(), "the API server does not know the kind Storage of example.com/v1")
		check.Contains(t, w.text(), "a manifest is of no operator that OLM installs")
	})
}

// TestOperatorOfOLMFails: the service times the stage out; what is not installed is failed, and the installation completes.
func TestOperatorOfOLMFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.env["MUST_GATHER_IMAGE"] = `{"ocp":"quay.io/ocp","odf":"quay.io/odf"}`
		w.runner.Absent = []string{"oc"}
		w.node("m-1", "10.0.0.1", true)
		w.operator("console", "True", "False", "All is well")
		withOLM(w)
		w.phase("lso", "local", "Failed", "no disks")
		later(time.Hour, func() {
			w.service.mu.Lock()
			w.service.cluster.Progress.FinalizingStageTimedOut = true
			w.service.mu.Unlock()
		})
		check.Equal(t, w.run(t.Context()), ExitDone)
		calls := strings.Join(w.changes(), "\n")
		check.Contains(t, calls, "UpdateOperator lso 1.0.0 failed no disks")
		check.Contains(t, calls, "UpdateOperator odf  failed Waiting for operator timed out")
		check.Contains(t, calls, "CompleteInstallation true  0")
		check.Contains(t, w.text(), "as of look 10 of 10")
	})
}

// TestManifestsTimeOut: an unreadable file of manifests ends with its stage.
func TestManifestsTimeOut(t *testing.T) {
	for name, file := range map[string]string{
		"no JSON": "{", "no base64": `[{"Name":"odf","Content":"!"}]`, "no YAML": fmt.Sprintf(`[{"Name":"odf","Content":%q}]`, encoded("a: [")),
		"no kind": fmt.Sprintf(`[{"Name":"odf","Content":%q}]`, encoded("a: b")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "m-1")
				w.runner.Absent = []string{"oc"}
				w.node("m-1", "10.0.0.1", true)
				w.operator("console", "True", "False", "All is well")
				withOLM(w)
				w.service.files[manifestsFile] = file
				w.phase("lso", "local", "Succeeded", "fine")
				w.phase("odf", "storage", "Succeeded", "fine")
				later(30*time.Minute, func() {
					w.service.mu.Lock()
					w.service.cluster.Progress.FinalizingStageTimedOut = true
					w.service.mu.Unlock()
				})
				check.Equal(t, w.run(t.Context()), ExitDone)
				check.Contains(t, strings.Join(w.changes(), "\n"), "CompleteInstallation true")
				check.Contains(t, w.text(), `the service says that the stage \"Applying olm manifests\" took too long`)
			})
		})
	}
}

// TestWaitsForClusterVersion: with that the version counts, and without the console's capability the console does not.
func TestWaitsForClusterVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.env["CHECK_CLUSTER_VERSION"] = "true"
		w.node("m-1", "10.0.0.1", true)
		version := func(condition string) {
			w.api.Put("config.openshift.io", "clusterversions", hosttest.Object{"metadata": hosttest.Object{"name": "version"}, "status": hosttest.Object{
				"desired": hosttest.Object{"version": "4.19.3"}, "capabilities": hosttest.Object{"knownCapabilities": []any{"Console"}},
				"conditions": []any{hosttest.Object{"type": condition, "status": "True", "message": "as said"}},
			}})
		}
		version("Progressing")
		later(10*time.Minute, func() { version("Available") })
		check.Equal(t, w.run(t.Context()), ExitDone)
		calls := strings.Join(w.changes(), "\n")
		check.Contains(t, calls, "UpdateOperator cvo 4.19.3 progressing as said\n")
		check.Contains(t, calls, "UpdateOperator cvo 4.19.3 available as said\n")
		if strings.Contains(calls, "console") {
			t.Error("the console counted")
		}
	})
}

// agentBased makes a world of the agent-based installer, whose service ends after a time.
func agentBased(w *world, ends time.Duration) {
	w.api.Put("", "configmaps", hosttest.Object{
		"metadata": hosttest.Object{"name": "openshift-install-manifests", "namespace": "openshift-config"}, "data": hosttest.Object{"invoker": "agent-installer"},
	})
	w.service.trouble = func(ctx context.Context, _ string) error {
		if time.Since(w.boot) < ends {
			return nil
		}
		<-ctx.Done() // its client sends the request again and again
		return ctx.Err()
	}
	w.service.operators = nil
	w.api.Put("", "configmaps", hosttest.Object{
		"metadata": hosttest.Object{"name": operatorManifests, "namespace": "assisted-installer"}, "data": hosttest.Object{
			"odf.metadata.yaml": "namespace: storage\nsubscriptionName: odf-sub\nmanifests: [a.yaml]\n", "a.yaml": encoded(storageManifests),
		},
	})
	w.api.Put("operators.coreos.com", "subscriptions", hosttest.Object{
		"metadata": hosttest.Object{"name": "odf-sub", "namespace": "storage"}, "status": hosttest.Object{"currentCSV": "odf.v1"},
	})
	w.phase("odf", "storage", "Succeeded", "fine")
}

func available(w *world) {
	w.api.Put("config.openshift.io", "clusterversions", hosttest.Object{"metadata": hosttest.Object{"name": "version"}, "status": hosttest.Object{
		"conditions": []any{hosttest.Object{"type": "Available", "status": "True"}},
	}})
}

// TestAgentBased: the service ends with the bootstrap machine, which is approved and joins after that. The kubeconfig is read
// while the service is there.
func TestAgentBased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3")
		agentBased(w, 5*time.Minute)
		w.service.setStage("m-1", models.HostStageWaitingForController)
		w.node("m-2", "10.0.0.2", true)
		w.node("m-3", "10.0.0.3", true)
		later(4*time.Minute, func() { w.request("early", "m-1", nil) })
		later(10*time.Minute, func() {
			check.Equal(t, w.approved("early"), true)
			available(w)
		})
		later(30*time.Minute, func() {
			w.node("m-1", "10.0.0.1", true)
		})
		check.Equal(t, w.run(t.Context()), ExitDone)
		calls := w.changes()
		check.Slice(t, calls, []string{"ClusterCredential kubeconfig-noingress", "Progress m-2 Joined", "Progress m-2 Done", "Progress m-3 Joined",
			"Progress m-3 Done"})
		if took := time.Since(w.boot); took < 30*time.Minute || took > 32*time.Minute {
			t.Errorf("it took %s", took)
		}
		if w.api.Get("example.com", "storages", "storage", "main") == nil {
			t.Error("the manifests were not applied")
		}
	})
}

// TestAgentBasedRestarted: the service has gone already. The machines that the Machine API knows are expected.
func TestAgentBasedRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3")
		agentBased(w, 0)
		w.api.Put("", "configmaps", hosttest.Object{"metadata": hosttest.Object{"name": "cluster-config-v1", "namespace": "kube-system"}, "data": hosttest.Object{
			"install-config": "platform:\n  baremetal: {}\npullSecret: secret-pull\n",
		}})
		w.node("m-2", "10.0.0.2", true)
		w.node("m-3", "10.0.0.3", true)
		w.api.Put("metal3.io", "baremetalhosts", hosttest.Object{
			"metadata": hosttest.Object{"name": "rack-1", "namespace": "openshift-machine-api"},
			"spec":     hosttest.Object{"externallyProvisioned": true, "consumerRef": hosttest.Object{"name": "m"}},
			"status":   hosttest.Object{"hardware": hosttest.Object{"hostname": "m-1", "nics": []any{hosttest.Object{"ip": "10.0.0.1"}}}},
		})
		w.request("good", "m-1", nil)
		w.request("foreign", "evil", nil)
		later(10*time.Minute, func() { available(w) })
		later(20*time.Minute, func() {
			check.Equal(t, w.approved("good"), true)
			w.node("m-1", "10.0.0.1", true)
		})
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, w.approved("foreign"), false)
		check.Contains(t, w.text(), "platform=baremetal")
	})
}

// TestAgentBasedSingleNode: only the API server is asked, with the kubeconfig of the bootstrap phase.
func TestAgentBasedSingleNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "sno")
		agentBased(w, 0)
		w.file(bootstrapKubeconfig, "the kubeconfig of the bootstrap phase")
		w.phase("odf", "storage", "Installing", "")
		w.api.Kinds = map[string]string{"/v1/ConfigMap": "configmaps"}
		later(3*time.Minute, func() { available(w) })
		later(20*time.Minute, func() { // the operator is late
			w.api.Mu.Lock()
			w.api.Kinds["example.com/v1/Storage"] = "storages"
			w.api.Mu.Unlock()
		})
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Slice(t, w.changes(), nil)
		check.Equal(t, w.service.looks, 0)
		if w.api.Get("example.com", "storages", "storage", "main") == nil {
			t.Error("the manifests were not applied")
		}
	})
}

// TestAgentBasedWithoutManifests: the end is not delayed where there are none, and by an hour where they cannot be applied.
func TestAgentBasedWithoutManifests(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*world)
		least   time.Duration
		says    string
	}{
		"no ConfigMap": {func(w *world) {
			delete(w.api.Objects, hosttest.Key("", "configmaps", "assisted-installer", operatorManifests))
		}, 0, "finished"},
		"nothing in it": {func(w *world) {
			w.api.Put("", "configmaps", hosttest.Object{"metadata": hosttest.Object{"name": operatorManifests, "namespace": "assisted-installer"}})
		}, 0, "finished"},
		"unreadable": {func(w *world) {
			w.api.Put("", "configmaps", hosttest.Object{
				"metadata": hosttest.Object{"name": operatorManifests, "namespace": "assisted-installer"}, "data": hosttest.Object{"a.metadata.yaml": "["},
			})
		}, 0, "a.metadata.yaml"},
		"never initialized": {func(w *world) {
			delete(w.api.Objects, hosttest.Key("operators.coreos.com", "subscriptions", "storage", "odf-sub"))
		}, lateManifests, "operators did not get their manifests"},
		"no right": {func(w *world) {
			w.api.Down = func(r hosttest.Request) int {
				if r.Resource == "configmaps" && r.Name == operatorManifests {
					return http.StatusForbidden
				}
				return 0
			}
		}, 0, "stopped waiting for the manifests of operators to be applied"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "sno")
				agentBased(w, 0)
				w.file(bootstrapKubeconfig, "the kubeconfig of the bootstrap phase")
				available(w)
				c.arrange(w)
				check.Equal(t, w.run(t.Context()), ExitDone)
				if took := time.Since(w.boot); took < c.least || took > c.least+time.Minute {
					t.Errorf("it took %s", took)
				}
				check.Contains(t, w.text(), c.says)
			})
		})
	}
}
