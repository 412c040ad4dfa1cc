package capi

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// kubeVersion and newerKubeVersion are those of Kubernetes in version and newer.
const kubeVersion, newerKubeVersion = "v1.33.32", "v1.33.33"

// TestTopologyUpgrade upgrades a cluster that a ClusterClass describes, by one edit of its version. Cluster API asks
// before it replaces workers, and no Machine is replaced. Its hosts go back to their pool in the end.
func TestTopologyUpgrade(t *testing.T) {
	r := newRig(t, 5, func(r *rig) {
		r.Management = kubetest.StartManagement(t, kubetest.ManagementConfig{
			FeatureGates: map[string]bool{"ClusterTopology": true, "RuntimeSDK": true, "InPlaceUpdates": true},
		})
	})
	r.serveExtension()
	r.apply(string(r.file("clusterclass-openshift-assisted.yaml")))
	r.fillPool(5)
	r.orderAs("topology", 2, map[string]string{"KUBERNETES_VERSION": kubeVersion})
	r.patch(&clusterv1.Cluster{ObjectMeta: named(r.namespace, "lab")}, func(o client.Object) { // as docs/capi.md says
		workers := &o.(*clusterv1.Cluster).Spec.Topology.Workers.MachineDeployments[0]
		none, one := intstr.FromInt32(0), intstr.FromInt32(1)
		workers.Rollout.Strategy = clusterv1.MachineDeploymentTopologyRolloutStrategy{
			Type: clusterv1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: clusterv1.MachineDeploymentTopologyRolloutStrategyRollingUpdate{MaxSurge: &none, MaxUnavailable: &one},
		}
	})
	r.untilAvailable(aWhile)
	r.untilWorkers(2)
	before := r.identities()
	r.checkUpgrade(2, func() {
		r.patch(&clusterv1.Cluster{ObjectMeta: named(r.namespace, "lab")}, func(o client.Object) {
			topology := &o.(*clusterv1.Cluster).Spec.Topology
			topology.Version = newerKubeVersion
			for i := range topology.Variables {
				if v := &topology.Variables[i]; v.Name == "distributionVersion" {
					v.Value.Raw = []byte(`"` + newer + `"`)
				}
			}
		})
	})
	r.until("nothing waits for the next version", aWhile, func() (bool, string) {
		cluster := &clusterv1.Cluster{}
		r.get("lab", cluster)
		for _, m := range append(r.machines(true), r.machines(false)...) {
			if m.Spec.Version != newerKubeVersion || !conditions.IsTrue(&m, clusterv1.MachineUpToDateCondition) {
				return false, fmt.Sprintf("%s %s: %s", m.Name, m.Spec.Version, conditions.GetMessage(&m, clusterv1.MachineUpToDateCondition))
			}
		}
		return conditions.IsTrue(cluster, clusterv1.ClusterTopologyReconciledCondition), conditions.GetMessage(cluster, clusterv1.ClusterTopologyReconciledCondition)
	})
	if after := r.identities(); !maps.Equal(before, after) {
		t.Errorf("the Machines were %v, and are %v", before, after)
	}
	r.delete()
	r.untilFree(5)
	if left := r.serviceObjects(); len(left) != 6 || !slices.Contains(left, "InfraEnv pool") {
		t.Errorf("left are %v, and should be a pool of five", left)
	}
}

// serveExtension has Cluster API ask the providers of the rig's namespace whether Machines can be updated in place.
func (r *rig) serveExtension() {
	r.t.Helper()
	config := object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig")
	config.SetName("openshift-assisted-in-place")
	config.Object["spec"] = map[string]any{"clientConfig": map[string]any{"url": r.webhooks.URL(), "caBundle": base64.StdEncoding.EncodeToString(r.webhooks.CA)}}
	r.make(config)
	r.until("the extension is discovered", aWhile, func() (bool, string) {
		r.get(config.GetName(), config)
		handlers, _, _ := unstructured.NestedSlice(config.Object, "status", "handlers")
		return len(handlers) == 3, fmt.Sprint(config.Object["status"])
	})
}
