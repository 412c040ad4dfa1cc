package controlplane

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/failuredomains"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
)

// AnnotationMachinesMade is how many Machines were ever made for a control plane. The names of the next follow from it,
// so that a Machine is never made twice, even if a cache is out of date.
const AnnotationMachinesMade = "oaictl.io/machines-made"

// makeMissing makes the Machines that are missing while there is no installed cluster that they would join.
// It reports whether the cache has yet to show those that were made.
func (s *scope) makeMissing(ctx context.Context) (waits bool, err error) {
	missing := s.replicas() - len(s.living())
	phase := s.phase()
	switch {
	case !s.cluster.DeletionTimestamp.IsZero(): // its workers go first, and then these
		return false, nil
	case missing <= 0:
		s.set(controlplanev1.MachinesCreatedCondition, metav1.ConditionTrue, controlplanev1.MachinesCreatedCondition, "")
		return false, s.noteMade(ctx, s.madeSoFar())
	case phase == lifecycle.Before, phase == lifecycle.Stopped:
		return s.makeMachines(ctx, missing)
	}
	return false, nil
}

// madeSoFar is how many Machines were made so far: the recorded number, or more, if a reconcile was interrupted between
// making one and recording it.
func (s *scope) madeSoFar() int {
	noted, _ := strconv.Atoi(s.plane.Annotations[AnnotationMachinesMade])
	made := noted
	for number := noted; number <= noted+len(s.machines); number++ {
		name := s.machineName(number)
		if slices.ContainsFunc(s.machines, func(m *clusterv1.Machine) bool { return m.Name == name }) {
			made = number + 1
		}
	}
	return made
}

// noteMade records that number, if it is not recorded yet.
func (s *scope) noteMade(ctx context.Context, made int) error {
	text := strconv.Itoa(made)
	if made == 0 || s.plane.Annotations[AnnotationMachinesMade] == text {
		return nil
	}
	before := s.plane.DeepCopy()
	s.annotate(AnnotationMachinesMade, text)
	return s.patchNow(ctx, before)
}

// makeMachines makes so many Machines. Those that replace unhealthy ones record which these were.
func (s *scope) makeMachines(ctx context.Context, missing int) (waits bool, err error) {
	made := s.madeSoFar()
	if made > 0 {
		newest := s.machineName(made - 1)
		if !slices.ContainsFunc(s.machines, func(m *clusterv1.Machine) bool { return m.Name == newest }) {
			err := s.Live.Get(ctx, client.ObjectKey{Namespace: s.plane.Namespace, Name: newest}, &clusterv1.Machine{})
			if !apierrors.IsNotFound(err) {
				return true, err // where it is there, the cache will show it
			}
		}
	}
	replacing := lifecycle.Replacing(s.plane.Annotations[lifecycle.ReplacingAnnotation])
	for range missing {
		var instead *lifecycle.Remediation
		if len(replacing) > 0 {
			instead, replacing = &replacing[0], replacing[1:]
		}
		if reason, err := s.makeMachine(ctx, s.machineName(made), instead); err != nil {
			s.set(controlplanev1.MachinesCreatedCondition, metav1.ConditionFalse, reason, err.Error())
			if s.phase() == lifecycle.Before { // what was waited for before is there
				s.notAvailable(controlplanev1.ControlPlaneInstallingReason, "the Machines of the control plane cannot be made: "+err.Error())
			}
			return false, err
		}
		made++
	}
	before := s.plane.DeepCopy()
	s.annotate(AnnotationMachinesMade, strconv.Itoa(made))
	s.annotate(lifecycle.ReplacingAnnotation, "")
	if len(replacing) > 0 {
		s.annotate(lifecycle.ReplacingAnnotation, lifecycle.Note(replacing))
	}
	return true, s.patchNow(ctx, before)
}

// patchNow writes the annotations of the control plane if no other client has written it meanwhile. Its status stays as
// it is being put together.
func (s *scope) patchNow(ctx context.Context, before *controlplanev1.OpenshiftAssistedControlPlane) error {
	status := s.plane.Status
	if err := s.Client.Patch(ctx, s.plane, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	s.plane.Status = status
	return nil
}

const suffixLength = 5

// machineName is the name of the Machine of a number, counted from the first that was made.
func (s *scope) machineName(number int) string {
	sum := sha256.Sum256([]byte(string(s.plane.UID) + "/" + strconv.Itoa(number)))
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:suffixLength]
	name := s.plane.Name
	if longest := 63 - suffixLength - 1; len(name) > longest {
		name = name[:longest]
	}
	return name + "-" + suffix
}

