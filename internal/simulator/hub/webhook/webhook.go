// Package webhook decides as the admission webhooks of the service and of Hive do.
package webhook

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// began reports whether the installation has begun, or ended: from then on its spec is frozen.
func began(aci *apiobject.Object) bool {
	return slices.Contains([]string{hubapi.ReasonInstallationInProgress, hubapi.ReasonInstallationFailed, hubapi.ReasonInstallationCompleted,
		hubapi.ReasonClusterInstalling}, condition.Of(aci, hubapi.ConditionCompleted).Reason)
}

// defaultUserManaged is who manages the network where nothing says so: nil where the service leaves it open.
func defaultUserManaged(s *objects.InstallSpec) *bool {
	switch s.PlatformType {
	case "":
		return new(s.ProvisionRequirements.ControlPlaneAgents == 1)
	case hive.PlatformBareMetal:
		return new(false)
	case hive.PlatformNone, hive.PlatformExternal:
		return new(true)
	}
	return nil
}

// DefaultInstall fills in who manages the network, and reports whether it changed anything.
func DefaultInstall(aci *apiobject.Object) (bool, error) {
	spec, err := objects.Spec[objects.InstallSpec](aci)
	if err != nil || spec.Networking.UserManagedNetworking != nil || began(aci) {
		return false, err
	}
	managed := defaultUserManaged(&spec)
	if managed == nil {
		return false, nil
	}
	return true, unstructured.SetNestedField(aci.Object, *managed, "spec", "networking", "userManagedNetworking")
}

func specs[T any](old, now *apiobject.Object) (before, spec T, err error) {
	if spec, err = objects.Spec[T](now); err == nil && old != nil {
		before, err = objects.Spec[T](old)
	}
	if err != nil {
		err = apierrors.NewBadRequest(err.Error())
	}
	return before, spec, err
}

// ValidateInstall is the verdict on a new AgentClusterInstall, or a new version of an old one.
func ValidateInstall(old, now *apiobject.Object) error {
	before, spec, err := specs[objects.InstallSpec](old, now)
	if err != nil {
		return err
	}
	if old != nil {
		if !reflect.DeepEqual(before.ImageSetRef, spec.ImageSetRef) {
			return apierrors.NewBadRequest("Attempted to change AgentClusterInstall.ImageSetRef which is immutable")
		}
		if began(old) {
			return frozen(old, now)
		}
		// What is left out now is judged by what it was.
		spec.PlatformType = cmp.Or(spec.PlatformType, before.PlatformType)
		if spec.Networking.UserManagedNetworking == nil {
			spec.Networking.UserManagedNetworking = before.Networking.UserManagedNetworking
		}
	}
	if text := platformFault(&spec); text != "" {
		return apierrors.NewConflict(hubapi.Resource(hubapi.KindAgentClusterInstall).GroupResource(), now.GetName(), fmt.Errorf("%s", text))
	}
	return nil
}

// platformFault says why platform, network management and nodes do not go together; "" if they do.
func platformFault(s *objects.InstallSpec) string {
	managed := s.Networking.UserManagedNetworking
	on, off := managed != nil && *managed, managed != nil && !*managed
	single := s.ProvisionRequirements.ControlPlaneAgents == 1
	kind := strings.ToLower(s.PlatformType) // as the service says it
	switch s.PlatformType {
	case "":
		if single && s.ProvisionRequirements.WorkerAgents == 0 && off { // with workers the service does not look
			return "UserManagedNetworking must be set to true with SNO"
		}
	case hive.PlatformBareMetal, hive.PlatformNutanix:
		if on {
			return fmt.Sprintf("Can't set %s platform with user-managed-networking enabled", kind)
		}
		if single && s.PlatformType == hive.PlatformBareMetal {
			return fmt.Sprintf("Can't set %s platform on single node OpenShift", kind)
		}
	case hive.PlatformNone, hive.PlatformExternal:
		if off {
			return fmt.Sprintf("Can't set %s platform with user-managed-networking disabled", kind)
		}
		if s.PlatformType == hive.PlatformExternal && s.External == nil {
			return "External setting must be set when using platform type external"
		}
	}
	if s.External != nil && s.PlatformType != hive.PlatformExternal {
		return "External settings can only be set with external platform type"
	}
	return ""
}

// frozen refuses what may not change once an installation has begun; empty is as good as absent.
func frozen(old, now *apiobject.Object) error {
	free := []string{"clusterMetadata", "ignitionEndpoint"}
	if reason := condition.Of(old, hubapi.ConditionCompleted).Reason; reason == hubapi.ReasonInstallationCompleted ||
		reason == hubapi.ReasonInstallationFailed {
		free = append(free, "provisionRequirements")
	}
	if changed := changedFields(old, now, free); len(changed) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Attempted to change AgentClusterInstall.Spec which is immutable after install started, "+
			"except for ClusterMetadata,IgnitionEndpoint fields. Unsupported change: \n%s", strings.Join(changed, "\n")))
	}
	return nil
}

