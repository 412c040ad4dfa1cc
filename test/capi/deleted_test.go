//go:build e2e

package capi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestMachinesDeletedWhileItInstalls: Machines are deleted while the cluster is installed. A worker is deleted at once,
// and another one joins the installed cluster in its place. A Machine of the control plane, without which the
// installation would fail, stays until that is over, and is replaced then.
func TestMachinesDeletedWhileItInstalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, 8)
	r.order("ha", 3)
	r.until("the cluster is installed", aWhile, func() (bool, string) {
		state := r.plane().Status.Installation.State
		return state == string(model.ClusterInstalling), state
	})
	worker, control := r.machines(false)[0], r.machines(true)[0]
	for _, m := range []*clusterv1.Machine{&worker, &control} {
		must.Do(t, r.client.Delete(t.Context(), m))
	}
	r.until("it is said that the Machine of the control plane stays for now", aWhile, r.held(&control, "InstallationRunning"))
	r.untilGone(&worker)
	check.Equal(t, r.plane().Status.Installation.State, string(model.ClusterInstalling), "the worker went when the cluster was")
	r.untilAvailable(aWhile)
	r.until("it is said that its member of etcd is to be removed", aWhile, r.held(&control, controlplanev1.EtcdMemberRemovalRequiredReason))
	if r.get(control.Name, &control); control.Status.Deletion.NodeDrainStartTime.IsZero() {
		t.Errorf("its node %s was not drained: %+v", control.Status.NodeRef.Name, control.Status.Deletion)
	}
	if was, err := r.site.Workload("lab").Played().RemoveMember(t.Context(), control.Status.NodeRef.Name); err != nil || !was {
		t.Fatalf("remove the member of %s: %t %v", control.Status.NodeRef.Name, was, err)
	}
	r.untilGone(&control)
	r.untilWorkers(3)
	envs := slices.DeleteFunc(r.serviceObjects(), func(o string) bool { return !strings.HasPrefix(o, "InfraEnv ") })
	if len(envs) != 6 {
		t.Errorf("of six Machines there are %v", envs)
	}
}

// held asks whether a Machine that is being deleted is held for a reason.
func (r *rig) held(m *clusterv1.Machine, reason string) func() (bool, string) {
	return func() (bool, string) {
		now := &clusterv1.Machine{}
		if !r.get(m.Name, now) {
			r.t.Fatalf("Machine %s is gone", m.Name)
		}
		said := conditions.Get(now, controlplanev1.EtcdMemberRemovedCondition)
		if said == nil {
			return false, "nothing is said"
		}
		return said.Reason == reason, fmt.Sprintf("%s: %s", said.Reason, said.Message)
	}
}
