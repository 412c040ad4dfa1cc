package webhook

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-bootstrap-cluster-x-k8s-io-v1beta1-openshiftassistedconfig,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=openshiftassistedconfigs,versions=v1beta1,name=validation.openshiftassistedconfig.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-bootstrap-cluster-x-k8s-io-v1beta1-openshiftassistedconfigtemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=openshiftassistedconfigtemplates,versions=v1beta1,name=validation.openshiftassistedconfigtemplate.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-bootstrap-cluster-x-k8s-io-v1beta1-openshiftassistedconfigtemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=openshiftassistedconfigtemplates,versions=v1beta1,name=default.openshiftassistedconfigtemplate.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// configTemplateDefaulter lets MachineSets of a topology make Machines while the control plane
// is being installed: it is installed together with them.
type configTemplateDefaulter struct{}

// Default says so to Cluster API, unless a person has said something else.
func (configTemplateDefaulter) Default(_ context.Context, t *bootstrapv1.OpenshiftAssistedConfigTemplate) error {
	if _, said := t.Annotations[clusterv1.MachineSetSkipPreflightChecksAnnotation]; !said {
		metav1.SetMetaDataAnnotation(&t.ObjectMeta, clusterv1.MachineSetSkipPreflightChecksAnnotation,
			string(clusterv1.MachineSetPreflightCheckControlPlaneIsStable))
	}
	return nil
}

func bootstrapKind(kind string) schema.GroupKind {
	return schema.GroupKind{Group: bootstrapv1.Group, Kind: kind}
}

func configs() validator[*bootstrapv1.OpenshiftAssistedConfig] {
	return validator[*bootstrapv1.OpenshiftAssistedConfig]{
		kind: bootstrapKind(bootstrapv1.ConfigKind),
		content: func(c *bootstrapv1.OpenshiftAssistedConfig) any {
			return []any{c.Spec, overridesIn(c.Annotations)}
		},
		check: func(ctx context.Context, c *bootstrapv1.OpenshiftAssistedConfig) (admission.Warnings, field.ErrorList) {
			return checkConfig(ctx, &c.Spec, c.Annotations, field.NewPath("spec"), field.NewPath("metadata", "annotations"))
		},
		change: changedConfig,
		isTaken: func(c *bootstrapv1.OpenshiftAssistedConfig) bool { // a new one gets its Machine later
			return util.HasOwner(c.OwnerReferences, clusterv1.GroupVersion.String(), []string{"Machine"})
		},
	}
}

func configTemplates() validator[*bootstrapv1.OpenshiftAssistedConfigTemplate] {
	template := func(t *bootstrapv1.OpenshiftAssistedConfigTemplate) any { return t.Spec.Template }
	return validator[*bootstrapv1.OpenshiftAssistedConfigTemplate]{
		kind: bootstrapKind(bootstrapv1.ConfigTemplateKind), content: template, template: template,
		check: func(ctx context.Context, t *bootstrapv1.OpenshiftAssistedConfigTemplate) (admission.Warnings, field.ErrorList) {
			at, of := field.NewPath("spec", "template"), &t.Spec.Template
			warnings, wrong := checkConfig(ctx, &of.Spec, of.ObjectMeta.Annotations, at.Child("spec"), at.Child("metadata", "annotations"))
			wrong = append(wrong, of.ObjectMeta.Validate(at.Child("metadata"))...)
			if of.Spec.Hostname != "" {
				warnings = append(warnings, at.Child("spec", "hostname").String()+
					": every machine of the template gets this name, so it serves one machine only")
			}
			return warnings, wrong
		},
	}
}

// checkConfig says what is wrong with the settings of a machine.
func checkConfig(ctx context.Context, s *bootstrapv1.OpenshiftAssistedConfigSpec, annotations map[string]string, at,
	annotationsAt *field.Path) (admission.Warnings, field.ErrorList) {
	w := newWanted()
	w.cluster.Spec.OpenShift.Arch = spec.Multi
	w.addConfig(s, at)
	wrong := w.problems(ctx)
	wrong = append(wrong, checkLabels(s, at)...)
	warnings, more := checkUserData(s, annotations, at, annotationsAt.Key)
	return warnings, append(wrong, more...)
}

