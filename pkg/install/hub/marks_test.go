//go:build e2e

package hub

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Whoever has a cluster made may put labels and annotations on its objects, beside those by which
// oaictl finds them again. Others than these are no reason to write anything.
func TestLabelsOfTheCaller(t *testing.T) {
	s := newStage(t)
	s.desired.Options.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": "outer", hubapi.LabelCluster: "mine"}
	s.desired.Options.Annotations = map[string]string{"example.com/owner": "default/outer"}
	s.desired.Spec.Spec.Hosts[0].Net = &spec.HostNet{IP: "192.168.127.10/24", MAC: "52:54:00:00:00:00"}
	s.settle()
	s.calls.take()
	kinds := []kube.Kind{kube.ClusterDeployments, kube.AgentClusterInstalls, kube.InfraEnvs, kube.NMStateConfigs, kube.Secrets, kube.ConfigMaps}
	for _, k := range kinds {
		list, err := s.client(k).List(t.Context(), metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + s.namespace})
		if err != nil || len(list.Items) == 0 {
			t.Errorf("no %s: %v", k, err)
			continue
		}
		for _, u := range list.Items {
			if u.GetLabels()["cluster.x-k8s.io/cluster-name"] != "outer" || u.GetAnnotations()["example.com/owner"] != "default/outer" || len(u.GetOwnerReferences()) > 0 {
				t.Errorf("%s %s: labels %v, annotations %v, owners %v", k, u.GetName(), u.GetLabels(), u.GetAnnotations(), u.GetOwnerReferences())
			}
		}
	}
	for _, options := range []model.Options{{}, {Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "another"}}} {
		s.desired.Options = options
		if done := s.settle(); len(done) > 0 {
			t.Errorf("with %v: done %v", options.Labels, done)
		}
	}
	s.wantWrites()
	// What is written nevertheless keeps those of before.
	s.desired.Options = model.Options{}
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Kind: model.UpdateInfraEnv, Name: s.namespace, Settings: model.Settings{"spec.boot.image": `"minimal"`}}); err != nil {
		t.Fatal(err)
	}
	if labels := s.get(kube.InfraEnvs, s.namespace).GetLabels(); labels["cluster.x-k8s.io/cluster-name"] != "outer" {
		t.Errorf("labels %v", labels)
	}
}
