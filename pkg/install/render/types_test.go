package render_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/test/sample"
)

// typeOf is an empty object of a kind, nil for one that is not known here.
func typeOf(kind string) any {
	switch kind {
	case hubapi.KindNamespace:
		return &corev1.Namespace{}
	case hubapi.KindSecret:
		return &corev1.Secret{}
	case hubapi.KindConfigMap:
		return &corev1.ConfigMap{}
	case hubapi.KindClusterDeployment:
		return &hive.ClusterDeployment{}
	case hubapi.KindClusterImageSet:
		return &hive.ClusterImageSet{}
	case hubapi.KindAgentClusterInstall:
		return &hive.AgentClusterInstall{}
	case hubapi.KindInfraEnv:
		return &agentinstall.InfraEnv{}
	case hubapi.KindNMStateConfig:
		return &agentinstall.NMStateConfig{}
	case hubapi.KindAgentClassification:
		return &agentinstall.AgentClassification{}
	case hubapi.KindBareMetalHost:
		return &metal3.BareMetalHost{}
	}
	return nil
}

// TestObjectsAreOfTheirTypes: every field of every object is one that its kind
// has, of the kind's type.
func TestObjectsAreOfTheirTypes(t *testing.T) {
	for name, load := range sample.All(t) {
		objects := must.Get(render.Hub(load(), render.Options{Secrets: true}))(t)
		for _, o := range objects.All() {
			into := typeOf(o.GetKind())
			if into == nil {
				t.Errorf("%s: nobody knows the kind %s", name, o.GetKind())
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
		}
	}
}
