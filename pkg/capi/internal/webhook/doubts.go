package webhook

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/oaictl/oaictl/internal/shared/explain"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// allValidations ignores every validation that can be ignored.
const allValidations = "all"

// unknownValidations warns of ignored validations that are not known here: a newer service may have them.
func unknownValidations(ignored controlplanev1.IgnoreValidations, at *field.Path) admission.Warnings {
	var warnings admission.Warnings
	look := func(subject explain.Subject, name string, ids []string) {
		for i, id := range ids {
			if _, known := explain.Validation(subject, id); !known && id != allValidations {
				warnings = append(warnings, fmt.Sprintf(
					"%s: no validation of a %s with the name %q is known to these providers: if the service does not know it either, nothing is ignored",
					at.Child(name).Index(i), subject, id))
			}
		}
	}
	look(explain.SubjectCluster, "cluster", ignored.Cluster)
	look(explain.SubjectHost, "hosts", ignored.Hosts)
	return warnings
}

// usualChannel are the channels of the public update service.
var usualChannel = regexp.MustCompile(`^(stable|fast|candidate|eus)-4\.\d+$`)

// unusualChannel warns of a channel that only an update service of one's own can have.
func unusualChannel(channel string, at *field.Path) admission.Warnings {
	if channel == "" || usualChannel.MatchString(channel) {
		return nil
	}
	return admission.Warnings{fmt.Sprintf(
		"%s: the public update service has no channel %q: write it as stable-4.20, unless your own update service has it", at, channel)}
}

// missingPullSecret warns of an OpenShift without the credentials that its images need.
func missingPullSecret(s *controlplanev1.OpenshiftAssistedControlPlaneTemplateResourceSpec, at *field.Path) admission.Warnings {
	named := s.Config.PullSecretRef != nil && s.Config.PullSecretRef.Name != ""
	if named || strings.Contains(s.DistributionVersion, "okd") || s.Config.ReleaseImage != "" {
		return nil
	}
	return admission.Warnings{fmt.Sprintf(
		"%s: is missing: without the credentials of a pull secret only OKD, or a mirror that needs no login, can be installed", at)}
}
