package hub

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
)

// changeableDeployment are the fields of a ClusterDeployment's spec that may be
// changed; of the platform, that is the selector of Agents.
func changeableDeployment() []string {
	return []string{"certificateBundles", "clusterMetadata", "controlPlaneConfig", "ingress", "installed", "preserveOnDelete",
		"clusterPoolRef", "powerState", "hibernateAfter", "installAttemptsLimit"}
}

// longestName is how long the names of a cluster may be.
const longestName = validation.DNS1123LabelMaxLength

// validateDeployment is the verdict of Hive's webhook on a ClusterDeployment.
func validateDeployment(old, now *object) error {
	spec, err := readSpec[deploymentSpec](now)
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
	before, err := readSpec[deploymentSpec](old)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return invalid(now.GetName(), lifeOfDeployment(old, now, &before, &spec))
}

// lifeOfDeployment is what is wrong with the way from uninstalled to installed.
func lifeOfDeployment(old, now *object, before, spec *deploymentSpec) (all field.ErrorList) {
	at := field.NewPath("spec")
	if !spec.installed() {
		if before.installed() {
			all = append(all, field.Invalid(at.Child("installed"), false, "cannot make uninstalled once installed"))
		}
		return all
	}
	if spec.ClusterMetadata == nil {
		return append(all, field.Required(at.Child("clusterMetadata"), "installed cluster must have cluster metadata"))
	}
	was, _, _ := unstructured.NestedMap(old.Object, "spec", "clusterMetadata")
	is, _, _ := unstructured.NestedMap(now.Object, "spec", "clusterMetadata")
	if before.installed() && toJSON(was) != toJSON(is) {
		all = append(all, field.Invalid(at.Child("clusterMetadata"), is, "field is immutable"))
	}
	return all
}

func validateNewDeployment(now *object, spec *deploymentSpec) error {
	if len(now.GetName()) > longestName {
		return apierrors.NewBadRequest("Invalid cluster deployment name (.meta.name): " + validation.MaxLenError(longestName))
	}
	if len(spec.ClusterName) > longestName {
		return apierrors.NewBadRequest("Invalid cluster name (.spec.clusterName): " + validation.MaxLenError(longestName))
	}
	var all field.ErrorList
	at := field.NewPath("spec")
	provisioning, _, _ := unstructured.NestedMap(now.Object, "spec", "provisioning")
	if !spec.installed() {
		if spec.ClusterInstallRef != nil && provisioning != nil {
			all = append(all, field.Forbidden(at.Child("provisioning"), "provisioning and clusterInstallRef cannot be set at the same time"))
		}
		if spec.ClusterInstallRef == nil && provisioning == nil {
			all = append(all, field.Required(at.Child("provisioning"), "provisioning is required if not installed"))
		}
	}
	if ref := spec.ClusterInstallRef; ref != nil && (ref.Group != hubapi.GroupHiveExtension || ref.Kind != string(kindInstall)) {
		all = append(all, field.NotSupported(at.Child("clusterInstallRef", "kind"), ref.Kind, []string{hubapi.GroupHiveExtension + "/v1beta1, Kind=" + string(kindInstall)}))
	}
	return invalid(now.GetName(), all)
}

// invalid refuses a ClusterDeployment for all that is wrong with it, if anything is.
func invalid(name string, all field.ErrorList) error {
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: hubapi.ClusterDeployments().Group, Kind: string(kindCluster)}, name, all)
}

// withoutSelector leaves out the selector of Agents, which may be changed within
// a platform that may not.
func withoutSelector(o *object) *object {
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "spec", "platform", "agentBareMetal", "agentSelector")
	return o
}

// validateDeletion refuses to delete a ClusterDeployment that is protected.
func validateDeletion(old *object) error {
	protected := old.GetAnnotations()[hubapi.AnnotationProtectedDelete]
	if on, _ := strconv.ParseBool(protected); !on { // what is neither is no protection
		return nil
	}
	return invalid(old.GetName(), field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", hubapi.AnnotationProtectedDelete),
		protected, "cannot delete while annotation is present")})
}
