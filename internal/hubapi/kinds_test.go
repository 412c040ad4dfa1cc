package hubapi_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// What has a name as a resource is a kind, too, and served under the same one.
func TestKindsAndResourcesAgree(t *testing.T) {
	for kind, resource := range map[string]schema.GroupVersionResource{
		hubapi.KindClusterDeployment: hubapi.ClusterDeployments(), hubapi.KindClusterImageSet: hubapi.ClusterImageSets(),
		hubapi.KindAgentClusterInstall: hubapi.AgentClusterInstalls(), hubapi.KindInfraEnv: hubapi.InfraEnvs(),
		hubapi.KindNMStateConfig: hubapi.NMStateConfigs(), hubapi.KindAgent: hubapi.Agents(),
		hubapi.KindAgentClassification: hubapi.AgentClassifications(), hubapi.KindAgentServiceConfig: hubapi.AgentServiceConfigs(),
		hubapi.KindBareMetalHost: hubapi.BareMetalHosts(), hubapi.KindSecret: hubapi.Secrets(), hubapi.KindConfigMap: hubapi.ConfigMaps(),
		hubapi.KindNamespace: hubapi.Namespaces(),
	} {
		found, ok := hubapi.KindOf(schema.GroupKind{Group: resource.Group, Kind: kind})
		if !ok || found.GroupVersionResource() != resource {
			t.Errorf("%s is %v, want %s", kind, found, resource)
		}
	}
	if _, ok := hubapi.KindOf(schema.GroupKind{Group: "apps", Kind: "Deployment"}); ok {
		t.Error("a Deployment is a kind of a hub")
	}
}

func TestFindCondition(t *testing.T) {
	conditions := []hubapi.Condition{{Type: hubapi.ConditionFailed, Status: "False"}, {Type: hubapi.ConditionStopped, Status: "True"}}
	if got := hubapi.FindCondition(conditions, hubapi.ConditionStopped); got == nil || got.Status != "True" {
		t.Errorf("Stopped: %v", got)
	}
	if got := hubapi.FindCondition(conditions, hubapi.ConditionCompleted); got != nil {
		t.Errorf("Completed: %v", got)
	}
}
