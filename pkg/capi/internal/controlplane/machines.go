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
	"k8s.io/client-go/tools/events"
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

// machineMaker makes the Machines of a control plane, and what they refer to.
type machineMaker struct {
	*subject

	live     client.Reader
	recorder events.EventRecorder
}

func (s *scope) machineMaker() *machineMaker {
	return &machineMaker{subject: s.subject, live: s.Live, recorder: s.Recorder}
}

// makeMissing makes the Machines that are missing while there is no installed cluster that they would join.
// It reports whether the cache has yet to show those that were made.
func (f *machineMaker) makeMissing(ctx context.Context) (waits bool, err error) {
	missing := f.replicas() - len(f.living())
	phase := f.phase()
	switch {
	case !f.cluster.DeletionTimestamp.IsZero(): // its workers go first, and then these
		return false, nil
	case missing <= 0:
		f.set(controlplanev1.MachinesCreatedCondition, metav1.ConditionTrue, controlplanev1.MachinesCreatedCondition, "")
		return false, f.noteMade(ctx, f.madeSoFar())
	case phase == lifecycle.Before, phase == lifecycle.Stopped:
		return f.makeMachines(ctx, missing)
	}
	return false, nil
}

// madeSoFar is how many Machines were made so far: the recorded number, or more, if a reconcile was interrupted between
// making one and recording it.
func (f *machineMaker) madeSoFar() int {
	noted, _ := strconv.Atoi(f.plane.Annotations[AnnotationMachinesMade])
	made := noted
	for number := noted; number <= noted+len(f.machines); number++ {
		name := f.machineName(number)
		if slices.ContainsFunc(f.machines, func(m *clusterv1.Machine) bool { return m.Name == name }) {
			made = number + 1
		}
	}
	return made
}

// noteMade records that number, if it is not recorded yet.
func (f *machineMaker) noteMade(ctx context.Context, made int) error {
	text := strconv.Itoa(made)
	if made == 0 || f.plane.Annotations[AnnotationMachinesMade] == text {
		return nil
	}
	before := f.plane.DeepCopy()
	f.annotate(AnnotationMachinesMade, text)
	return f.patchNow(ctx, before)
}

// makeMachines makes so many Machines. Those that replace unhealthy ones record which these were.
func (f *machineMaker) makeMachines(ctx context.Context, missing int) (waits bool, err error) {
	made := f.madeSoFar()
	if made > 0 {
		newest := f.machineName(made - 1)
		if !slices.ContainsFunc(f.machines, func(m *clusterv1.Machine) bool { return m.Name == newest }) {
			err := f.live.Get(ctx, client.ObjectKey{Namespace: f.plane.Namespace, Name: newest}, &clusterv1.Machine{})
			if !apierrors.IsNotFound(err) {
				return true, err // where it is there, the cache will show it
			}
		}
	}
	replacing := lifecycle.Replacing(f.plane.Annotations[lifecycle.ReplacingAnnotation])
	for range missing {
		var instead *lifecycle.Remediation
		if len(replacing) > 0 {
			instead, replacing = &replacing[0], replacing[1:]
		}
		if reason, err := f.makeMachine(ctx, f.machineName(made), instead); err != nil {
			f.set(controlplanev1.MachinesCreatedCondition, metav1.ConditionFalse, reason, err.Error())
			if f.phase() == lifecycle.Before { // what was waited for before is there
				f.notAvailable(controlplanev1.ControlPlaneInstallingReason, "the Machines of the control plane cannot be made: "+err.Error())
			}
			return false, err
		}
		made++
	}
	before := f.plane.DeepCopy()
	f.annotate(AnnotationMachinesMade, strconv.Itoa(made))
	f.annotate(lifecycle.ReplacingAnnotation, "")
	if len(replacing) > 0 {
		f.annotate(lifecycle.ReplacingAnnotation, lifecycle.Note(replacing))
	}
	return true, f.patchNow(ctx, before)
}

const suffixLength = 5

// machineName is the name of the Machine of a number, counted from the first that was made.
func (f *machineMaker) machineName(number int) string {
	sum := sha256.Sum256([]byte(string(f.plane.UID) + "/" + strconv.Itoa(number)))
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:suffixLength]
	name := f.plane.Name
	if longest := 63 - suffixLength - 1; len(name) > longest {
		name = name[:longest]
	}
	return name + "-" + suffix
}

