package agentmedia

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// withdraw takes this run's cluster back if another was there first, since of two runs
// at once both find none. The service plane makes sure that ours is still empty.
func (c *Client) withdraw(ctx context.Context, desired *model.Desired) error {
	found, err := c.Service.ListClusters(ctx)
	if err != nil {
		return err
	}
	own := slices.IndexFunc(found, func(l model.Cluster) bool { return l.Run != "" && l.Run == desired.Options.Run })
	if own < 0 || found[own].ID == eldestCluster(found).ID {
		return nil
	}
	c.Say("deleting cluster %s (%s) again: the service has an older one", found[own].Name, found[own].ID)
	return c.Service.Act(ctx, desired, model.Action{
		Kind: model.WithdrawCluster, Scope: model.ScopeCluster, Target: found[own].ID, Name: found[own].Name, Destructive: true,
	})
}

// withoutDuplicates is the eldest cluster, where the others were left by broken runs:
// made by oaictl, of the same name, and empty. Else it is all of them.
func (c *Client) withoutDuplicates(ctx context.Context, found []model.Cluster) ([]model.Cluster, error) {
	if len(found) < 2 {
		return found, nil
	}
	infraEnvs, err := c.Service.ListInfraEnvs(ctx, "")
	if err != nil {
		return nil, err
	}
	eldest := eldestCluster(found)
	for i := range found {
		other := &found[i]
		used := other.Hosts > 0 || slices.ContainsFunc(infraEnvs, func(e model.InfraEnv) bool { return e.ClusterID == other.ID })
		if !other.Owned || other.Name != eldest.Name || other.BaseDomain != eldest.BaseDomain || used && other.ID != eldest.ID {
			return found, nil
		}
	}
	c.Warn("the service has %d clusters %s, and all but the oldest are empty: %s is used; the others can be deleted",
		len(found), eldest.Name,
		eldest.ID)
	return []model.Cluster{*eldest}, nil
}

// withoutEmpty is the InfraEnv, of several of a name, that has hosts, or else the
// eldest. Where more than one has hosts, it is all of them.
func (c *Client) withoutEmpty(ctx context.Context, found []model.InfraEnv) ([]model.InfraEnv, error) {
	if len(found) < 2 {
		return found, nil
	}
	eldest := eldestOf(found, func(e *model.InfraEnv) (time.Time, string) { return e.Created, e.ID })
	var used []model.InfraEnv
	for _, env := range found {
		if env.Name != eldest.Name {
			return found, nil
		}
		hosts, err := c.Service.ListHosts(ctx, env.ID)
		if err != nil {
			return nil, err
		}
		if len(hosts) > 0 {
			used = append(used, env)
		}
	}
	switch len(used) {
	case 0:
		used = append(used, *eldest)
	case 1:
	default:
		return found, nil
	}
	c.Warn("the service has %d InfraEnvs %s, and all but one without hosts: %s is used; the others can be deleted", len(found), eldest.Name,
		used[0].ID)
	return used, nil
}

func eldestCluster(found []model.Cluster) *model.Cluster {
	return eldestOf(found, func(c *model.Cluster) (time.Time, string) { return c.Created, c.ID })
}

// eldestOf uses the id for what was made in the same moment, so that all runs agree.
func eldestOf[T any](found []T, born func(*T) (time.Time, string)) *T {
	eldest := &found[0]
	for i := range found {
		at, id := born(&found[i])
		first, firstID := born(eldest)
		if cmp.Or(at.Compare(first), strings.Compare(id, firstID)) < 0 {
			eldest = &found[i]
		}
	}
	return eldest
}
