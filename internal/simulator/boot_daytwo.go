package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/live"
)

// dayTwo leaves what boots on day 2: of the images, those of pools and of clusters that
// take more hosts, but for one that a machine failed with, since it stays what it is
// there; of the machines that a file names, those that are not part of the cluster,
// since the others run from their disks. Without such an image nothing can be said of
// the machines yet: all are given back.
func (c *BootConfig) dayTwo(ctx context.Context, list []infraEnv, machines []host.Machine) ([]infraEnv, []host.Machine, error) {
	var late []infraEnv
	there := map[string]string{}
	for _, env := range list {
		if env.ClusterID == "" {
			late = append(late, env)
			continue
		}
		if c.Cluster != nil && !strings.HasPrefix(env.Name, c.Cluster.Metadata.Name) && c.Cluster.HostAloneIn(env.Name) == nil {
			continue
		}
		var cluster struct {
			Status string `json:"status"`
		}
		if err := c.get(
			ctx, "/v2/clusters/"+env.ClusterID+"?exclude-hosts=true", "read the cluster of InfraEnv "+env.Name, env.token, &cluster,
		); err != nil {
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
	var boot []host.Machine
	for _, m := range machines {
		var err error
		if m, err = c.inPlace(m, there); err != nil {
			return nil, nil, err
		}
		if _, known := there[strings.ToLower(m.UUID)]; !known {
			boot = append(boot, m)
		}
	}
	return late, boot, nil
}

// inPlace is the machine of a host of the file. Machines are made by their place in the file. So
// where the cluster has the machine of that place by another name, the host of the file is a new
// one, that was written in the place of the old one, and another machine. A host without a name in the
// record is taken for the one of the file.
func (c *BootConfig) inPlace(m host.Machine, there map[string]string) (host.Machine, error) {
	h := c.Cluster.Host(m.Name)
	if h == nil || m.Chassis != nil {
		return m, nil
	}
	other, err := newcomer(c.Cluster, h, uint64(c.Seed))
	if err != nil {
		return m, err
	}
	name, known := there[strings.ToLower(m.UUID)]
	_, joined := there[strings.ToLower(other.UUID)]
	if joined || known && name != "" && !slices.Contains([]string{h.Hostname, h.Name, m.Hostname}, name) {
		return other, nil
	}
	return m, nil
}

// partOf notes the machines of an InfraEnv's cluster with their names, and gives those that failed
// with its image. One that runs from its disk is part of the cluster, also while that is not Ready.
func (c *BootConfig) partOf(ctx context.Context, env infraEnv, there map[string]string) (failed map[string]bool, err error) {
	var hosts []struct {
		ID         string `json:"id"`
		InfraEnvID string `json:"infra_env_id"`
		Status     string `json:"status"`
		Name       string `json:"requested_hostname"`
		Progress   struct {
			Stage models.HostStage `json:"current_stage"`
		} `json:"progress"`
	}
	if err := c.get(
		ctx, "/v2/clusters/"+env.ClusterID+"/hosts?with-inventory=false", "list the hosts of cluster "+env.ClusterID, env.token, &hosts,
	); err != nil {
		return nil, err
	}
	failed = map[string]bool{}
	for _, h := range hosts {
		switch h.Status {
		case "installed", "added-to-existing-cluster":
			there[strings.ToLower(h.ID)] = h.Name
		case "installing-in-progress":
			if h.Progress.Stage == models.HostStageRebooting || h.Progress.Stage == models.HostStageJoined {
				there[strings.ToLower(h.ID)] = h.Name
			}
		case "error", "cancelled":
			failed[strings.ToLower(h.ID)] = h.InfraEnvID == env.ID
		}
	}
	return failed, nil
}

// booted are the InfraEnvs as a machine reads them that has booted the image of each, with its agent's token.
func (c *BootConfig) booted(ctx context.Context) ([]infraEnv, error) {
	addresses, err := c.Images(ctx)
	if err != nil {
		return nil, fmt.Errorf("list InfraEnvs: %w", err)
	}
	var list []infraEnv
	for _, address := range addresses {
		env, err := c.bootedFrom(ctx, address)
		if err != nil {
			return nil, err
		}
		list = append(list, env)
	}
	return list, nil
}

func (c *BootConfig) bootedFrom(ctx context.Context, address string) (infraEnv, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return infraEnv{}, err
	}
	var config json.RawMessage
	if err := c.fetch(request, "read a discovery Ignition", &config); err != nil {
		return infraEnv{}, err
	}
	agent, err := live.AgentIn(config)
	if err != nil {
		return infraEnv{}, fmt.Errorf("read a discovery Ignition: %w", err)
	}
	var env infraEnv
	err = c.get(ctx, "/v2/infra-envs/"+agent.InfraEnvID, "read InfraEnv "+agent.InfraEnvID, agent.Token, &env)
	env.token = agent.Token
	return env, err
}
