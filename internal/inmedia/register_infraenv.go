package inmedia

import (
	"context"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// RegisterInfraEnv makes the InfraEnv of the medium, if the service has none:
// bound to the service's cluster, or to none while there is none. INFRA_ENV_ID
// is noted in the client's file.
func (c *Client) RegisterInfraEnv(ctx context.Context) (Result, error) {
	m, err := readInfraEnvManifests(c.Env.Files)
	if err != nil {
		return Result{}, err
	}
	for _, text := range m.unused {
		c.Warn("%s", text)
	}
	done := unchanged
	env, err := c.infraEnv(ctx)
	if err != nil {
		return Result{}, err
	}
	if env == nil {
		if env, err = c.registerInfraEnv(ctx, m); err != nil {
			return Result{}, err
		}
		done = "registered"
	} else if err := c.warnUnbound(ctx, env); err != nil {
		return Result{}, err
	}
	result := Result{Kind: "infraenv", Name: env.Name, ID: env.ID, Done: done}
	return result, writeWhole(c.Env.ClientConfig, []byte("INFRA_ENV_ID="+env.ID+"\n"))
}

// warnUnbound names an InfraEnv that was registered before the cluster: the service
// does not let it be given one later, only its hosts.
func (c *Client) warnUnbound(ctx context.Context, env *install.InfraEnv) error {
	if env.ClusterID != "" {
		return nil
	}
	cluster, err := c.cluster(ctx)
	if err == nil && cluster != nil {
		c.Warn("InfraEnv %s was registered before cluster %s and does not belong to it: start-install binds its hosts", env.Name, cluster.Name)
	}
	return err
}

// infraEnv is the one InfraEnv of the service on a medium, nil while there is
// none. That it cannot be asked for does not mean that there is none.
func (c *Client) infraEnv(ctx context.Context) (*install.InfraEnv, error) {
	found, err := c.Service.ListInfraEnvs(ctx, "")
	if err == nil {
		found, err = c.withoutEmpty(ctx, found)
	}
	return only("infraenv", found, err, func(e *install.InfraEnv) string { return e.ID + " (" + e.Name + ")" })
}

func (c *Client) registerInfraEnv(ctx context.Context, m *infraEnvManifests) (*install.InfraEnv, error) {
	cluster, err := c.cluster(ctx)
	if err != nil {
		return nil, err
	}
	action := install.Action{Kind: model.RegisterInfraEnv, Scope: model.InfraEnvScope(m.infraEnv.Name), Name: m.infraEnv.Name}
	if cluster != nil {
		action.Target = cluster.ID
		c.Say("registering InfraEnv %s of cluster %s", m.infraEnv.Name, cluster.Name)
	} else {
		c.Say("registering InfraEnv %s without a cluster: its hosts are bound later", m.infraEnv.Name)
	}
	if action.Settings, err = m.settings(c.Env.ImageType); err != nil {
		return nil, err
	}
	return create(ctx, func() error { return c.Service.Act(ctx, m.desired(), action) }, func() (*install.InfraEnv, error) { return c.infraEnv(ctx) })
}