// makeMachine makes a Machine with the infrastructure object and the config that it refers to. Objects that are there
// already by these names were made by an interrupted reconcile. instead is the unhealthy Machine that it is made for,
// nil for none.
func (s *scope) makeMachine(ctx context.Context, name string, instead *lifecycle.Remediation) (reason string, err error) {
	owner := metav1.NewControllerRef(s.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane"))
	labels := s.labels()
	annotations := maps.Clone(s.plane.Spec.MachineTemplate.ObjectMeta.Annotations)
	infrastructure, err := s.makeInfrastructure(ctx, name, labels, annotations)
	if err != nil {
		return controlplanev1.InfrastructureTemplateCloningFailedReason, err
	}
	config := &bootstrapv1.OpenshiftAssistedConfig{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.plane.Namespace, Labels: labels, Annotations: s.configAnnotations(annotations),
			OwnerReferences: []metav1.OwnerReference{plain(*owner)},
			Finalizers:      []string{bootstrapv1.ConfigFinalizer}, // which its provider would have to write else
		},
		Spec: s.plane.Spec.OpenshiftAssistedConfigSpec,
	}
	if err := s.create(ctx, config); err != nil {
		return controlplanev1.BootstrapTemplateCloningFailedReason, fmt.Errorf("make OpenshiftAssistedConfig %s: %w", name, err)
	}
	template := &s.plane.Spec.MachineTemplate.Spec
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.plane.Namespace, Labels: labels, Annotations: s.machineAnnotations(instead), OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: s.cluster.Name, Version: cmp.Or(s.plane.Status.Version, s.plane.Spec.Version), FailureDomain: s.failureDomain(ctx),
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion().Group, Kind: "OpenshiftAssistedConfig", Name: name,
			}},
			InfrastructureRef: infrastructure, ReadinessGates: template.ReadinessGates, Taints: template.Taints, MinReadySeconds: template.MinReadySeconds,
			Deletion: clusterv1.MachineDeletionSpec{
				NodeDrainTimeoutSeconds:        template.Deletion.NodeDrainTimeoutSeconds,
				NodeVolumeDetachTimeoutSeconds: template.Deletion.NodeVolumeDetachTimeoutSeconds,
				NodeDeletionTimeoutSeconds:     template.Deletion.NodeDeletionTimeoutSeconds,
			},
		},
	}
	if err := s.create(ctx, machine); err != nil {
		return controlplanev1.MachineGenerationFailedReason, fmt.Errorf("make Machine %s: %w", name, err)
	}
	s.machines = append(s.machines, machine)
	s.Recorder.Eventf(s.plane, machine, corev1.EventTypeNormal, "MachineCreated", "Create", "made Machine %s", name)
	return "", nil
}

// create makes an object, unless it is there and ours.
func (s *scope) create(ctx context.Context, object client.Object) error {
	err := s.Client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if !slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == s.plane.UID }) {
		return fmt.Errorf("%s is there and is not the control plane's", object.GetName())
	}
	return nil
}

func plain(owner metav1.OwnerReference) metav1.OwnerReference {
	owner.Controller, owner.BlockOwnerDeletion = nil, nil // the Machine will control it
	return owner
}

func (s *scope) makeInfrastructure(ctx context.Context, name string, labels, annotations map[string]string) (clusterv1.ContractVersionedObjectReference, error) {
	ref := s.plane.Spec.MachineTemplate.Spec.InfrastructureRef
	template, err := s.template(ctx, ref.Name)
	if err == nil {
		err = machines.CheckTemplate(ref)
	}
	if err == nil && template == nil {
		err = fmt.Errorf("there is no template %s %s", ref.Kind, ref.Name)
	}
	if err != nil {
		return clusterv1.ContractVersionedObjectReference{}, err
	}
	owner := plain(*metav1.NewControllerRef(s.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane")))
	object, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template,
		TemplateRef: &corev1.ObjectReference{
			APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Name: template.GetName(), Namespace: template.GetNamespace(),
		},
		Namespace: s.plane.Namespace, Name: name, ClusterName: s.cluster.Name, OwnerRef: &owner, Labels: labels, Annotations: annotations,
	})
	if err != nil {
		return clusterv1.ContractVersionedObjectReference{}, fmt.Errorf("make an object of the template %s %s: %w", ref.Kind, ref.Name, err)
	}
	kind := object.GroupVersionKind()
	if err := s.create(ctx, object); err != nil {
		return clusterv1.ContractVersionedObjectReference{}, fmt.Errorf("make %s %s: %w", kind.Kind, name, err)
	}
	return clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: name}, nil
}

// labels are those of the Machines of the control plane, and of what they refer to.
func (s *scope) labels() map[string]string {
	labels := maps.Clone(s.plane.Spec.MachineTemplate.ObjectMeta.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, s.ownLabels())
	return labels
}

// ownLabels are those of them that no template says.
func (s *scope) ownLabels() map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel: s.cluster.Name, clusterv1.MachineControlPlaneLabel: "", clusterv1.MachineControlPlaneNameLabel: nameLabel(s.plane.Name),
	}
}

// machineAnnotations are those of a Machine: those of the template, with a record of their keys, and the hooks that
// hold it while the cluster is installed, and until its member of etcd is gone.
func (s *scope) machineAnnotations(instead *lifecycle.Remediation) map[string]string {
	template := &s.plane.Spec.MachineTemplate.ObjectMeta
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lifecycle.HookAnnotation], annotations[lifecycle.DrainHookAnnotation] = lifecycle.HookOwner, lifecycle.HookOwner
	if applied := lifecycle.AppliedOf(template); applied != "" {
		annotations[lifecycle.AppliedAnnotation] = applied
	}
	if instead != nil {
		annotations[lifecycle.RemediationForAnnotation] = lifecycle.Note(instead)
	}
	return annotations
}

// nameLabel is a name as the value of a label, which is shorter than a name may be.
func nameLabel(name string) string {
	if len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "hash_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:8])) + "_z"
}

// configAnnotations are those of the template, and of the control plane's own those by which it has
// always been said how its machines boot.
func (s *scope) configAnnotations(template map[string]string) map[string]string {
	out := maps.Clone(template)
	for _, key := range userdata.OverrideAnnotations() {
		if value, said := s.plane.Annotations[key]; said {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// failureDomain is the one for the next Machine: that with the fewest, those that are to be replaced aside.
func (s *scope) failureDomain(ctx context.Context) string {
	stay := slices.DeleteFunc(s.living(), func(m *clusterv1.Machine) bool { return conditions.IsFalse(m, clusterv1.MachineUpToDateCondition) })
	return failuredomains.PickFewest(ctx, s.domains(), collections.FromMachines(s.living()...), collections.FromMachines(stay...))
}
