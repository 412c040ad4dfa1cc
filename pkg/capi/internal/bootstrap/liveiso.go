package bootstrap

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// liveISO gives a Metal3Machine the present discovery image, and lets it boot only then: it is given
// no BareMetalHost before its data Secret is there.
func (s *scope) liveISO(ctx context.Context, infrastructure *unstructured.Unstructured) error {
	if err := s.detach(ctx, infrastructure); err != nil {
		return err
	}
	if s.bootsFromDisk() {
		return s.emptySecret(ctx)
	}
	env, ready := s.image()
	if !ready || infrastructure == nil {
		return nil
	}
	url := env.Image.URL
	if s.Media != nil {
		url = s.Media.Of(s.config)
	}
	have, _, _ := unstructured.NestedString(infrastructure.Object, "spec", "image", "url")
	if have == url {
		return s.emptySecret(ctx)
	}
	if s.hasBooted() {
		// Another image in a machine that runs would have it provisioned anew.
		s.set(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionFalse, bootstrapv1.WaitingForImageReason,
			"the machine was provisioned with another discovery image than the present one")
		return s.emptySecret(ctx)
	}
	patched := infrastructure.DeepCopy()
	if err := unstructured.SetNestedField(patched.Object, url, "spec", "image", "url"); err != nil {
		return fmt.Errorf("set the image of %s %s: %w", infrastructure.GetKind(), infrastructure.GetName(), err)
	}
	err := s.Client.Patch(ctx, patched, client.MergeFrom(infrastructure))
	if now, _, _ := unstructured.NestedString(patched.Object, "spec", "image", "url"); err == nil && now != url {
		err = errors.New("it has another one right after that: something else sets it, too")
	}
	if err != nil {
		err = fmt.Errorf("set the image of %s %s: %w", infrastructure.GetKind(), infrastructure.GetName(), err)
		s.failData(bootstrapv1.WaitingForImageReason, err.Error())
		return err
	}
	return s.emptySecret(ctx) // the API server has answered that the image is there, even if a cache does not show it yet
}

// annotationDetached makes the Bare Metal Operator leave a machine alone.
const annotationDetached = "baremetalhost.metal3.io/detached"

// detach makes the Bare Metal Operator leave a machine alone once it boots from its disk: otherwise the operator would
// make it boot the discovery image at each start.
func (s *scope) detach(ctx context.Context, infrastructure *unstructured.Unstructured) error {
	if s.isLetGo(infrastructure) || s.host == nil || !s.host.HasRebooted() {
		return nil
	}
	return s.setDetached(ctx, infrastructure, true)
}

// takeBack makes the Bare Metal Operator manage a machine again when its Metal3Machine is being deleted, since Metal3
// waits for it to be deprovisioned. Before that its node still runs, and would boot the discovery image if it were
// restarted. It needs nothing of the installation, since that may not be readable any more.
func (s *scope) takeBack(ctx context.Context) error {
	if !s.isGivenUp() || machines.IsMoving(s.machine) || s.machine.Spec.InfrastructureRef.Kind != machines.KindMetal3Machine {
		return nil
	}
	infrastructure, err := machines.Infrastructure(ctx, s.Client, s.machine)
	// detached by another client
	if err != nil || !s.isLetGo(infrastructure) || machines.WayOf(s.machine, infrastructure) != machines.LiveISO {
		return err
	}
	return s.setDetached(ctx, infrastructure, false)
}

// isGivenUp reports whether the Machine is being deleted.
func (s *scope) isGivenUp() bool { return s.machine != nil && !s.machine.DeletionTimestamp.IsZero() }

// isLetGo reports whether the Metal3Machine is being deleted. Cluster API deletes it once the node is drained and no
// hook holds the Machine any more. The Machine's condition is read as well: a change of it wakes the reconciler, and
// the cache may show the deletion of the Metal3Machine later.
func (s *scope) isLetGo(infrastructure *unstructured.Unstructured) bool {
	if infrastructure != nil && infrastructure.GetDeletionTimestamp() != nil {
		return true
	}
	c := conditions.Get(s.machine, clusterv1.MachineDeletingCondition)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason
}

func (s *scope) setDetached(ctx context.Context, infrastructure *unstructured.Unstructured, detached bool) error {
	host, err := machines.BareMetalHost(ctx, s.Client, infrastructure)
	if err != nil || host == nil {
		return err
	}
	notes := host.GetAnnotations()
	if _, is := notes[annotationDetached]; is == detached {
		return nil
	}
	changed := host.DeepCopy()
	if notes = changed.GetAnnotations(); notes == nil {
		notes = map[string]string{}
	}
	if detached {
		notes[annotationDetached] = ""
	} else {
		delete(notes, annotationDetached)
	}
	changed.SetAnnotations(notes)
	if err := s.Client.Patch(ctx, changed, client.MergeFrom(host)); err != nil {
		return fmt.Errorf("detach BareMetalHost %s, or take it back: %w", host.GetName(), err)
	}
	return nil
}
