package capi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// TestCompact takes a cluster of three machines from its template to Available. Providers that are started anew
// then have nothing to write.
func TestCompact(t *testing.T) {
	r := newRig(t, 3)
	r.order("compact", 0)
	r.untilAvailable(aWhile)
	r.checkKubeconfig()
	r.checkWrites(3)
	if nodes := r.nodes(); len(nodes) != 3 {
		t.Errorf("its nodes are %v", nodes)
	}
	before, after := &controlplanev1.OpenshiftAssistedControlPlane{}, &controlplanev1.OpenshiftAssistedControlPlane{}
	r.until("it is known which updates there are", aWhile, func() (bool, string) {
		r.get("lab", before)
		return conditions.IsTrue(before, controlplanev1.UpgradeCompletedCondition), conditions.GetMessage(before, controlplanev1.UpgradeCompletedCondition)
	})
	r.stop()
	r.writes.take()
	r.start()
	if err := r.clock.Sleep(t.Context(), 35*time.Minute); err != nil {
		t.Fatal(err)
	}
	if total, which := r.writes.take(); total > 0 {
		r.get("lab", after)
		t.Errorf("providers that are started anew write %s:\n%s", which, cmp.Diff(before.Status, after.Status))
	}
}

// TestCompactOverREST does so by a service without a hub, adds a worker, and deletes the cluster.
func TestCompactOverREST(t *testing.T) {
	r := newRig(t, 4, func(r *rig) { r.overREST = true })
	r.order("compact", 0)
	r.untilAvailable(aWhile)
	r.scaleWorkers(1)
	r.untilWorkers(1)
	r.delete()
	r.checkGone()
}

// TestLiveISO boots the machines of a cluster from its discovery images, and adds one.
func TestLiveISO(t *testing.T) {
	r := newRig(t, 5)
	r.order("metal3", 1)
	r.untilAvailable(aWhile)
	r.untilWorkers(1)
	r.scaleWorkers(2)
	r.untilWorkers(2)
	r.delete()
	r.checkGone()
}
