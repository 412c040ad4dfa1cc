package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// MachineObjects is what a Machine consists of. Its config and its infrastructure object may be missing.
type MachineObjects struct {
	Machine        *clusterv1.Machine
	Config         *bootstrapv1.OpenshiftAssistedConfig
	Infrastructure *unstructured.Unstructured
}

// IsRotated reports whether the infrastructure object was made of another template than the control plane names. It is
// false if the object does not record its template.
func (m *MachineObjects) IsRotated(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec) bool {
	kind, name := m.clonedFrom()
	ref := spec.MachineTemplate.Spec.InfrastructureRef
	return kind != "" && name != "" && (name != ref.Name || kind != ref.GroupKind().String())
}

func (m *MachineObjects) clonedFrom() (kind, name string) {
	if m.Infrastructure == nil {
		return "", ""
	}
	annotations := m.Infrastructure.GetAnnotations()
	return annotations[clusterv1.TemplateClonedFromGroupKindAnnotation], annotations[clusterv1.TemplateClonedFromNameAnnotation]
}

// ClonedFrom is the name of the template that the infrastructure object was made of.
func (m *MachineObjects) ClonedFrom() string { _, name := m.clonedFrom(); return name }

// Outdated are the fields in which a Machine is not what its control plane says, and that only another Machine can
// follow. The version is not among them: OpenShift is upgraded where it runs. was and is are the template that it was
// made of and the one that is named now, nil where they are not there: they show what of the template differs.
func (m *MachineObjects) Outdated(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec, domains []clusterv1.FailureDomain, was,
	is *unstructured.Unstructured) []string {
	var fields []string
	if m.IsRotated(spec) {
		kind, name := m.clonedFrom()
		kind, _, _ = strings.Cut(kind, ".")
		ref := spec.MachineTemplate.Spec.InfrastructureRef
		text := fmt.Sprintf("spec.machineTemplate.spec.infrastructureRef: %s %s, %s %s required", kind, name, ref.Kind, ref.Name)
		if differs := templateFields(was, is); len(differs) > 0 {
			text += " (differs in " + strings.Join(differs, ", ") + ")"
		}
		fields = append(fields, text)
	}
	if m.Config != nil {
		wanted, have := fieldsOf(&spec.OpenshiftAssistedConfigSpec), fieldsOf(&m.Config.Spec)
		for _, name := range differing(wanted, have) {
			if !slices.Contains(inPlace(), name) {
				fields = append(fields, "spec.openshiftAssistedConfigSpec."+name)
			}
		}
	}
	if isStray(m.Machine, domains) {
		fields = append(fields, fmt.Sprintf("spec.failureDomain: %s is not a failure domain of the control plane any more",
			m.Machine.Spec.FailureDomain))
	}
	return fields
}

// Expired reports whether a Machine was made before spec.rollout.after, and that moment has passed.
func Expired(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *clusterv1.Machine, now time.Time) bool {
	after := spec.Rollout.After
	return !after.IsZero() && !now.Before(after.Time) && m.CreationTimestamp.Before(&after)
}

// ExpiredField says so as Outdated does.
func ExpiredField(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec) string {
	return "spec.rollout.after: " + spec.Rollout.After.UTC().Format(time.RFC3339) + " has passed"
}

// inPlace are the fields of a config that its node follows.
func inPlace() []string { return []string{"nodeLabels", "taints", "allowedAddresses"} }

// templateFields are the fields in which two templates of machines differ.
func templateFields(was, is *unstructured.Unstructured) []string {
	if was == nil || is == nil {
		return nil
	}
	of := func(u *unstructured.Unstructured) map[string]any {
		fields, _, _ := unstructured.NestedMap(u.Object, "spec", "template", "spec")
		return fields
	}
	var paths []string
	for _, name := range differing(of(was), of(is)) {
		paths = append(paths, "spec.template.spec."+name)
	}
	return paths
}

func fieldsOf(spec *bootstrapv1.OpenshiftAssistedConfigSpec) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil { // our own type gives no error
		return nil
	}
	return fields
}

// differing are the names of the fields in which two objects differ, in their order. An empty value is as
// good as none.
func differing(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !equality.Semantic.DeepEqual(a[name], b[name]) && !(isEmpty(a[name]) && isEmpty(b[name])) {
			names = append(names, name)
		}
	}
	return names
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
