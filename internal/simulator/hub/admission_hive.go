package hub

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/hubapi"
)

// changeableDeployment are the fields of a ClusterDeployment's spec that may be
// changed.
func changeableDeployment() []string {
	return []string{"certificateBundles", "clusterMetadata", "controlPlaneConfig", "ingress", "installed", "preserveOnDelete",
		"clusterPoolRef", "powerState", "hibernateAfter", "installAttemptsLimit"}
}

// longestName is how long the names of a cluster may be.
const longestName = 63

// validateDeployment is the verdict of Hive's webhook on a ClusterDeployment.
func validateDeployment(old, now *object) error {
	spec, err := readSpec[deploymentSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	refuse := func(format string, args ...any) error {
		return apierrors.NewForbidden(hubapi.ClusterDeployments().GroupResource(), now.GetName(), fmt.Errorf(format, args...))
	}
	if spec.installed() && spec.ClusterMetadata == nil {
		return refuse("spec.clusterMetadata: Required value: installed ClusterDeployment must have cluster metadata")
	}
	if old == nil {
		return validateNewDeployment(now, &spec, refuse)
	}
	before, err := readSpec[deploymentSpec](old)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if before.installed() && !spec.installed() {
		return refuse("spec.installed: Invalid value: cannot make uninstalled once installed")
	}
	was, _, _ := unstructured.NestedMap(old.Object, "spec", "clusterMetadata")
	is, _, _ := unstructured.NestedMap(now.Object, "spec", "clusterMetadata")
	if before.installed() && toJSON(was) != toJSON(is) {
		return refuse("spec.clusterMetadata: Invalid value: cannot change cluster metadata once installed")
	}
	changed := changedFields(withoutSelector(old), withoutSelector(now), changeableDeployment())
	if len(changed) > 0 {
		return refuse("Attempted to change ClusterDeployment.Spec which is immutable except for %v fields. Unsupported change: %v", changeableDeployment(), changed)
	}
	return nil
}

func validateNewDeployment(now *object, spec *deploymentSpec, refuse func(string, ...any) error) error {
	provisioning, _, _ := unstructured.NestedMap(now.Object, "spec", "provisioning")
	switch {
	case len(spec.ClusterName) > longestName || len(now.GetName()) > longestName:
		return refuse("metadata.name and spec.clusterName: Invalid value: must be no more than %d characters", longestName)
	case !spec.installed() && (spec.PullSecretRef == nil || spec.PullSecretRef.Name == ""):
		return refuse("spec.pullSecretRef.name: Required value: must specify an existing pull secret")
	case spec.ClusterInstallRef != nil && provisioning != nil:
		return refuse("spec.provisioning: Forbidden: provisioning and clusterInstallRef cannot be set at the same time")
	case spec.ClusterInstallRef == nil && provisioning == nil && !spec.installed():
		return refuse("spec.provisioning: Required value: provisioning is required if not installed")
	}
	if ref := spec.ClusterInstallRef; ref != nil && (ref.Group != hubapi.GroupHiveExtension || !slices.Contains([]string{string(kindInstall)}, ref.Kind)) {
		return refuse("spec.clusterInstallRef: Unsupported value: %s/%s is not a supported contract", ref.Group, ref.Kind)
	}
	return nil
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
	if old.GetAnnotations()[hubapi.AnnotationProtectedDelete] == yesText {
		return apierrors.NewForbidden(hubapi.ClusterDeployments().GroupResource(), old.GetName(),
			fmt.Errorf("metadata.annotations.%s: Invalid value: cannot delete while annotation is present", hubapi.AnnotationProtectedDelete))
	}
	return nil
}
