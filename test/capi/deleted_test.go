//go:build e2e

package capi

import (
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// deleteWhileItInstalls deletes Machines while the cluster is installed. A worker is deleted at once, and another one
// joins the installed cluster in its place. A Machine of the control plane, without which the installation would fail,
// stays until that is over, and is replaced then.
func (r *rig) deleteWhileItInstalls(workers int) {
	r.t.Helper()
	r.until("the cluster is installed", aWhile, func() (bool, string) {
		state := r.plane().Status.Installation.State
		return state == string(model.ClusterInstalling), state
	})
	worker, control := r.machines(false)[0], r.machines(true)[0]
	for _, m := range []*clusterv1.Machine{&worker, &control} {
		must.Do(r.t, r.client.Delete(r.t.Context(), m))
	}
	r.until("it is said that the Machine of the control plane stays for now", aWhile, r.held(&control, "InstallationRunning"))
	r.untilGone(&worker)
	check.Equal(r.t, r.plane().Status.Installation.State, string(model.ClusterInstalling), "the worker went when the cluster was")
	r.untilAvailable(aWhile)
	r.until("it is said that its member of etcd is to be removed", aWhile, r.held(&control, controlplanev1.EtcdMemberRemovalRequiredReason))
	if r.get(control.Name, &control); control.Status.Deletion.NodeDrainStartTime.IsZero() {
		r.t.Errorf("its node %s was not drained: %+v", control.Status.NodeRef.Name, control.Status.Deletion)
	}
	if was, err := r.site.Workload("lab").Played().RemoveMember(r.t.Context(), control.Status.NodeRef.Name); err != nil || !was {
		r.t.Fatalf("remove the member of %s: %t %v", control.Status.NodeRef.Name, was, err)
	}
	r.untilGone(&control)
	r.untilWorkers(workers)
	envs := slices.DeleteFunc(r.serviceObjects(), func(o string) bool { return !strings.HasPrefix(o, "InfraEnv ") })
	if len(envs) != 3+workers {
		r.t.Errorf("of %d Machines there are %v", 3+workers, envs)
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
