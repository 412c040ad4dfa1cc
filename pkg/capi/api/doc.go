// Package api makes every version of the kinds of the three Cluster API providers
// known to a scheme. The kinds themselves are in the packages below, one a group
// and version: of each group one version is stored, and the others are converted
// by it.
package api

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	agentv1alpha1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1alpha1"
	agentv1beta1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta1"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1alpha1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha1"
	bootstrapv1alpha2 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1alpha2 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha2"
	controlplanev1alpha3 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha3"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// AddToScheme makes every version of every kind known to a scheme, as the conversion
// webhooks need it.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(
		bootstrapv1.AddToScheme(scheme), bootstrapv1alpha2.AddToScheme(scheme), bootstrapv1alpha1.AddToScheme(scheme),
		controlplanev1.AddToScheme(scheme), controlplanev1alpha3.AddToScheme(scheme), controlplanev1alpha2.AddToScheme(scheme),
		agentv1.AddToScheme(scheme), agentv1beta1.AddToScheme(scheme), agentv1alpha1.AddToScheme(scheme),
	)
}
