package service

import (
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// importCluster makes a cluster out of one that was installed elsewhere, so that
// hosts can be added to it.
func (s *Service) importCluster(c *wire.Call) (wire.Reply, error) {
	p := wire.Taken[models.ImportClusterParams](c)
	cl := s.newCluster(c.Owner())
	cl.Kind, cl.Imported = model.KindAddHosts, true
	cl.Name, cl.OpenshiftClusterID, cl.APIVipDNSName = *p.Name, p.OpenshiftClusterID.String(), *p.APIVipDnsname
	// An address like api.NAME.DOMAIN tells name and domain better than the caller.
	if rest, found := strings.CutPrefix(*p.APIVipDnsname, "api."); found {
		if name, domain, found := strings.Cut(rest, "."); found && request.CheckDomain(domain) == nil {
			cl.Name, cl.BaseDNSDomain = name, domain
		}
	}
	if p.OpenshiftVersion != "" {
		release, err := versions.Resolve(p.OpenshiftVersion, "")
		if err != nil {
			return wire.Reply{}, wire.BadRequest("%s", err)
		}
		cl.OpenshiftVersion, cl.OcpReleaseImage = release.Version, release.URL
	}
	cl.Status, cl.StatusInfo = model.ClusterAddingHosts, model.InfoAddingHosts
	cl.Platform = &model.Platform{Type: model.PlatformBaremetal}
	cl.Progress = nil
	w := s.printCluster(cl, clusterDetail{plain: true})
	w.HostNetworks = []model.HostNetwork{}
	s.settleImported(cl)
	s.addCluster(cl)
	s.note(cl, "cluster_registration_succeeded", severityInfo, "Successfully registered cluster")
	return wire.Created(w)
}

// settleImported fills in what the database adds to an imported cluster: lists
// that are empty instead of missing.
func (s *Service) settleImported(c *model.Cluster) {
	c.Progress = &model.ClusterProgress{}
	c.Platform = &model.Platform{Type: model.PlatformBaremetal, External: &model.ExternalPlatform{}}
	c.DiskEncryption, c.IgnitionEndpoint = &model.DiskEncryption{}, &model.IgnitionEndpoint{}
	c.APIVips, c.IngressVips = []model.VIP{}, []model.VIP{}
	c.MachineNetworks, c.ServiceNetworks, c.ClusterNetworks = []model.MachineNetwork{}, []model.MachineNetwork{}, []model.ClusterNetwork{}
	c.MonitoredOperators, c.OperatorBundles = []model.Operator{}, []string{}
}

type disconnectedCreate struct {
	Name             string `json:"name"`
	OpenshiftVersion string `json:"openshift_version"`
}

// registerDisconnected makes a cluster that only holds the configuration of an
// installation without a service.
func (s *Service) registerDisconnected(c *wire.Call) (wire.Reply, error) {
	p := wire.Taken[disconnectedCreate](c)
	if p.Name == "" {
		return wire.Reply{}, wire.Malformed("name in body is required")
	}
	if p.OpenshiftVersion == "" {
		return wire.Reply{}, wire.Malformed("openshift_version in body is required")
	}
	release, err := versions.Resolve(p.OpenshiftVersion, "")
	if err != nil {
		return wire.Reply{}, wire.BadRequest("%s", err)
	}
	cl := s.newCluster(c.Owner())
	cl.Kind, cl.Status, cl.StatusInfo, cl.Name = model.KindDisconnected, model.ClusterUnmonitored, "", p.Name
	cl.OpenshiftVersion, cl.OcpReleaseImage, cl.CPUArchitecture = release.Version, release.URL, release.CPUArchitecture
	s.addCluster(cl)
	return wire.Created(s.printCluster(cl, clusterDetail{}))
}
