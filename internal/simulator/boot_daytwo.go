package simulator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/host"
)

// dayTwo leaves what boots on day 2: of the images, those of pools and those
// that were made after their cluster was installed, since the service takes no
// new machine from an older one unless it is the operator of a hub; of the machines that a file names, those that
// are not part of the cluster, since the others run from their disks. Without
// such an image nothing can be said of the machines yet: all are given back.
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
			Status    string    `json:"status"`
			Completed time.Time `json:"install_completed_at"`
		}
		if err := c.get(ctx, "/v2/clusters/"+env.ClusterID+"?exclude-hosts=true", "read the cluster of InfraEnv "+env.Name, env.token, &cluster); err != nil {
			return nil, nil, err
		}
		if cluster.Status != "adding-hosts" || env.Created.Before(cluster.Completed) && !c.KubeAPI {
			continue
		}
		late = append(late, env)
		if err := c.partOf(ctx, env, there); err != nil {
			return nil, nil, err
		}
	}
	if c.Cluster == nil || len(there) == 0 {
		return late, machines, nil
	}
	machines = slices.DeleteFunc(slices.Clone(machines), func(m host.Machine) bool { return there[strings.ToLower(m.UUID)] })
	return late, machines, nil
}

// partOf notes the machines that are part of the cluster of an InfraEnv.
func (c *BootConfig) partOf(ctx context.Context, env infraEnv, there map[string]bool) error {
	var hosts []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if err := c.get(ctx, "/v2/clusters/"+env.ClusterID+"/hosts?with-inventory=false", "list the hosts of cluster "+env.ClusterID, env.token, &hosts); err != nil {
		return err
	}
	for _, h := range hosts {
		if h.Status == "installed" || h.Status == "added-to-existing-cluster" {
			there[strings.ToLower(h.ID)] = true
		}
	}
	return nil
}