func changedFields(old, now *apiobject.Object, free []string) []string {
	before, after := specOf(old), specOf(now)
	names := sets.KeySet(before).Union(sets.KeySet(after)).Delete(free...)
	return slices.DeleteFunc(sets.List(names), func(name string) bool {
		return objects.ToJSON(before[name]) == objects.ToJSON(after[name])
	})
}

func specOf(o *apiobject.Object) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	prune(spec)
	return spec
}

func prune(fields map[string]any) {
	objects.DropZero(fields)
	for name, value := range fields {
		if inner, ok := value.(map[string]any); ok {
			if prune(inner); len(inner) == 0 {
				delete(fields, name)
			}
		}
	}
}

// ValidateInfraEnv is the verdict on an InfraEnv. Whether a cluster is installed is asked of installed.
func ValidateInfraEnv(old, now *apiobject.Object, installed func(*hubapi.Reference) bool) error {
	before, spec, err := specs[agentinstall.InfraEnvSpec](old, now)
	if err != nil {
		return err
	}
	if old == nil {
		if spec.ClusterRef != nil && spec.OSImageVersion != "" {
			return apierrors.NewBadRequest("Either Spec.ClusterRef or Spec.OSImageVersion should be specified (not both).")
		}
		return nil
	}
	if !reflect.DeepEqual(before.ClusterRef, spec.ClusterRef) {
		return apierrors.NewBadRequest("Attempted to change Spec.ClusterRef which is immutable after InfraEnv creation.")
	}
	if before.CPUArchitecture != "" && before.CPUArchitecture != spec.CPUArchitecture {
		return apierrors.NewBadRequest("Attempted to change Spec.CpuArchitecture which is immutable after InfraEnv creation.")
	}
	if spec.ClusterRef != nil && spec.OSImageVersion != "" && spec.OSImageVersion != before.OSImageVersion && !installed(spec.ClusterRef) {
		return apierrors.NewBadRequest("spec.OSImageVersion is not valid. It can't be added alongside with a clusterRef when the cluster is " +
			"not installed yet.")
	}
	return nil
}

// ValidateAgent is the webhook's verdict on a change of an Agent.
func ValidateAgent(old, now *apiobject.Object) error {
	before, spec, err := specs[agentinstall.AgentSpec](old, now)
	if err != nil {
		return err
	}
	if spec.InstallationDiskID != "" && spec.InstallationDiskPath != "" {
		return apierrors.NewBadRequest("Either InstallationDiskID or InstallationDiskPath can be set, not both.")
	}
	if reflect.DeepEqual(before.ClusterDeploymentName, spec.ClusterDeploymentName) {
		return nil
	}
	state := apiobject.Text(old, "status", "debugInfo", "state")
	cancels := spec.ClusterDeploymentName == nil && apiobject.Text(old, "status", "kind") == agentinstall.AgentKindAdded
	if busy := strings.HasPrefix(state, "preparing") || strings.HasPrefix(state, "installing"); busy && !cancels {
		return apierrors.NewBadRequest("Attempted to change Spec.ClusterDeploymentName which is immutable during Agent installation.")
	}
	return nil
}

// QueryErrorPrefix marks the label of an Agent whose classification failed.
const QueryErrorPrefix = "QUERYERROR"

// ValidateClassification is the webhook's verdict on an AgentClassification.
func ValidateClassification(old, now *apiobject.Object) error {
	before, spec, err := specs[agentinstall.AgentClassificationSpec](old, now)
	if err != nil {
		return err
	}
	if old != nil && (before.LabelKey != spec.LabelKey || before.LabelValue != spec.LabelValue) {
		return apierrors.NewBadRequest("Label modified: the specified label may not be modified after creation")
	}
	at := field.NewPath("spec")
	problems := metavalidation.ValidateLabels(map[string]string{hubapi.LabelClassificationPrefix + spec.LabelKey: spec.LabelValue}, at)
	if strings.HasPrefix(spec.LabelValue, QueryErrorPrefix) {
		problems = append(problems, field.Invalid(at, spec.LabelValue, "label must not start with "+QueryErrorPrefix+" as this is reserved"))
	}
	if _, err := gojq.Parse(spec.Query); err != nil {
		problems = append(problems, field.Invalid(at, spec.Query, err.Error()))
	}
	if len(problems) > 0 {
		return apierrors.NewBadRequest(problems.ToAggregate().Error())
	}
	return nil
}

