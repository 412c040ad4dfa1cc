package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-controlplane-cluster-x-k8s-io-v1beta1-openshiftassistedcontrolplane,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=openshiftassistedcontrolplanes,versions=v1beta1,name=default.openshiftassistedcontrolplane.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-controlplane-cluster-x-k8s-io-v1beta1-openshiftassistedcontrolplane,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=openshiftassistedcontrolplanes,versions=v1beta1,name=validation.openshiftassistedcontrolplane.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-controlplane-cluster-x-k8s-io-v1beta1-openshiftassistedcontrolplanetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=openshiftassistedcontrolplanetemplates,versions=v1beta1,name=validation.openshiftassistedcontrolplanetemplate.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultReplicas is how many machines a control plane has if the field is not set, as in an install-config.
const defaultReplicas = 3

// controlPlaneDefaulter fills in what Cluster API's contract needs.
type controlPlaneDefaulter struct{}

// Default sets the number of machines, and writes the version as Cluster API does.
func (controlPlaneDefaulter) Default(_ context.Context, c *controlplanev1.OpenshiftAssistedControlPlane) error {
	if c.Spec.Replicas == nil {
		c.Spec.Replicas = new(int32(defaultReplicas))
	}
	if v := c.Spec.Version; v != "" && !strings.HasPrefix(v, "v") {
		if _, err := version.ParseSemantic(v); err == nil { // else it is refused as it was written
			c.Spec.Version = "v" + v
		}
	}
	return nil
}

func controlPlanes() validator[*controlplanev1.OpenshiftAssistedControlPlane] {
	return validator[*controlplanev1.OpenshiftAssistedControlPlane]{
		kind: schema.GroupKind{Group: controlplanev1.Group, Kind: controlplanev1.ControlPlaneKind},
		content: func(c *controlplanev1.OpenshiftAssistedControlPlane) any {
			return []any{c.Spec, c.Annotations[controlplanev1.InstallConfigOverrideAnnotation], overridesIn(c.Annotations)}
		},
		check:   checkControlPlane,
		change:  changedControlPlane,
		isTaken: isInstalled,
	}
}

// isInstalled reports whether a control plane says that its cluster is installed. It installs none then: the cluster has
// to answer by its kubeconfig.
func isInstalled(c *controlplanev1.OpenshiftAssistedControlPlane) bool {
	return c.Annotations[clusterspec.AnnotationOpenShiftID] != ""
}

func controlPlaneTemplates() validator[*controlplanev1.OpenshiftAssistedControlPlaneTemplate] {
	template := func(t *controlplanev1.OpenshiftAssistedControlPlaneTemplate) any { return t.Spec.Template }
	return validator[*controlplanev1.OpenshiftAssistedControlPlaneTemplate]{
		kind:    schema.GroupKind{Group: controlplanev1.Group, Kind: controlplanev1.ControlPlaneTemplateKind},
		content: template, template: template,
		check: func(ctx context.Context, t *controlplanev1.OpenshiftAssistedControlPlaneTemplate) (admission.Warnings, field.ErrorList) {
			at, of := field.NewPath("spec", "template"), &t.Spec.Template
			w := newWanted()
			w.partial = true
			w.cluster.Spec.Topology.ControlPlane = new(replicasFor(&of.Spec.Config))
			warnings, wrong := checkControlPlaneSpec(ctx, w, &of.Spec, of.ObjectMeta.Annotations, at)
			return warnings, append(wrong, of.ObjectMeta.Validate(at.Child("metadata"))...)
		},
	}
}

// replicasFor is a number of machines that fits the settings of a cluster, for a template that does not have one.
func replicasFor(config *controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) int {
	if config.Fencing != nil || valueOf(config.ArbiterReplicas) > 0 {
		return 2
	}
	return defaultReplicas
}

