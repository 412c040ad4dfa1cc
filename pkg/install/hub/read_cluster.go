package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterSettings are what an AgentClusterInstall and what it refers to hold. Whatever a
// webhook or a controller fills in is among them too: only what the file says is compared.
func (p *Plane) clusterSettings(ctx context.Context, live *unstructured.Unstructured, wire *hive.AgentClusterInstall, image imageSetRecord, memory *clusterMemory) (install.Settings, error) {
	s := hubobjects.InstallTable().Settings(live.Object)
	text(s, setting.Version, image.version)
	text(s, setting.ReleaseImage, image.release)
	ca, err := p.endpointCA(ctx, live.GetNamespace(), wire, memory)
	if err != nil || ca == "" {
		return s, err
	}
	var endpoint spec.IgnitionEndpoint
	if s[setting.IgnEndpoint].Decode(&endpoint) == nil {
		endpoint.CA = &spec.PublicSource{Inline: ca}
		s[setting.IgnEndpoint] = setting.ValueOf(endpoint)
	}
	return s, nil
}

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
