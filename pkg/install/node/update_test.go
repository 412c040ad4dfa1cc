//go:build e2e

package node_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestUpdateKeepsLabels gives a node a provider id, or a taint, and nothing else: it keeps its labels, by which
// it has its role.
func TestUpdateKeepsLabels(t *testing.T) {
	s := newStage(t, nil)
	plane, kube := s.plane(), s.kube
	observed := must.Get(s.Observe(t.Context(), model.Query{}, nil))(t)
	if seen, err := plane.Observe(t.Context(), s.desired(nil), observed); err != nil || seen.Trouble != "" {
		t.Fatalf("%v, %+v", err, seen)
	}
	for name, settings := range map[string]model.Settings{
		"provider": {model.SettingProviderID: model.ValueOf("agent://a")},
		"taint":    {model.SettingTaints: model.ValueOf([]spec.Taint{{Key: "gpu", Effect: "NoSchedule"}})},
	} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"node-role.kubernetes.io/worker": ""}
			made := must.Get(kube.Client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "keeps-" + name, Labels: labels}}, metav1.CreateOptions{}))(t)
			action := model.Action{Kind: model.UpdateNode, Name: made.Name, Target: string(made.UID), Settings: settings}
			must.Do(t, plane.Act(t.Context(), s.desired(nil), observed, action))
			got, err := kube.Client.CoreV1().Nodes().Get(t.Context(), made.Name, metav1.GetOptions{})
			if err != nil || !maps.Equal(got.Labels, labels) {
				t.Errorf("its labels are %v, %v", got.Labels, err)
			}
			if got.Spec.ProviderID == "" && len(got.Spec.Taints) == 0 {
				t.Error("nothing was written")
			}
		})
	}
}
