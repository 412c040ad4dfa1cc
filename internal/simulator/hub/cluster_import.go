package hub

import (
	"context"

	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
)

// importCluster makes a cluster of the service for one that is installed
// already, so that hosts can be added to it.
func (h *hub) importCluster(ctx context.Context, m *clusterMemory, p *pair) error {
	if p.deploy.PullSecretRef != nil && p.deploy.PullSecretRef.Name != "" {
		if _, err := h.pullSecret(ctx, p.key.space, p.deploy.PullSecretRef.Name); err != nil {
			return err
		}
	}
	version := ""
	if p.install.ImageSetRef != nil {
		release, err := h.release(p)
		if err != nil {
			return err
		}
		version = release.Version
	}
	id := ""
	for _, meta := range []*hive.ClusterMetadata{p.deploy.ClusterMetadata, p.install.ClusterMetadata} {
		if meta != nil && id == "" {
			id = meta.ClusterID
		}
	}
	body := map[string]any{
		"name": p.deploy.ClusterName, "api_vip_dnsname": "api." + p.deploy.ClusterName + "." + p.deploy.BaseDomain, "openshift_version": version,
	}
	if id != "" {
		body["openshift_cluster_id"] = id
	}
	var made assisted.Cluster
	if err := h.backend.Do(ctx, "POST", "/v2/clusters/import", body, &made); err != nil {
		return err
	}
	m.id = made.ID
	h.logf("imported %s as cluster %s", p.key, m.id)
	h.wakeInfraEnvs(p.key)
	return h.readCluster(ctx, m)
}
