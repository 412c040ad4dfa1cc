package webhook

import (
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// changeableDeployment are the fields of a ClusterDeployment's spec that may be changed.
func changeableDeployment() []string {
	return []string{"certificateBundles", "clusterMetadata", "controlPlaneConfig", "ingress", "installed", "preserveOnDelete",
		"clusterPoolRef", "powerState", "hibernateAfter", "installAttemptsLimit"}
}

// longestName is how long the names of a cluster may be.
const longestName = validation.DNS1123LabelMaxLength

// ValidateDeployment is the verdict of Hive's webhook on a ClusterDeployment.
func ValidateDeployment(old, now *objects.Object) error {
	spec, err := objects.Spec[objects.DeploymentSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old == nil {
		return validateNewDeployment(now, &spec)
	}
	changed := changedFields(withoutSelector(old), withoutSelector(now), changeableDeployment())
	if len(changed) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Attempted to change ClusterDeployment.Spec which is immutable except for %s fields. Unsupported change: \n%s",
			strings.Join(changeableDeployment(), ","), strings.Join(changed, "\n")))
	}
	before, err := objects.Spec[objects.DeploymentSpec](old)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return invalid(now.GetName(), lifeOfDeployment(old, now, &before, &spec))
}

// lifeOfDeployment is what is wrong with the way from uninstalled to installed.
func lifeOfDeployment(old, now *objects.Object, before, spec *objects.DeploymentSpec) (all field.ErrorList) {
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

func validateNewDeployment(now *objects.Object, spec *objects.DeploymentSpec) error {
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
	if ref := spec.ClusterInstallRef; ref != nil && (ref.Group != hubapi.GroupHiveExtension || ref.Kind != string(objects.KindInstall)) {
		all = append(all, field.NotSupported(at.Child("clusterInstallRef", "kind"), ref.Kind, []string{hubapi.GroupHiveExtension + "/v1beta1, Kind=" + string(objects.KindInstall)}))
	}
	return invalid(now.GetName(), all)
}

// invalid refuses a ClusterDeployment for all that is wrong with it, if anything is.
func invalid(name string, all field.ErrorList) error {
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: hubapi.ClusterDeployments().Group, Kind: string(objects.KindCluster)}, name, all)
}

// withoutSelector leaves out the selector of Agents, which may be changed within a platform that may not.
func withoutSelector(o *objects.Object) *objects.Object {
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "spec", "platform", "agentBareMetal", "agentSelector")
	return o
}

// ValidateDeletion refuses to delete a ClusterDeployment that is protected.
func ValidateDeletion(old *objects.Object) error {
	protected := old.GetAnnotations()[hubapi.AnnotationProtectedDelete]
	if on, _ := strconv.ParseBool(protected); !on { // what is neither is no protection
		return nil
	}
	return invalid(old.GetName(), field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", hubapi.AnnotationProtectedDelete),
		protected, "cannot delete while annotation is present")})
}
