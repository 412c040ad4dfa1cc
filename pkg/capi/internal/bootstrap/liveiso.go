package bootstrap

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		s.set(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionFalse, bootstrapv1.WaitingForImageReason, "the machine was provisioned with another discovery image than the present one")
		return s.emptySecret(ctx)
	}
	patched := infrastructure.DeepCopy()
	if err := unstructured.SetNestedField(patched.Object, url, "spec", "image", "url"); err != nil {
		return fmt.Errorf("set the image of %s %s: %w", infrastructure.GetKind(), infrastructure.GetName(), err)
	}
	if err := s.Client.Patch(ctx, patched, client.MergeFrom(infrastructure)); err != nil {
		s.waitForData(bootstrapv1.WaitingForImageReason, err.Error())
		return fmt.Errorf("set the image of %s %s: %w", infrastructure.GetKind(), infrastructure.GetName(), err)
	}
	s.waitForData(bootstrapv1.WaitingForImageReason, "waiting for the discovery image to be in "+infrastructure.GetKind()+" "+infrastructure.GetName())
	return nil
}

// annotationDetached has the Bare Metal Operator leave a machine alone.
const annotationDetached = "baremetalhost.metal3.io/detached"

// detach has the Bare Metal Operator leave a machine alone once it boots from its disk: the operator would
// have it boot the discovery image at each start. A machine that is given up is its own again.
func (s *scope) detach(ctx context.Context, infrastructure *unstructured.Unstructured) error {
	givenUp := !s.machine.DeletionTimestamp.IsZero()
	if infrastructure == nil || !givenUp && (s.host == nil || !s.host.HasRebooted()) {
		return nil
	}
	host, err := machines.BareMetalHost(ctx, s.Client, infrastructure)
	if err != nil || host == nil {
		return err
	}
	notes := host.GetAnnotations()
	if _, is := notes[annotationDetached]; is != givenUp {
		return nil
	}
	changed := host.DeepCopy()
	if notes = changed.GetAnnotations(); notes == nil {
		notes = map[string]string{}
	}
	if givenUp {
		delete(notes, annotationDetached)
	} else {
		notes[annotationDetached] = ""
	}
	changed.SetAnnotations(notes)
	if err := s.Client.Patch(ctx, changed, client.MergeFrom(host)); err != nil {
		return fmt.Errorf("detach BareMetalHost %s, or take it back: %w", host.GetName(), err)
	}
	return nil
}
