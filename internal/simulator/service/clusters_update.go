package service

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// updateCluster changes a cluster: all that is asked for, or nothing.
func (s *Service) updateCluster(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.Taken[request.ClusterUpdate](c)
	if err := request.CheckChoices(p.NetworkType, p.Hyperthreading, p.DiskEncryption); err != nil {
		return wire.Reply{}, err
	}
	if !clusterUpdatable(cl) {
		return wire.Reply{}, wire.Conflict("%s", notUpdatable(cl))
	}
	changed := *cl
	proxied, err := request.ChangeCluster(&changed, &p, s.cfg.KubeAPI)
	if proxied {
		s.note(cl, "proxy_settings_changed", severityInfo, "Proxy settings changed")
	}
	if err != nil {
		return wire.Reply{}, err
	}
	*cl = changed
	request.RecordChangedUses(cl, &p)
	cl.UpdatedAt = model.Micros(s.now())
	s.refreshClusterNow(cl)
	return wire.Created(s.printCluster(cl, clusterDetail{hosts: true}))
}

func updatableStates() []string {
	return []string{model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput, model.ClusterAddingHosts}
}

func clusterUpdatable(c *model.Cluster) bool { return model.OneOf(c.Status, updatableStates()...) }

func notUpdatable(c *model.Cluster) string {
	return fmt.Sprintf("Cluster %s is in %s state, cluster can be updated only in one of %v", c.ID, c.Status, updatableStates())
}

// refreshClusterNow judges a cluster and its hosts at once, after its user
// changed it.
func (s *Service) refreshClusterNow(c *model.Cluster) {
	if !model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput) {
		return
	}
	validate.UpdateGroupsAndCollisions(c)
	rememberState(c)
	names := c.Hostnames()
	for _, h := range c.Hosts {
		s.tickHost(h, names)
	}
	s.judgeIdle(c)
}
