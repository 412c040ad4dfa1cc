package service

import (
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (s *Service) registerCluster(c *wire.Call) (wire.Reply, error) {
	p := wire.Taken[request.ClusterCreate](c)
	if err := request.CheckChoices(p.NetworkType, p.Hyperthreading, p.DiskEncryption); err != nil {
		return wire.Reply{}, err
	}
	cl := s.newCluster(c.Owner())
	if err := request.FillCluster(cl, &p); err != nil {
		return wire.Reply{}, err
	}
	if s.cfg.Subscriptions {
		cl.AMSSubscriptionID = s.newID()
	}
	s.addCluster(cl)
	s.note(cl, "cluster_registration_succeeded", severityInfo, "Successfully registered cluster")
	w := s.printCluster(cl, clusterDetail{hosts: true})
	w.Progress = &model.ClusterProgress{}
	return wire.Created(w)
}

func (s *Service) newCluster(owner string) *model.Cluster {
	now := s.now()
	c := &model.Cluster{Manifests: map[string]model.Manifest{}, Objects: map[string][]byte{}, Logs: map[string][]byte{}, Deleted: map[string]*model.Host{}}
	c.ID = s.newID()
	c.Href = Base + "/v2/clusters/" + c.ID
	c.Kind, c.Status, c.StatusInfo = model.KindCluster, model.ClusterInsufficient, model.InfoNotReady
	c.CreatedAt, c.UpdatedAt, c.StatusUpdatedAt = model.Micros(now), model.Micros(now), model.Millis(now)
	c.UserName, c.EmailDomain = owner, "Unknown"
	c.LoadBalancer = &model.LoadBalancer{Type: "cluster-managed"}
	c.Progress = &model.ClusterProgress{}
	return c
}

func (s *Service) addCluster(c *model.Cluster) {
	s.clusters[c.ID] = c
	s.clusterOrder = append(s.clusterOrder, c.ID)
}
