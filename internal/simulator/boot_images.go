package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/oaictl/oaictl/internal/simulator/live"
)

// booted are the InfraEnvs, read as a machine would that has booted the image of each:
// with the agent's token that is in its Ignition.
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
