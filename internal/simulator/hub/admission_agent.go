package hub

import (
	"strings"

	"github.com/itchyny/gojq"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	specfield "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
)

// validateInfraEnv is the webhook's verdict on an InfraEnv. Whether a cluster is
// installed is asked of installed.
func validateInfraEnv(old, now *object, installed func(*hubapi.Reference) bool) error {
	spec, err := readSpec[infraEnvSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old == nil {
		if spec.ClusterRef != nil && spec.OSImageVersion != "" {
			return apierrors.NewBadRequest("Either Spec.ClusterRef or Spec.OSImageVersion should be specified (not both).")
		}
		return nil
	}
	before, err := readSpec[infraEnvSpec](old)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if !sameReference(before.ClusterRef, spec.ClusterRef) {
		return apierrors.NewBadRequest("Attempted to change Spec.ClusterRef which is immutable after InfraEnv creation.")
	}
	if before.CPUArchitecture != "" && before.CPUArchitecture != spec.CPUArchitecture {
		return apierrors.NewBadRequest("Attempted to change Spec.CpuArchitecture which is immutable after InfraEnv creation.")
	}
	if spec.ClusterRef != nil && spec.OSImageVersion != "" && spec.OSImageVersion != before.OSImageVersion && !installed(spec.ClusterRef) {
		return apierrors.NewBadRequest("spec.OSImageVersion is not valid. It can't be added alongside with a clusterRef when the cluster is not installed yet.")
	}
	return nil
}

func sameReference(a, b *hubapi.Reference) bool { return refText(a) == refText(b) }

func refText(ref *hubapi.Reference) string {
	if ref == nil {
		return "none"
	}
	return ref.Namespace + "/" + ref.Name
}

// validateAgent is the webhook's verdict on a change of an Agent.
func validateAgent(old, now *object) error {
	spec, err := readSpec[agentSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	before, err := readSpec[agentSpec](old)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if spec.InstallationDiskID != "" && spec.InstallationDiskPath != "" {
		return apierrors.NewBadRequest("Either InstallationDiskID or InstallationDiskPath can be set, not both.")
	}
	if sameReference(before.ClusterDeploymentName, spec.ClusterDeploymentName) {
		return nil
	}
	state := nested(old, "status", "debugInfo", "state")
	cancels := spec.ClusterDeploymentName == nil && nested(old, "status", "kind") == agentinstall.AgentKindAdded
	if busy := strings.HasPrefix(state, "preparing") || strings.HasPrefix(state, "installing"); busy && !cancels {
		return apierrors.NewBadRequest("Attempted to change Spec.ClusterDeploymentName which is immutable during Agent installation.")
	}
	return nil
}

// queryErrorPrefix marks the label of an Agent whose classification failed.
const queryErrorPrefix = "QUERYERROR"

// validateClassification is the webhook's verdict on an AgentClassification.
func validateClassification(old, now *object) error {
	spec, err := readSpec[agentinstall.AgentClassificationSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old != nil {
		before, err := readSpec[agentinstall.AgentClassificationSpec](old)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if before.LabelKey != spec.LabelKey || before.LabelValue != spec.LabelValue {
			return apierrors.NewBadRequest("Label modified: the specified label may not be modified after creation")
		}
	}
	path := specfield.NewPath("spec")
	problems := validation.ValidateLabels(map[string]string{hubapi.LabelClassificationPrefix + spec.LabelKey: spec.LabelValue}, path)
	if strings.HasPrefix(spec.LabelValue, queryErrorPrefix) {
		problems = append(problems, specfield.Invalid(path, spec.LabelValue, "label must not start with "+queryErrorPrefix+" as this is reserved"))
	}
	if _, err := gojq.Parse(spec.Query); err != nil {
		problems = append(problems, specfield.Invalid(path, spec.Query, err.Error()))
	}
	if len(problems) > 0 {
		return apierrors.NewBadRequest(problems.ToAggregate().Error())
	}
	return nil
}
