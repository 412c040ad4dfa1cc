package webhook

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/spelling"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// capabilities are those of OpenShift, by its API config.openshift.io/v1.
var capabilities = []string{
	"baremetal", "Build", "CloudControllerManager", "CloudCredential", "Console", "CSISnapshot", "DeploymentConfig",
	"ImageRegistry", "Ingress", "Insights", "MachineAPI", "marketplace", "NodeTuning", "openshift-samples",
	"OperatorLifecycleManager", "OperatorLifecycleManagerV1", "Storage",
}

// newestCapabilitiesMinor is that of the newest OpenShift 4 whose capabilities are known here.
const newestCapabilitiesMinor = 21

// baselineSet is a set of capabilities by the version that it is of. The oldest is v4.11.
var baselineSet = regexp.MustCompile(`^v4\.(\d+)$`)

const oldestBaselineMinor = 11

// checkCapabilities reports capabilities that do not exist. A release that is newer than the known ones may have more.
func checkCapabilities(s *controlplanev1.OpenshiftAssistedControlPlaneTemplateResourceSpec,
	at *field.Path) (admission.Warnings, field.ErrorList) {
	minor := 0
	if parts := wholeVersion.FindStringSubmatch(s.DistributionVersion); parts != nil {
		minor, _ = strconv.Atoi(parts[2])
	}
	var warnings admission.Warnings
	wrong := checkBaseline(s.Config.Capabilities.BaselineCapability, minor, at.Child("baselineCapability"))
	for i, name := range s.Config.Capabilities.AdditionalEnabledCapabilities {
		if slices.Contains(capabilities, name) {
			continue
		}
		where := at.Child("additionalEnabledCapabilities").Index(i)
		text := fmt.Sprintf("OpenShift has no capability %q", name)
		if best := nearest(name, capabilities); best != "" {
			text += fmt.Sprintf(": did you mean %q?", best)
		} else {
			text += ": it has " + strings.Join(capabilities, ", ")
		}
		if minor > newestCapabilitiesMinor {
			warnings = append(warnings, fmt.Sprintf("%s: %s, as far as this version of the providers knows", where, text))
		} else {
			wrong = append(wrong, invalid(where, text))
		}
	}
	return warnings, wrong
}

func checkBaseline(baseline string, minor int, at *field.Path) field.ErrorList {
	if slices.Contains([]string{"", "None", "vCurrent"}, baseline) {
		return nil
	}
	const remedy = "write None, vCurrent, or a version such as v4.20"
	parts := baselineSet.FindStringSubmatch(baseline)
	if parts == nil {
		return field.ErrorList{invalid(at, fmt.Sprintf("%q is not a set of capabilities: %s", baseline, remedy))}
	}
	of, err := strconv.Atoi(parts[1])
	if err != nil || of < oldestBaselineMinor || minor > 0 && of > minor {
		return field.ErrorList{invalid(at, fmt.Sprintf("the release has no set of capabilities %s: %s, not newer than the release", baseline,
			remedy))}
	}
	return nil
}

// nearest is the word that was meant, in any case, or "".
func nearest(text string, words []string) string {
	for _, word := range words {
		if strings.EqualFold(word, text) {
			return word
		}
	}
	return spelling.Nearest(text, words)
}

// operatorCheck ends the names of the checks that the service makes for an operator.
const operatorCheck = "-requirements-satisfied"

// otherNames are operators whose checks go by another name.
var otherNames = map[string]string{"numaresources": "numa-resources", "odf": "ocs"}

// unknownOperators warns of operators that are not known here: the service may know them.
func unknownOperators(operators []controlplanev1.Operator, at *field.Path) admission.Warnings {
	var warnings admission.Warnings
	for i, operator := range operators {
		name := operator.Name
		if other := otherNames[name]; other != "" {
			name = other
		}
		if len(explain.Find(explain.KindValidation, name+operatorCheck)) == 0 {
			warnings = append(warnings,
				fmt.Sprintf("%s: the operator %q is not known to these providers; if the service does not know it either, the installation waits",
					at.Index(i).Child("name"), operator.Name))
		}
	}
	return warnings
}