// changeableDeployment are the fields of a ClusterDeployment's spec that may be changed.
func changeableDeployment() []string {
	return []string{"certificateBundles", "clusterMetadata", "controlPlaneConfig", "ingress", "installed", "preserveOnDelete",
		"clusterPoolRef", "powerState", "hibernateAfter", "installAttemptsLimit"}
}

const longestName = validation.DNS1123LabelMaxLength

// ValidateDeployment is the verdict of Hive's webhook on a ClusterDeployment.
func ValidateDeployment(old, now *apiobject.Object) error {
	before, spec, err := specs[objects.DeploymentSpec](old, now)
	if err != nil {
		return err
	}
	if old == nil {
		return validateNewDeployment(now, &spec)
	}
	changed := changedFields(withoutSelector(old), withoutSelector(now), changeableDeployment())
	if len(changed) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Attempted to change ClusterDeployment.Spec which is immutable except for %s fields. "+
			"Unsupported change: \n%s",
			strings.Join(changeableDeployment(), ","), strings.Join(changed, "\n")))
	}
	return invalid(now.GetName(), lifeOfDeployment(old, now, &before, &spec))
}

// lifeOfDeployment is what is wrong with the way from uninstalled to installed.
func lifeOfDeployment(old, now *apiobject.Object, before, spec *objects.DeploymentSpec) (all field.ErrorList) {
	at := field.NewPath("spec")
	if !spec.IsInstalled() {
		if before.IsInstalled() {
			all = append(all, field.Invalid(at.Child("installed"), false, "cannot make uninstalled once installed"))
		}
		return all
	}
	if spec.ClusterMetadata == nil {
		return append(all, field.Required(at.Child("clusterMetadata"), "installed cluster must have cluster metadata"))
	}
	was, _, _ := unstructured.NestedMap(old.Object, "spec", "clusterMetadata")
	is, _, _ := unstructured.NestedMap(now.Object, "spec", "clusterMetadata")
	if before.IsInstalled() && objects.ToJSON(was) != objects.ToJSON(is) {
		all = append(all, field.Invalid(at.Child("clusterMetadata"), is, "field is immutable"))
	}
	return all
}

func validateNewDeployment(now *apiobject.Object, spec *objects.DeploymentSpec) error {
	if len(now.GetName()) > longestName {
		return apierrors.NewBadRequest("Invalid cluster deployment name (.meta.name): " + validation.MaxLenError(longestName))
	}
	if len(spec.ClusterName) > longestName {
		return apierrors.NewBadRequest("Invalid cluster name (.spec.clusterName): " + validation.MaxLenError(longestName))
	}
	var all field.ErrorList
	at := field.NewPath("spec")
	provisioning, _, _ := unstructured.NestedMap(now.Object, "spec", "provisioning")
	if !spec.IsInstalled() {
		if spec.ClusterInstallRef != nil && provisioning != nil {
			all = append(all, field.Forbidden(at.Child("provisioning"), "provisioning and clusterInstallRef cannot be set at the same time"))
		}
		if spec.ClusterInstallRef == nil && provisioning == nil {
			all = append(all, field.Required(at.Child("provisioning"), "provisioning is required if not installed"))
		}
	}
	if ref := spec.ClusterInstallRef; ref != nil && (ref.Group != hubapi.GroupHiveExtension || ref.Kind != hubapi.KindAgentClusterInstall) {
		all = append(all, field.NotSupported(
			at.Child("clusterInstallRef", "kind"), ref.Kind,
			[]string{hubapi.GroupHiveExtension + "/v1beta1, Kind=" + hubapi.KindAgentClusterInstall},
		))
	}
	return invalid(now.GetName(), all)
}

// invalid refuses a ClusterDeployment for all that is wrong with it, if anything is.
func invalid(name string, all field.ErrorList) error {
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(
		schema.GroupKind{Group: hubapi.Resource(hubapi.KindClusterDeployment).Group, Kind: hubapi.KindClusterDeployment}, name, all,
	)
}

// withoutSelector leaves out the selector of Agents, which may be changed within a platform that may not.
func withoutSelector(o *apiobject.Object) *apiobject.Object {
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "spec", "platform", "agentBareMetal", "agentSelector")
	return o
}

// ValidateDeletion refuses to delete a ClusterDeployment that is protected.
func ValidateDeletion(old *apiobject.Object) error {
	protected := old.GetAnnotations()[hubapi.AnnotationProtectedDelete]
	if on, _ := strconv.ParseBool(protected); !on { // what is neither is no protection
		return nil
	}
	return invalid(old.GetName(), field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", hubapi.AnnotationProtectedDelete),
		protected, "cannot delete while annotation is present")})
}
