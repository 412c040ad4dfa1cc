package hubapi_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

func TestResource(t *testing.T) {
	for kind, want := range map[string]string{
		hubapi.KindClusterDeployment: "hive.openshift.io/v1, Resource=clusterdeployments", hubapi.KindClusterImageSet: "hive.openshift.io/v1, Resource=clusterimagesets",
		hubapi.KindAgentClusterInstall: "extensions.hive.openshift.io/v1beta1, Resource=agentclusterinstalls",
		hubapi.KindInfraEnv:            "agent-install.openshift.io/v1beta1, Resource=infraenvs",
		hubapi.KindNMStateConfig:       "agent-install.openshift.io/v1beta1, Resource=nmstateconfigs",
		hubapi.KindAgent:               "agent-install.openshift.io/v1beta1, Resource=agents",
		hubapi.KindAgentClassification: "agent-install.openshift.io/v1beta1, Resource=agentclassifications",
		hubapi.KindAgentServiceConfig:  "agent-install.openshift.io/v1beta1, Resource=agentserviceconfigs",
		hubapi.KindBareMetalHost:       "metal3.io/v1alpha1, Resource=baremetalhosts",
		hubapi.KindSecret:              "/v1, Resource=secrets", hubapi.KindConfigMap: "/v1, Resource=configmaps", hubapi.KindNamespace: "/v1, Resource=namespaces",
	} {
		if got := hubapi.Resource(kind); got.String() != want || hubapi.GroupVersionKind(kind).Kind != kind {
			t.Errorf("%s is %v, want %s", kind, got, want)
		}
	}
	if got := hubapi.Resource("Deployment"); !got.Empty() {
		t.Errorf("a Deployment is a kind of a hub: %s", got)
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
