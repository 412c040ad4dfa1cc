package webhook

import (
	"strings"

	"github.com/itchyny/gojq"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	specfield "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// ValidateInfraEnv is the verdict on an InfraEnv. Whether a cluster is installed is asked of installed.
func ValidateInfraEnv(old, now *objects.Object, installed func(*hubapi.Reference) bool) error {
	spec, err := objects.Spec[objects.InfraEnvSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old == nil {
		if spec.ClusterRef != nil && spec.OSImageVersion != "" {
			return apierrors.NewBadRequest("Either Spec.ClusterRef or Spec.OSImageVersion should be specified (not both).")
		}
		return nil
	}
	before, err := objects.Spec[objects.InfraEnvSpec](old)
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

// ValidateAgent is the webhook's verdict on a change of an Agent.
func ValidateAgent(old, now *objects.Object) error {
	spec, err := objects.Spec[objects.AgentSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	before, err := objects.Spec[objects.AgentSpec](old)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if spec.InstallationDiskID != "" && spec.InstallationDiskPath != "" {
		return apierrors.NewBadRequest("Either InstallationDiskID or InstallationDiskPath can be set, not both.")
	}
	if sameReference(before.ClusterDeploymentName, spec.ClusterDeploymentName) {
		return nil
	}
	state := objects.Nested(old, "status", "debugInfo", "state")
	cancels := spec.ClusterDeploymentName == nil && objects.Nested(old, "status", "kind") == agentinstall.AgentKindAdded
	if busy := strings.HasPrefix(state, "preparing") || strings.HasPrefix(state, "installing"); busy && !cancels {
		return apierrors.NewBadRequest("Attempted to change Spec.ClusterDeploymentName which is immutable during Agent installation.")
	}
	return nil
}

// QueryErrorPrefix marks the label of an Agent whose classification failed.
const QueryErrorPrefix = "QUERYERROR"

// ValidateClassification is the webhook's verdict on an AgentClassification.
func ValidateClassification(old, now *objects.Object) error {
	spec, err := objects.Spec[agentinstall.AgentClassificationSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old != nil {
		before, err := objects.Spec[agentinstall.AgentClassificationSpec](old)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if before.LabelKey != spec.LabelKey || before.LabelValue != spec.LabelValue {
			return apierrors.NewBadRequest("Label modified: the specified label may not be modified after creation")
		}
	}
	path := specfield.NewPath("spec")
	problems := validation.ValidateLabels(map[string]string{hubapi.LabelClassificationPrefix + spec.LabelKey: spec.LabelValue}, path)
	if strings.HasPrefix(spec.LabelValue, QueryErrorPrefix) {
		problems = append(problems, specfield.Invalid(path, spec.LabelValue, "label must not start with "+QueryErrorPrefix+" as this is reserved"))
	}
	if _, err := gojq.Parse(spec.Query); err != nil {
		problems = append(problems, specfield.Invalid(path, spec.Query, err.Error()))
	}
	if len(problems) > 0 {
		return apierrors.NewBadRequest(problems.ToAggregate().Error())
	}
	return nil
}
