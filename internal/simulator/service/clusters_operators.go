package service

import (
	"cmp"
	"slices"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (s *Service) readOperators(c *wire.Call) (wire.Reply, error) {
	cl := s.clusters[c.PathValue("cluster_id")]
	if cl == nil {
		return wire.OK([]model.Operator{})
	}
	name := c.URL.Query().Get("operator_name")
	if name == "" {
		return wire.OK(slices.Clone(cl.MonitoredOperators))
	}
	for _, o := range cl.MonitoredOperators {
		if o.Name == name {
			return wire.OK([]model.Operator{o})
		}
	}
	return wire.Reply{}, wire.NotFound("operator %s not found", name)
}

func (s *Service) reportOperator(c *wire.Call) (wire.Reply, error) {
	p := wire.Taken[models.OperatorMonitorReport](c)
	if p.Name == "" {
		return wire.Reply{}, wire.BadRequest("empty operator name is not allowed")
	}
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	list := slices.Clone(cl.MonitoredOperators)
	i := slices.IndexFunc(list, func(o model.Operator) bool { return o.Name == p.Name })
	if i < 0 {
		return wire.Reply{}, wire.NotFound("operator %s not found", p.Name)
	}
	o := &list[i]
	o.Status, o.StatusInfo, o.Version = cmp.Or(string(p.Status), o.Status), cmp.Or(p.StatusInfo, o.StatusInfo), cmp.Or(p.Version, o.Version)
	o.StatusUpdatedAt = model.Millis(s.now())
	cl.MonitoredOperators = list
	s.note(cl, "cluster_operator_status", severityInfo, "Operator %s status: %s message: %s", p.Name, p.Status, p.StatusInfo)
	measureFinalizing(cl)
	return wire.Reply{Status: 200}, nil
}

// measureFinalizing works out how many operators are done. What went wrong with one on
// top is over, too.
func measureFinalizing(c *model.Cluster) {
	done := 0
	for _, o := range c.MonitoredOperators {
		done += one(o.Status == "available" || o.OperatorType == "olm" && o.Status == "failed")
	}
	before := *c.Progress
	c.Progress.FinalizingPercentage = done * 100 / len(c.MonitoredOperators)
	measureTotal(c)
	if c.Progress.TotalPercentage < before.TotalPercentage {
		*c.Progress = before // it never goes back
	}
}
