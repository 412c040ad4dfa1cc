package lifecycle

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// AppliedAnnotation is on a Machine: the keys of the labels and annotations that it, its config and its infrastructure
// object have from the control plane's template. What the template has no more is removed from them; what another
// client has put there stays.
const AppliedAnnotation = "oaictl.io/template-metadata"

// Applied are such keys.
type Applied struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// AppliedOf are the keys that follow from a template; "" where it has none.
func AppliedOf(template *clusterv1.ObjectMeta) string {
	if len(template.Labels) == 0 && len(template.Annotations) == 0 {
		return ""
	}
	return Note(Applied{Labels: slices.Sorted(maps.Keys(template.Labels)), Annotations: slices.Sorted(maps.Keys(template.Annotations))})
}

// defaultNodeDeletion is what Cluster API fills in for how long it tries to delete a Node.
const defaultNodeDeletion = 10

// Apply brings into a Machine with its objects what follows a change of the control plane where they are.
// labels are those that every Machine of the control plane has, and version is the one of Kubernetes that its
// node runs, "" where that is not known. The Machine remembers what it has from the template: it is to be
// written last.
func (m *MachineObjects) Apply(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec, labels map[string]string, version string) {
	template := &spec.MachineTemplate.ObjectMeta
	before := Applied{}
	if json.Unmarshal([]byte(m.Machine.Annotations[AppliedAnnotation]), &before) != nil {
		before = Applied{}
	}
	objects := []client.Object{m.Machine}
	if m.Config != nil {
		objects = append(objects, m.Config)
	}
	if m.Infrastructure != nil {
		objects = append(objects, m.Infrastructure)
	}
	all := maps.Clone(template.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	for _, o := range objects {
		o.SetLabels(applied(o.GetLabels(), all, before.Labels))
		o.SetAnnotations(applied(o.GetAnnotations(), template.Annotations, before.Annotations))
	}
	m.remember(AppliedOf(template))
	m.settings(&spec.MachineTemplate.Spec.OpenshiftAssistedControlPlaneMachineSettings)
	if version != "" {
		m.Machine.Spec.Version = version
	}
	if c := m.Config; c != nil {
		from := &spec.OpenshiftAssistedConfigSpec
		set(&c.Spec.NodeLabels, from.NodeLabels)
		set(&c.Spec.Taints, from.Taints)
		set(&c.Spec.AllowedAddresses, from.AllowedAddresses)
	}
}

// remember records on the Machine what it has from the template, and that it has the hooks.
func (m *MachineObjects) remember(applied string) {
	annotations := maps.Clone(m.Machine.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[HookAnnotation], annotations[DrainHookAnnotation] = HookOwner, HookOwner
	if applied == "" {
		delete(annotations, AppliedAnnotation)
	} else {
		annotations[AppliedAnnotation] = applied
	}
	m.Machine.Annotations = annotations
}

// ApplyToDeleting brings into a Machine that is being deleted what it has still to do with: for how long its
// node is drained.
func (m *MachineObjects) ApplyToDeleting(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec) {
	m.deletion(spec.MachineTemplate.Spec.Deletion)
}

func (m *MachineObjects) settings(from *controlplanev1.OpenshiftAssistedControlPlaneMachineSettings) {
	to := &m.Machine.Spec
	set(&to.ReadinessGates, from.ReadinessGates)
	set(&to.Taints, from.Taints)
	set(&to.MinReadySeconds, from.MinReadySeconds)
	m.deletion(from.Deletion)
}

func (m *MachineObjects) deletion(deletion controlplanev1.MachineDeletionSpec) {
	to := &m.Machine.Spec
	if deletion.NodeDeletionTimeoutSeconds == nil {
		deletion.NodeDeletionTimeoutSeconds = ptr.To[int32](defaultNodeDeletion)
	}
	set(&to.Deletion.NodeDrainTimeoutSeconds, deletion.NodeDrainTimeoutSeconds)
	set(&to.Deletion.NodeVolumeDetachTimeoutSeconds, deletion.NodeVolumeDetachTimeoutSeconds)
	set(&to.Deletion.NodeDeletionTimeoutSeconds, deletion.NodeDeletionTimeoutSeconds)
}

// set sets a field that means something else.
func set[T any](field *T, value T) {
	if !equality.Semantic.DeepEqual(*field, value) {
		*field = value
	}
}

// applied are labels or annotations with those that are wanted, and without those that were.
func applied(have, wanted map[string]string, before []string) map[string]string {
	out := maps.Clone(have)
	if out == nil && len(wanted) > 0 {
		out = map[string]string{}
	}
	for _, key := range before {
		if _, still := wanted[key]; !still {
			delete(out, key)
		}
	}
	maps.Copy(out, wanted)
	return out
}