func checkControlPlane(ctx context.Context, c *controlplanev1.OpenshiftAssistedControlPlane) (admission.Warnings, field.ErrorList) {
	w := newWanted()
	if name := c.Labels[clusterv1.ClusterNameLabel]; name != "" { // what the cluster is called without config.clusterName
		w.cluster.Metadata.Name = name
	}
	replicas := defaultReplicas
	if c.Spec.Replicas != nil {
		replicas = int(*c.Spec.Replicas)
	}
	w.cluster.Spec.Topology.ControlPlane = &replicas
	common := controlplanev1.OpenshiftAssistedControlPlaneTemplateResourceSpec{
		DistributionVersion: c.Spec.DistributionVersion, OpenshiftAssistedConfigSpec: c.Spec.OpenshiftAssistedConfigSpec,
		Config: c.Spec.Config, Rollout: c.Spec.Rollout, Remediation: c.Spec.Remediation, Upgrade: c.Spec.Upgrade,
	}
	common.MachineTemplate.ObjectMeta = c.Spec.MachineTemplate.ObjectMeta
	common.MachineTemplate.Spec = c.Spec.MachineTemplate.Spec.OpenshiftAssistedControlPlaneMachineSettings
	warnings, wrong := checkControlPlaneSpec(ctx, w, &common, c.Annotations, nil)
	at := field.NewPath("spec")
	warnings = append(warnings, missingPullSecret(&common, at.Child("config", "pullSecretRef"))...)
	if c.Spec.DistributionVersion == "" {
		wrong = append(wrong, field.Required(at.Child("distributionVersion"), "write the complete version of OpenShift, such as 4.20.3"))
	}
	if v := c.Spec.Version; v != "" {
		if _, err := version.ParseSemantic(v); err != nil {
			wrong = append(wrong, invalid(at.Child("version"), fmt.Sprintf("%q is not a version of Kubernetes: write it as v1.33.4, or omit it",
				v)))
		}
	}
	if c.Spec.OpenshiftAssistedConfigSpec.Hostname != "" && replicas > 1 {
		wrong = append(wrong, invalid(at.Child("openshiftAssistedConfigSpec", "hostname"),
			fmt.Sprintf("gives the same name to %d machines: omit it, or use nodeRegistration.name: $METADATA_NAME", replicas)))
	}
	if replicas == 1 && c.Spec.Rollout.Strategy.Type == controlplanev1.RollingUpdateStrategy {
		wrong = append(wrong, invalid(at.Child("rollout", "strategy", "type"),
			"a single node is the whole cluster, which is lost when its machine is replaced: set OnDelete, or omit it"))
	}
	return warnings, wrong
}

// checkControlPlaneSpec says what is wrong with what a control plane and a template of control
// planes both say. template is where the template stands, nil for a control plane.
func checkControlPlaneSpec(ctx context.Context, w *wanted, s *controlplanev1.OpenshiftAssistedControlPlaneTemplateResourceSpec,
	annotations map[string]string, template *field.Path) (admission.Warnings, field.ErrorList) {
	at, annotationsAt := template.Child("spec"), template.Child("metadata", "annotations")
	w.wrong = append(w.wrong, checkVersion(s.DistributionVersion, at.Child("distributionVersion"))...)
	w.addControlPlane(s, at)
	machine := at.Child("openshiftAssistedConfigSpec")
	w.addConfig(&s.OpenshiftAssistedConfigSpec, machine)
	if text := annotations[controlplanev1.InstallConfigOverrideAnnotation]; text != "" {
		var overrides map[string]any
		w.object(text, annotationsAt.Key(controlplanev1.InstallConfigOverrideAnnotation), &overrides)
	}
	wrong := w.problems(ctx)
	wrong = append(wrong, checkLabels(&s.OpenshiftAssistedConfigSpec, machine)...)
	overrides, overrideAt := overridesOfMachines(
		annotations, annotationsAt, s.MachineTemplate.ObjectMeta.Annotations, at.Child("machineTemplate", "metadata", "annotations"))
	warnings, more := checkUserData(&s.OpenshiftAssistedConfigSpec, overrides, machine, overrideAt)
	wrong = append(wrong, more...)
	wrong = append(wrong, s.MachineTemplate.ObjectMeta.Validate(at.Child("machineTemplate", "metadata"))...)
	wrong = append(wrong, checkWaits(s, at)...)
	wrong = append(wrong, checkRollout(&s.Rollout, at.Child("rollout"))...)
	told, wrongCapabilities := checkCapabilities(s, at.Child("config", "capabilities"))
	warnings = append(append(warnings, told...), unknownOperators(s.Config.Operators, at.Child("config", "operators"))...)
	warnings = append(warnings, unknownValidations(s.Config.IgnoreValidations, at.Child("config", "ignoreValidations"))...)
	warnings = append(warnings, unusualChannel(s.Upgrade.Channel, at.Child("upgrade", "channel"))...)
	return warnings, append(wrong, wrongCapabilities...)
}

// overridesOfMachines are the Ignition configs that annotations say for the machines of a control plane, and where each
// stands: where its own annotations and those of its template of Machines say the same, its own count.
func overridesOfMachines(
	own map[string]string, ownAt *field.Path, machines map[string]string, machinesAt *field.Path,
) (map[string]string, func(key string) *field.Path) {
	overrides, first := overridesIn(machines), overridesIn(own)
	maps.Copy(overrides, first)
	return overrides, func(key string) *field.Path {
		if _, is := first[key]; is {
			return ownAt.Key(key)
		}
		return machinesAt.Key(key)
	}
}

func checkWaits(s *controlplanev1.OpenshiftAssistedControlPlaneTemplateResourceSpec, at *field.Path) field.ErrorList {
	var wrong field.ErrorList
	config := at.Child("config")
	if wait := s.Config.WorkerWait; wait != nil && wait.Duration < 0 {
		wrong = append(wrong, invalid(config.Child("workerWait"), "is negative: write how long to wait, as 10m"))
	}
	if s.Config.ReleaseImage != "" && s.Config.ImageSetRef != nil {
		wrong = append(wrong, invalid(config.Child("imageSetRef"),
			"cannot be set together with releaseImage, because both define the release: keep one of them"))
	}
	for i, gate := range s.Upgrade.Acknowledge {
		if !strings.HasPrefix(gate, "ack-") {
			wrong = append(wrong, invalid(at.Child("upgrade", "acknowledge").Index(i),
				fmt.Sprintf("%q is not a gate of admin-gates: write its key, such as ack-4.19-kube-1.33-api-removals-in-4.20", gate)))
		}
	}
	return wrong
}

