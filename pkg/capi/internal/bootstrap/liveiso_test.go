package bootstrap_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// TestLiveISOOfAMachineThatRuns: a machine that boots from its disk is well whatever discovery image there is now, or
// whether there is any, as after a move; and none is given another one.
func TestLiveISOOfAMachineThatRuns(t *testing.T) {
	for name, test := range map[string]struct {
		service  func(*install.Observed)
		provider string
		ready    metav1.ConditionStatus
	}{
		"it waits in the discovery system": {func(o *install.Observed) {
			o.Cluster.State, o.Hosts[0].State, o.Hosts[0].Progress.Stage = model.ClusterDiscovering, model.HostReady, ""
		}, "", metav1.ConditionFalse},
		"it has rebooted": {func(o *install.Observed) {
			o.Cluster.State, o.Hosts[0].State, o.Hosts[0].Progress.Stage = model.ClusterInstalling, model.HostInstalling, "Rebooting"
		}, "", metav1.ConditionTrue},
		"it is installed": {func(*install.Observed) {}, "metal3://ns/host/infra", metav1.ConditionTrue},
		"it was moved":    {func(o *install.Observed) { o.Hosts, o.InfraEnvs = nil, nil }, "metal3://ns/host/infra", metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			b := startLiveISO(t, func(o map[string]client.Object) { o["Machine"].(*clusterv1.Machine).Spec.ProviderID = test.provider })
			b.service.observed.Hosts = []install.Host{{ID: "host", InfraEnvID: "env", ClusterID: "id", State: model.HostInstalled, Progress: install.HostProgress{Stage: "Done"}}}
			b.service.observed.Cluster.State = model.ClusterInstalled
			test.service(&b.service.observed)
			b.mustReconcile()
			if c := conditions.Get(b.config(), clusterv1.ReadyCondition); c.Status != test.ready {
				t.Errorf("Ready is %s: %s", c.Status, c.Message)
			}
			if s := b.secret(); s == nil || len(s.Data["value"]) > 0 {
				t.Errorf("its data is %v", s)
			}
			if slices.Contains(b.written, "patch unstructured.Unstructured infra") {
				t.Error("it is given another image")
			}
		})
	}
}