// makeMachine makes a Machine with the infrastructure object and the config that it refers to. Objects that are there
// already by these names were made by an interrupted reconcile. instead is the unhealthy Machine that it is made for,
// nil for none.
func (f *machineMaker) makeMachine(ctx context.Context, name string, instead *lifecycle.Remediation) (reason string, err error) {
	owner := metav1.NewControllerRef(f.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane"))
	labels := f.labels()
	annotations := maps.Clone(f.plane.Spec.MachineTemplate.ObjectMeta.Annotations)
	infrastructure, err := f.makeInfrastructure(ctx, name, labels, annotations)
	if err != nil {
		return controlplanev1.InfrastructureTemplateCloningFailedReason, err
	}
	config := &bootstrapv1.OpenshiftAssistedConfig{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.plane.Namespace, Labels: labels, Annotations: f.configAnnotations(annotations),
			OwnerReferences: []metav1.OwnerReference{plain(*owner)},
			Finalizers:      []string{bootstrapv1.ConfigFinalizer}, // which its provider would have to write else
		},
		Spec: f.plane.Spec.OpenshiftAssistedConfigSpec,
	}
	if err := f.create(ctx, config); err != nil {
		return controlplanev1.BootstrapTemplateCloningFailedReason, fmt.Errorf("make OpenshiftAssistedConfig %s: %w", name, err)
	}
	template := &f.plane.Spec.MachineTemplate.Spec
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.plane.Namespace, Labels: labels, Annotations: f.machineAnnotations(instead),
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: f.cluster.Name, Version: cmp.Or(f.plane.Status.Version, f.plane.Spec.Version), FailureDomain: f.failureDomain(ctx),
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion().Group, Kind: "OpenshiftAssistedConfig", Name: name,
			}},
			InfrastructureRef: infrastructure, ReadinessGates: template.ReadinessGates, Taints: template.Taints,
			MinReadySeconds: template.MinReadySeconds,
			Deletion: clusterv1.MachineDeletionSpec{
				NodeDrainTimeoutSeconds:        template.Deletion.NodeDrainTimeoutSeconds,
				NodeVolumeDetachTimeoutSeconds: template.Deletion.NodeVolumeDetachTimeoutSeconds,
				NodeDeletionTimeoutSeconds:     template.Deletion.NodeDeletionTimeoutSeconds,
			},
		},
	}
	if err := f.create(ctx, machine); err != nil {
		return controlplanev1.MachineGenerationFailedReason, fmt.Errorf("make Machine %s: %w", name, err)
	}
	f.machines = append(f.machines, machine)
	f.recorder.Eventf(f.plane, machine, corev1.EventTypeNormal, "MachineCreated", "Create", "made Machine %s", name)
	return "", nil
}

// create makes an object, unless it is there and ours.
func (f *machineMaker) create(ctx context.Context, object client.Object) error {
	err := f.client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := f.live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if !slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == f.plane.UID }) {
		return fmt.Errorf("%s exists but does not belong to the control plane", object.GetName())
	}
	return nil
}

func plain(owner metav1.OwnerReference) metav1.OwnerReference {
	owner.Controller, owner.BlockOwnerDeletion = nil, nil // the Machine will control it
	return owner
}

func (f *machineMaker) makeInfrastructure(ctx context.Context, name string, labels,
	annotations map[string]string) (clusterv1.ContractVersionedObjectReference, error) {
	ref := f.plane.Spec.MachineTemplate.Spec.InfrastructureRef
	template, err := f.template(ctx, ref.Name)
	if err == nil {
		err = machines.CheckTemplate(ref)
	}
	if err == nil && template == nil {
		err = fmt.Errorf("there is no template %s %s", ref.Kind, ref.Name)
	}
	if err != nil {
		return clusterv1.ContractVersionedObjectReference{}, err
	}
	owner := plain(*metav1.NewControllerRef(f.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane")))
	object, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template,
		TemplateRef: &corev1.ObjectReference{
			APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Name: template.GetName(), Namespace: template.GetNamespace(),
		},
		Namespace: f.plane.Namespace, Name: name, ClusterName: f.cluster.Name, OwnerRef: &owner, Labels: labels, Annotations: annotations,
	})
	if err != nil {
		return clusterv1.ContractVersionedObjectReference{}, fmt.Errorf("make an object of the template %s %s: %w", ref.Kind, ref.Name, err)
	}
	kind := object.GroupVersionKind()
	if err := f.create(ctx, object); err != nil {
		return clusterv1.ContractVersionedObjectReference{}, fmt.Errorf("make %s %s: %w", kind.Kind, name, err)
	}
	return clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: name}, nil
}

// labels are those of the Machines of the control plane, and of what they refer to.
func (f *machineMaker) labels() map[string]string {
	labels := maps.Clone(f.plane.Spec.MachineTemplate.ObjectMeta.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, f.ownLabels())
	return labels
}

// ownLabels are those of them that no template says.
func (f *machineMaker) ownLabels() map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel: f.cluster.Name, clusterv1.MachineControlPlaneLabel: "",
		clusterv1.MachineControlPlaneNameLabel: nameLabel(f.plane.Name),
	}
}

// machineAnnotations are those of a Machine: those of the template, with a record of their keys, and the hooks that
// hold it while the cluster is installed, and until its member of etcd is gone.
func (f *machineMaker) machineAnnotations(instead *lifecycle.Remediation) map[string]string {
	template := &f.plane.Spec.MachineTemplate.ObjectMeta
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
func (f *machineMaker) configAnnotations(template map[string]string) map[string]string {
	out := maps.Clone(template)
	for _, key := range userdata.OverrideAnnotations() {
		if value, said := f.plane.Annotations[key]; said {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// failureDomain is the one for the next Machine: that with the fewest, those that are to be replaced aside.
func (f *machineMaker) failureDomain(ctx context.Context) string {
	stay := slices.DeleteFunc(f.living(), func(m *clusterv1.Machine) bool { return conditions.IsFalse(m, clusterv1.MachineUpToDateCondition) })
	return failuredomains.PickFewest(ctx, f.domains(), collections.FromMachines(f.living()...), collections.FromMachines(stay...))
}
