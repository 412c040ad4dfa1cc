// Package api makes every version of the kinds of the three Cluster API providers
// known to a scheme. The kinds themselves are in the packages below, one for the version
// of each group that is stored. The older versions have no Go types: their objects are
// unstructured, and their CustomResourceDefinitions (pkg/capi/manifests) say which fields
// they have. They are converted by the stored version.
package api

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// older are the versions that are served and not stored, with their kinds.
var older = []struct {
	group    string
	versions []string
	kinds    []string
}{
	{bootstrapv1.Group, []string{"v1alpha1", "v1alpha2"}, []string{"OpenshiftAssistedConfig", "OpenshiftAssistedConfigTemplate"}},
	{controlplanev1.Group, []string{"v1alpha2", "v1alpha3"}, []string{"OpenshiftAssistedControlPlane"}},
	{agentv1.Group, []string{"v1alpha1", "v1beta1"}, []string{"AgentCluster", "AgentMachine", "AgentMachineTemplate"}},
}

// AddToScheme makes every version of every kind known to a scheme, as the conversion
// webhooks need it.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, of := range older {
		for _, version := range of.versions {
			for _, kind := range of.kinds {
				scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: of.group, Version: version, Kind: kind}, &unstructured.Unstructured{})
			}
		}
	}
	return errors.Join(bootstrapv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme), agentv1.AddToScheme(scheme))
}
