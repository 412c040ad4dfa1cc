package service

import (
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type detail struct {
	// plain is the host as stored: without what the service works out on the way out.
	plain bool
	// roleOnly takes the stages from the role alone, as the list of an infra-env's hosts does.
	roleOnly bool
	// keepAddresses prints the list of free addresses.
	keepAddresses bool
}

func (s *Service) printHost(h *model.Host, d detail) model.PrintedHost {
	w := h.PrintedHost
	w.Status, w.StatusInfo = new(h.State), new(h.Info)
	w.ValidationsInfo = h.Checks.Text
	w.RequestedHostname = h.Hostname
	if h.Progress != nil {
		w.Progress = new(*h.Progress)
	}
	if d.plain {
		w.ProgressStages = nil
		return w
	}
	w.RequestedHostname = h.Name()
	w.ProgressStages = s.stagesOf(h, !d.roleOnly && h.Cluster != nil && h.Cluster.IsSingle())
	if !d.keepAddresses {
		w.FreeAddresses = ""
	}
	return w
}

func (s *Service) readHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	return wire.OK(s.printHost(h, detail{}))
}

func (s *Service) listHosts(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	list := []model.PrintedHost{}
	for _, h := range s.hostsOfInfraEnv(e.ID) {
		list = append(list, s.printHost(h, detail{roleOnly: true}))
	}
	return wire.OK(list)
}

func (s *Service) listClusterHosts(c *wire.Call) (wire.Reply, error) {
	cl := s.clusters[c.PathValue("cluster_id")]
	if cl == nil {
		return wire.OK([]model.PrintedHost{})
	}
	q := c.URL.Query()
	role, status := q.Get("role"), q.Get("status")
	list := []model.PrintedHost{}
	for _, h := range cl.Hosts {
		if role != "" && h.Role != role || status != "" && h.State != status {
			continue
		}
		w := s.printHost(h, detail{plain: true})
		w.FreeAddresses = ""
		if q.Get("with-inventory") != "true" {
			w.Inventory = ""
		}
		if q.Get("with-connectivity") != "true" {
			w.Connectivity = ""
		}
		list = append(list, w)
	}
	return wire.OK(list)
}
