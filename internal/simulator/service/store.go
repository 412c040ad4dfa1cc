package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// getCluster finds a cluster or says that it is not there.
func (s *Service) getCluster(id string) (*model.Cluster, error) {
	if c := s.clusters[id]; c != nil {
		return c, nil
	}
	return nil, wire.NotFound("Failed to get cluster %s: record not found", id)
}

// storedCluster is getCluster for those operations that tell of the database what it
// is that is not there.
func (s *Service) storedCluster(id, refusal string) (*model.Cluster, error) {
	if c := s.clusters[id]; c != nil {
		return c, nil
	}
	return nil, wire.NotFound("%s", refusal)
}

func (s *Service) getInfraEnv(id string) (*model.InfraEnv, error) {
	if e := s.infraEnvs[id]; e != nil {
		return e, nil
	}
	return nil, wire.NotFound("record not found")
}

func (s *Service) getHost(infraEnvID, id string) (*model.Host, error) {
	if h := s.hosts[infraEnvID+"/"+id]; h != nil {
		return h, nil
	}
	return nil, wire.NotFound("failed to get host %s in infra_env %s: record not found", id, infraEnvID)
}

// clustersInOrder lists the clusters in the order in which they were made.
func (s *Service) clustersInOrder() []*model.Cluster {
	list := make([]*model.Cluster, 0, len(s.clusters))
	for _, id := range s.clusterOrder {
		list = append(list, s.clusters[id])
	}
	return list
}

func (s *Service) infraEnvsInOrder() []*model.InfraEnv {
	list := make([]*model.InfraEnv, 0, len(s.infraEnvs))
	for _, id := range s.infraEnvOrder {
		list = append(list, s.infraEnvs[id])
	}
	return list
}

func (s *Service) hostsInOrder() []*model.Host {
	list := make([]*model.Host, 0, len(s.hosts))
	for _, key := range s.hostOrder {
		list = append(list, s.hosts[key])
	}
	return list
}

func (s *Service) hostsOfInfraEnv(id string) []*model.Host {
	var list []*model.Host
	for _, key := range s.hostOrder {
		if h := s.hosts[key]; h.InfraEnvID == id {
			list = append(list, h)
		}
	}
	return list
}

func (s *Service) dropHost(h *model.Host) {
	key := h.InfraEnvID + "/" + h.ID
	delete(s.hosts, key)
	s.hostOrder = slices.DeleteFunc(s.hostOrder, func(k string) bool { return k == key })
	if c := h.Cluster; c != nil {
		c.Deleted[key] = h
	}
	h.Leave()
}

// The handlers of operations that are about one object, by its id in the path. The
// operation is refused where there is none.

func (s *Service) ofCluster(handle func(*wire.Call, *model.Cluster) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Cluster, error) { return s.getCluster(c.PathValue("cluster_id")) }, handle)
}

func (s *Service) ofStored(refusal string, handle func(*wire.Call, *model.Cluster) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Cluster, error) { return s.storedCluster(c.PathValue("cluster_id"), refusal) }, handle)
}

func (s *Service) ofInfraEnv(handle func(*wire.Call, *model.InfraEnv) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.InfraEnv, error) { return s.getInfraEnv(c.PathValue("infra_env_id")) }, handle)
}

func (s *Service) ofHost(handle func(*wire.Call, *model.Host) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Host, error) {
		return s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	}, handle)
}

func about[T any](find func(*wire.Call) (*T, error), handle func(*wire.Call, *T) (wire.Reply, error)) wire.Handler {
	return func(c *wire.Call) (wire.Reply, error) {
		found, err := find(c)
		if err != nil {
			return wire.Reply{}, err
		}
		return handle(c, found)
	}
}
