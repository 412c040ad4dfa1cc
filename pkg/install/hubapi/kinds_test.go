package hubapi_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/pkg/install/hubapi"
)

func TestKindsAndResourcesAgree(t *testing.T) {
	resources := []schema.GroupVersionResource{
		hubapi.ClusterDeployments(), hubapi.ClusterImageSets(), hubapi.AgentClusterInstalls(), hubapi.InfraEnvs(),
		hubapi.NMStateConfigs(), hubapi.Agents(), hubapi.AgentClassifications(), hubapi.AgentServiceConfigs(),
		hubapi.BareMetalHosts(), hubapi.PreprovisioningImages(), hubapi.Secrets(), hubapi.ConfigMaps(),
		hubapi.Namespaces(), hubapi.Events(), hubapi.CustomResourceDefinitions(),
	}
	kinds := hubapi.Kinds()
	if len(kinds) != len(resources) {
		t.Fatalf("%d kinds, %d resources", len(kinds), len(resources))
	}
	for i, kind := range kinds {
		if kind.GroupVersionResource() != resources[i] {
			t.Errorf("%s: %s, want %s", kind.Kind, kind.GroupVersionResource(), resources[i])
		}
		if found, ok := hubapi.KindOf(kind.GroupKind()); !ok || found != kind {
			t.Errorf("KindOf(%s) = %v, %v", kind.GroupKind(), found, ok)
		}
	}
	if _, ok := hubapi.KindOf(schema.GroupKind{Group: "apps", Kind: "Deployment"}); ok {
		t.Error("a Deployment is a kind of a hub")
	}
}

func TestCRDName(t *testing.T) {
	kind, _ := hubapi.KindOf(schema.GroupKind{Group: hubapi.GroupHiveExtension, Kind: hubapi.KindAgentClusterInstall})
	if got, want := kind.CRDName(), "agentclusterinstalls.extensions.hive.openshift.io"; got != want {
		t.Errorf("CRDName() = %s, want %s", got, want)
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
