package simulator

import (
	"context"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/host"
)

// dayTwo leaves what boots on day 2: of the images, those of pools and of clusters that
// take more hosts, but for one that a machine failed with, since it stays what it is
// there; of the machines that a file names, those that are not part of the cluster,
// since the others run from their disks. Without such an image nothing can be said of
// the machines yet: all are given back.
func (c *BootConfig) dayTwo(ctx context.Context, list []infraEnv, machines []host.Machine) ([]infraEnv, []host.Machine, error) {
	var late []infraEnv
	there := map[string]bool{}
	for _, env := range list {
		if env.ClusterID == "" {
			late = append(late, env)
			continue
		}
		if c.Cluster != nil && !strings.HasPrefix(env.Name, c.Cluster.Metadata.Name) {
			continue
		}
		var cluster struct {
			Status string `json:"status"`
		}
		if err := c.get(ctx, "/v2/clusters/"+env.ClusterID+"?exclude-hosts=true", "read the cluster of InfraEnv "+env.Name, env.token, &cluster); err != nil {
			return nil, nil, err
		}
		if cluster.Status != "adding-hosts" {
			continue
		}
		failed, err := c.partOf(ctx, env, there)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(machines, func(m host.Machine) bool { return failed[strings.ToLower(m.UUID)] }) {
			late = append(late, env)
		}
	}
	if c.Cluster == nil || len(there) == 0 {
		return late, machines, nil
	}
	machines = slices.DeleteFunc(slices.Clone(machines), func(m host.Machine) bool { return there[strings.ToLower(m.UUID)] })
	return late, machines, nil
}

// partOf notes the machines that are part of the cluster of an InfraEnv, and gives those
// that failed with its image.
func (c *BootConfig) partOf(ctx context.Context, env infraEnv, there map[string]bool) (failed map[string]bool, err error) {
	var hosts []struct {
		ID         string `json:"id"`
		InfraEnvID string `json:"infra_env_id"`
		Status     string `json:"status"`
	}
	if err := c.get(ctx, "/v2/clusters/"+env.ClusterID+"/hosts?with-inventory=false", "list the hosts of cluster "+env.ClusterID, env.token, &hosts); err != nil {
		return nil, err
	}
	failed = map[string]bool{}
	for _, h := range hosts {
		switch h.Status {
		case "installed", "added-to-existing-cluster":
			there[strings.ToLower(h.ID)] = true
		case "error", "cancelled":
			failed[strings.ToLower(h.ID)] = h.InfraEnvID == env.ID
		}
	}
	return failed, nil
}
