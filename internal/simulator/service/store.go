package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (s *Service) getCluster(id string) (*model.Cluster, error) {
	if c := s.clusters[id]; c != nil {
		return c, nil
	}
	return nil, wire.NotFound("Failed to get cluster %s: record not found", id)
}

// storedCluster is getCluster for those operations that tell of the database what it is that is not there.
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

// The clusters, infra-envs and hosts, in the order in which they were made.

func (s *Service) clustersInOrder() []*model.Cluster   { return inOrder(s.clusterOrder, s.clusters) }
func (s *Service) infraEnvsInOrder() []*model.InfraEnv { return inOrder(s.infraEnvOrder, s.infraEnvs) }
func (s *Service) hostsInOrder() []*model.Host         { return inOrder(s.hostOrder, s.hosts) }

func inOrder[T any](keys []string, all map[string]*T) []*T {
	list := make([]*T, 0, len(keys))
	for _, key := range keys {
		list = append(list, all[key])
	}
	return list
}

func (s *Service) hostsOfInfraEnv(id string) []*model.Host {
	return slices.DeleteFunc(s.hostsInOrder(), func(h *model.Host) bool { return h.InfraEnvID != id })
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

// Handlers of operations on one object, by its id in the path; refused where there is none.

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
