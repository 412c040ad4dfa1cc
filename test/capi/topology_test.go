//go:build e2e

package capi

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// kubeVersion is that of Kubernetes in version, without the commit that kubelets name.
const kubeVersion = "v1.33.32"

// TestTopologyUpgrade upgrades a cluster that a ClusterClass describes, by one edit of its version. Cluster API asks
// before it replaces workers, and no Machine is replaced. Its hosts go back to their pool in the end. It begins with a
// version that is shorter than the one that kubelets report, as a user writes it who does not know that.
func TestTopologyUpgrade(t *testing.T) {
	t.Parallel()
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
	r.nameCommit()
	newerKubeVersion := spoke.KubeletOf(newer)
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
		for _, m := range append(r.machines(true), r.machines(false)...) {
			if m.Spec.Version != newerKubeVersion || !conditions.IsTrue(&m, clusterv1.MachineUpToDateCondition) {
				return false, fmt.Sprintf("%s %s: %s", m.Name, m.Spec.Version, conditions.GetMessage(&m, clusterv1.MachineUpToDateCondition))
			}
		}
		return r.topologyReconciled()
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

// topologyReconciled reports whether Cluster API waits for nothing before it takes the next version.
func (r *rig) topologyReconciled() (bool, string) {
	r.t.Helper()
	cluster := &clusterv1.Cluster{}
	r.get("lab", cluster)
	return conditions.IsTrue(cluster, clusterv1.ClusterTopologyReconciledCondition), conditions.GetMessage(cluster, clusterv1.ClusterTopologyReconciledCondition)
}

// nameCommit sets the version of the topology to the one that the kubelets report, as the message of the control plane
// says. Without it, Cluster API takes no version.
func (r *rig) nameCommit() {
	r.t.Helper()
	runs := spoke.KubeletOf(version)
	r.until("it is told what to write", aWhile, func() (bool, string) {
		message := conditions.GetMessage(r.plane(), controlplanev1.UpgradeAvailableCondition)
		return strings.Contains(message, "waits for nodes of version "+kubeVersion+", and they run "+runs+": kubectl -n "+r.namespace), message
	})
	setVersion := func(unchecked bool) error {
		cluster := &clusterv1.Cluster{}
		r.get("lab", cluster)
		before := cluster.DeepCopy()
		if unchecked {
			cluster.Annotations[clusterv1.ClusterTopologyUnsafeUpdateVersionAnnotation] = ""
		}
		cluster.Spec.Topology.Version = runs
		return r.client.Patch(r.t.Context(), cluster, client.MergeFrom(before))
	}
	check.Says(r.t, setVersion(false), "there are still MachineDeployments completing a previous upgrade", "Cluster API takes it as it is")
	if reconciled, _ := r.topologyReconciled(); reconciled {
		r.t.Error("Cluster API waits for nothing")
	}
	must.Do(r.t, setVersion(true))
	r.patch(&controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: named(r.namespace, r.plane().Name)}, func(o client.Object) {
		o.(*controlplanev1.OpenshiftAssistedControlPlane).Spec.Version = runs
	})
	r.patch(&clusterv1.Cluster{ObjectMeta: named(r.namespace, "lab")}, func(o client.Object) {
		delete(o.GetAnnotations(), clusterv1.ClusterTopologyUnsafeUpdateVersionAnnotation)
	})
	r.until("the topology is as its nodes are", aWhile, r.topologyReconciled)
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