var wholeVersion = regexp.MustCompile(`^(\d+)\.(\d+)\.\d+(-[0-9A-Za-z.-]+)?$`)

// oldestMinor is that of the oldest OpenShift 4 that is installed here.
const oldestMinor = 14

// checkVersion says what is wrong with the version of OpenShift, beyond the list of known versions.
func checkVersion(v string, at *field.Path) field.ErrorList {
	if v == "" {
		return nil
	}
	parts := wholeVersion.FindStringSubmatch(v)
	if parts == nil {
		return field.ErrorList{invalid(at, fmt.Sprintf("%q is not a complete version of OpenShift: write all three "+
			"numbers, such as 4.20.3", v))}
	}
	major, _ := strconv.Atoi(parts[1])
	minor, _ := strconv.Atoi(parts[2])
	if major < 4 || major == 4 && minor < oldestMinor {
		return field.ErrorList{invalid(at, fmt.Sprintf("OpenShift %s is too old for these providers: use 4.%d.0 or newer",
			v, oldestMinor))}
	}
	return nil
}

func checkRollout(rollout *controlplanev1.RolloutSpec, at *field.Path) field.ErrorList {
	surge := rollout.Strategy.RollingUpdate.MaxSurge
	if surge == nil || *surge == intstr.FromInt32(0) || *surge == intstr.FromInt32(1) {
		return nil
	}
	return field.ErrorList{invalid(at.Child("strategy", "rollingUpdate", "maxSurge"),
		fmt.Sprintf("%s machines at once cannot be added to a control plane: use 1 or 0", surge.String()))}
}

// notStarted are the states of a cluster whose installation has not started.
var notStarted = []string{"", "Draft", "Discovering", "Blocked", "Ready"}

// afterStart are the fields of config that count once the installation has started.
var afterStart = []string{
	"pullSecretRef", "releaseImage", "imageRegistryRef", "mirrors", "additionalTrustBundle", "additionalNTPSources",
	"ignitionEndpoint", "ignoreValidations", "holdInstallation", "workerWait", "requiredWorkers", "tags",
}

// changedControlPlane says what may not be changed: what the cluster is called once the service knows it, and what
// only counts for an installation once that has started.
func changedControlPlane(before, after *controlplanev1.OpenshiftAssistedControlPlane) field.ErrorList {
	at := field.NewPath("spec", "config")
	was, is := &before.Spec.Config, &after.Spec.Config
	wrong := field.ErrorList{}
	if valueOf(before.Status.Initialization.ControlPlaneInitialized) || !slices.Contains(notStarted, before.Status.Installation.State) {
		wrong = changes(was, is, at, afterStart,
			"the installation has started, and the service does not accept this change any more: set the old value again, and make the "+
				"change in the cluster itself")
	} else if isRegistered(before) {
		const why = "the service identifies the cluster with it: set the old value again, or create another cluster"
		if was.ClusterName != is.ClusterName {
			wrong = append(wrong, immutable(at.Child("clusterName"), why))
		}
		if was.BaseDomain != is.BaseDomain {
			wrong = append(wrong, immutable(at.Child("baseDomain"), why))
		}
	}
	return append(wrong, changedVersion(before, after)...)
}

// isRegistered reports whether the service knows the cluster, or is about to.
func isRegistered(plane *controlplanev1.OpenshiftAssistedControlPlane) bool {
	return plane.Annotations[clusterspec.AnnotationRun] != "" || plane.Annotations[clusterspec.AnnotationClusterID] != ""
}

// changedVersion says that a cluster does not go back to an older version.
func changedVersion(before, after *controlplanev1.OpenshiftAssistedControlPlane) field.ErrorList {
	if !valueOf(before.Status.Initialization.ControlPlaneInitialized) || before.Spec.DistributionVersion == after.Spec.DistributionVersion {
		return nil
	}
	runs, err := version.ParseSemantic(before.Status.DistributionVersion)
	if err != nil {
		return nil // not known yet
	}
	wanted, err := version.ParseSemantic(after.Spec.DistributionVersion)
	if err != nil || !wanted.LessThan(runs) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "distributionVersion"),
		fmt.Sprintf("the cluster runs %s, and OpenShift cannot be downgraded: set %[1]s or a newer version",
			before.Status.DistributionVersion))}
}

// keys are the keys of two maps.
func keys(a, b map[string]any) iter.Seq[string] {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return maps.Keys(all)
}

// same reports whether two values of fields are the same.
func same(a, b any) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	return isEmpty(a) && isEmpty(b)
}

// isEmpty reports whether a value means the same as none.
func isEmpty(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && slices.Contains([]string{"null", "{}", "[]", `""`, "false", "0"}, string(text))
}