// checkLabels says what is wrong with labels and selectors, beyond their syntax.
func checkLabels(s *bootstrapv1.OpenshiftAssistedConfigSpec, at *field.Path) field.ErrorList {
	wrong := checkSelector(&s.NMStateConfigLabelSelector, at.Child("nmStateConfigLabelSelector"))
	for key := range s.NodeLabels {
		if strings.HasPrefix(key, "node-role.kubernetes.io/") {
			wrong = append(wrong, invalid(at.Child("nodeLabels").Key(key), "is a role, and the node gets its role from its Machine: omit it"))
		}
	}
	return wrong
}

// overridesIn are those of annotations that hold Ignition configs.
func overridesIn(annotations map[string]string) map[string]string {
	overrides := map[string]string{}
	for _, key := range userdata.OverrideAnnotations() {
		if text, said := annotations[key]; said {
			overrides[key] = text
		}
	}
	return overrides
}

// checkUserData says what is wrong with what becomes Ignition. annotationAt is where an annotation stands.
func checkUserData(
	s *bootstrapv1.OpenshiftAssistedConfigSpec, annotations map[string]string, at *field.Path, annotationAt func(key string) *field.Path,
) (admission.Warnings, field.ErrorList) {
	_, err := userdata.ConfigOf(&bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: *s})
	var wrong field.ErrorList
	for _, each := range parts(err) {
		wrong = append(wrong, toldByUserData(each, at, annotationAt)...)
	}
	overrides := map[string]string{
		at.Child("discoveryIgnitionOverride").String(): s.DiscoveryIgnitionOverride,
		at.Child("ignitionOverride").String():          s.IgnitionOverride,
	}
	for key, text := range overridesIn(annotations) {
		overrides[annotationAt(key).String()] = text
	}
	var warnings admission.Warnings
	for where, text := range overrides {
		if text == "" {
			continue
		}
		if report, err := ignition.Validate(where, []byte(text)); err == nil {
			for _, warning := range report.Warnings() {
				warnings = append(warnings, where+": "+warning)
			}
		}
	}
	slices.Sort(warnings)
	return warnings, wrong
}

// parts are the errors that were joined.
func parts(err error) []error {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// toldByUserData are the errors of a text "FIELD: what is wrong", or of an Ignition config that
// is called by its field.
func toldByUserData(err error, at *field.Path, annotationAt func(key string) *field.Path) field.ErrorList {
	name, text, _ := strings.Cut(err.Error(), ": ")
	invalidConfig, isConfig := errors.AsType[*ignition.Invalid](err)
	if isConfig {
		name = invalidConfig.Report.Name
	}
	where := name
	if below, is := strings.CutPrefix(name, "spec."); is {
		where = at.String() + "." + below
	} else if below, is := strings.CutPrefix(name, "metadata.annotations["); is {
		key, rest, _ := strings.Cut(below, "]")
		where = annotationAt(key).String() + rest
	}
	if !isConfig {
		return field.ErrorList{invalidAt(where, text)}
	}
	var wrong field.ErrorList
	for _, entry := range invalidConfig.Report.Entries {
		if entry.Severity != ignition.Error {
			continue
		}
		text := entry.Message
		if entry.Path != "" {
			text = entry.Path + ": " + text
		}
		wrong = append(wrong, invalidAt(where, "is not an Ignition config that a machine can use: "+text))
	}
	return wrong
}

// afterwards are the fields of a config that are applied to a node that is there.
var afterwards = []string{"nodeLabels", "taints", "allowedAddresses"}

// changedConfig says what may not be changed once the machine has its user data.
func changedConfig(before, after *bootstrapv1.OpenshiftAssistedConfig) field.ErrorList {
	if !valueOf(before.Status.Initialization.DataSecretCreated) {
		return nil
	}
	return changes(&before.Spec, &after.Spec, field.NewPath("spec"), afterwards,
		"the machine already has its user data, so a change has no effect: set the old value again, and replace the Machine with one "+
			"that has another config")
}

// changes are the fields of an object that differ, except those that may.
func changes(before, after any, at *field.Path, allowed []string, why string) field.ErrorList {
	was, is := fieldsOf(before), fieldsOf(after)
	var wrong field.ErrorList
	for _, name := range slices.Sorted(keys(was, is)) {
		if !slices.Contains(allowed, name) && !same(was[name], is[name]) {
			wrong = append(wrong, immutable(at.Child(name), "%s", why))
		}
	}
	return wrong
}

// fieldsOf are the fields of an object by their names.
func fieldsOf(object any) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil { // no type of ours fails
		return nil
	}
	return fields
}
