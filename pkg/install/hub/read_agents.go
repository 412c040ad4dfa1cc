package hub

import (
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// classified are the labels that the AgentClassifications of a cluster give.
func classified(at *kube.Namespace, cluster string) (setting.Value, error) {
	out := []spec.Classification{}
	for _, u := range at.Store(kube.AgentClassifications()).All() {
		if u.GetLabels()[hubapi.LabelCluster] != cluster || u.GetDeletionTimestamp() != nil {
			continue
		}
		wire, err := kube.Read[agentinstall.AgentClassification](u)
		if err != nil {
			return "", err
		}
		out = append(out, spec.Classification{Label: wire.Spec.LabelKey, Value: wire.Spec.LabelValue, Query: wire.Spec.Query})
	}
	return setting.ValueOf(setting.SortedClassifications(out)), nil
}
