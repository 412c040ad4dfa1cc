package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
)

// printer makes of clusters and hosts what an answer holds.
type printer struct{ variant *variant }

type clusterDetail struct {
	// plain is the cluster as stored: without what the service works out on the way out.
	plain bool
	hosts bool
	// named prints the hosts of a plain cluster with what is worked out for them.
	named bool
	// noCounts leaves the host counts out.
	noCounts bool
}

func (p *printer) printCluster(c *model.Cluster, d clusterDetail) model.PrintedCluster {
	w := c.PrintedCluster
	w.PrintedHosts = []model.PrintedHost{}
	if d.hosts {
		w.PrintedHosts = make([]model.PrintedHost, 0, len(c.Hosts))
		for _, h := range c.Hosts {
			w.PrintedHosts = append(w.PrintedHosts, p.printHost(h, detail{plain: d.plain && !d.named, keepAddresses: d.plain}))
		}
	}
	if c.Progress != nil {
		w.Progress = new(*c.Progress)
	}
	if !d.noCounts && !c.Imported {
		w.TotalHostCount, w.EnabledHostCount = len(c.Hosts), len(c.Hosts)
		for _, h := range c.Hosts {
			w.ReadyHostCount += one(h.State == model.HostKnown)
		}
	}
	if d.plain {
		w.ImageInfo.CreatedAt = c.CreatedAt
		w.OperatorBundles = nil
		return w
	}
	w.HostNetworks = validate.HostNetworks(c)
	return w
}

// stale prints a cluster as before an action but for its state, which is what actions answer.
func (p *printer) stale(c *model.Cluster) model.PrintedCluster {
	return p.printCluster(c, clusterDetail{plain: true, hosts: true})
}

type detail struct {
	// plain is the host as stored: without what the service works out on the way out.
	plain bool
	// roleOnly takes the stages from the role alone, as the list of an infra-env's hosts does.
	roleOnly bool
	// keepAddresses prints the list of free addresses.
	keepAddresses bool
}

func (p *printer) printHost(h *model.Host, d detail) model.PrintedHost {
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
	w.ProgressStages = p.stagesOf(h, !d.roleOnly && h.Cluster != nil && h.Cluster.IsSingle())
	if !d.keepAddresses {
		w.FreeAddresses = ""
	}
	return w
}

// printMoved prints a host that was bound or unbound; only its measurements still stand.
func (p *printer) printMoved(h *model.Host, before *model.PrintedHost) model.PrintedHost {
	now := p.printHost(h, detail{plain: true})
	now.ValidationsInfo, now.NtpSources, now.FreeAddresses = before.ValidationsInfo, before.NtpSources, ""
	return now
}

func (p *printer) stagesOf(h *model.Host, single bool) []string {
	return slices.DeleteFunc(model.RoleStages(h, single, p.variant.hub), func(stage string) bool {
		return stage == model.StageCopying && !p.variant.release.Has(copiesSince)
	})
}
