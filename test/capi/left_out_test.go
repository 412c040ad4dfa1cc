//go:build e2e

package capi

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// unwell has one machine of the control plane pull no image for a while, as with a pull secret that was revoked, and one
// worker lack memory for so long that the cluster is installed meanwhile.
const unwell = `apiVersion: oaictl.io/v1alpha1
kind: Scenario
metadata: {name: unwell}
spec:
  hosts:
  - match: {name: rack-host-1}
    do: image-pull-failure
    args: {image: ocp-release, for: 2h}
  - match: {name: rack-host-3}
    do: inventory
    args: {memory: 4GiB, for: 4h}
`

// TestUnwellWorkerIsLeftOut: a worker that has registered and is not ready does not hold the installation up, is not
// wiped with it, says why, and joins once it is well and was booted again. An installation that cannot begin since a
// machine of the control plane may pull no image says which one it is, and begins once it may.
func TestUnwellWorkerIsLeftOut(t *testing.T) {
	t.Parallel()
	trouble := must.Get(scenario.Parse("unwell.yaml", []byte(unwell)))(t)
	r := newRig(t, 4, func(r *rig) { r.scenario = trouble })
	small := &unstructured.Unstructured{}
	small.SetAPIVersion("metal3.io/v1alpha1")
	small.SetKind("BareMetalHost")
	small.SetName("rack-host-3")
	annotate := func(name string, set bool) {
		r.patch(small, func(o client.Object) {
			notes := o.GetAnnotations()
			if notes == nil {
				notes = map[string]string{}
			}
			if delete(notes, name); set {
				notes[name] = ""
			}
			o.SetAnnotations(notes)
		})
	}
	hold := func(held bool) {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: named(r.namespace, "lab")}
		r.patch(plane, func(o client.Object) {
			o.(*controlplanev1.OpenshiftAssistedControlPlane).Spec.Config.HoldInstallation = held
		})
	}
	const unhealthy = "capi.metal3.io/unhealthy" // so that the control plane takes the others
	annotate(unhealthy, true)
	r.order("ha", 0)
	hold(true)
	r.until("the control plane has its hosts", aWhile, func() (bool, string) {
		taken := 0
		for _, m := range r.machines(true) {
			infrastructure := &unstructured.Unstructured{}
			infrastructure.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
			infrastructure.SetKind("Metal3Machine")
			if r.get(m.Spec.InfrastructureRef.Name, infrastructure) && infrastructure.GetAnnotations()["metal3.io/BareMetalHost"] != "" {
				taken++
			}
		}
		return taken == 3, ""
	})
	annotate(unhealthy, false)
	r.scaleWorkers(1)
	r.until("the worker says what it lacks", aWhile, func() (bool, string) {
		reason, message := r.workerSays()
		return reason == bootstrapv1.ValidationsFailingReason && strings.Contains(message, "4.00 GiB"), reason + ": " + message
	})
	written := r.site.Hardware().Writes()["rack-host-3"]
	hold(false)
	r.until("it is said what is missing", aWhile, func() (bool, string) {
		said := conditions.GetMessage(r.plane(), clusterv1.AvailableCondition)
		return strings.Contains(said, "container-images-available"), said
	})
	r.until("the control plane is available", aWhile, func() (bool, string) {
		available := conditions.Get(r.plane(), clusterv1.AvailableCondition)
		return available != nil && available.Status == metav1.ConditionTrue, conditions.GetMessage(r.plane(), clusterv1.AvailableCondition)
	})
	if reason, message := r.workerSays(); reason != bootstrapv1.HostLeftOutReason || !strings.Contains(message, "4.00 GiB") {
		t.Errorf("afterwards the worker says %s: %s", reason, message)
	}
	if now := r.site.Hardware().Writes()["rack-host-3"]; now != written {
		t.Errorf("its disk was written %d times, and is now %d", written, now)
	}
	if nodes := r.nodes(); len(nodes) != 3 {
		t.Errorf("the nodes are %v", nodes)
	}
	annotate("reboot.metal3.io", true)
	r.untilWorkers(1)
	r.delete()
	r.checkGone()
}

// workerSays is what the config of the only worker says of its host.
func (r *rig) workerSays() (reason, message string) {
	r.t.Helper()
	workers, config := r.machines(false), &bootstrapv1.OpenshiftAssistedConfig{}
	if len(workers) != 1 || !r.get(workers[0].Spec.Bootstrap.ConfigRef.Name, config) {
		return "", "there is no config"
	}
	said := conditions.Get(config, bootstrapv1.HostValidatedCondition)
	if said == nil {
		return "", "nothing is said"
	}
	return said.Reason, said.Message
}
