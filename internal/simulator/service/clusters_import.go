package service

import (
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// importCluster makes a cluster out of one that was installed elsewhere, so that
// hosts can be added to it.
func (s *Service) importCluster(c *call) (reply, error) {
	p := taken[models.ImportClusterParams](c)
	cl := s.newCluster(c.owner())
	cl.Kind, cl.Imported = kindAddHosts, true
	cl.Name, cl.OpenshiftClusterID, cl.APIVipDNSName = *p.Name, p.OpenshiftClusterID.String(), *p.APIVipDnsname
	// An address like api.NAME.DOMAIN tells name and domain better than the caller.
	if rest, found := strings.CutPrefix(*p.APIVipDnsname, "api."); found {
		if name, domain, found := strings.Cut(rest, "."); found && checkDomain(domain) == nil {
			cl.Name, cl.BaseDNSDomain = name, domain
		}
	}
	if p.OpenshiftVersion != "" {
		release, err := versions.Resolve(p.OpenshiftVersion, "")
		if err != nil {
			return reply{}, badRequest("%s", err)
		}
		cl.OpenshiftVersion, cl.OcpReleaseImage = release.Version, release.URL
	}
	cl.Status, cl.StatusInfo = clusterAddingHosts, infoAddingHosts
	cl.Platform = &platform{Type: platformBaremetal}
	cl.Progress = nil
	w := s.printCluster(cl, clusterDetail{plain: true})
	w.HostNetworks = []hostNetwork{}
	s.settleImported(cl)
	s.addCluster(cl)
	s.note(cl, "cluster_registration_succeeded", severityInfo, "Successfully registered cluster")
	return created(w)
}

// settleImported fills in what the database adds to an imported cluster: lists
// that are empty instead of missing.
func (s *Service) settleImported(c *cluster) {
	c.Progress = &clusterProgress{}
	c.Platform = &platform{Type: platformBaremetal, External: &externalPlatform{}}
	c.DiskEncryption, c.IgnitionEndpoint = &diskEncryption{}, &ignitionEndpoint{}
	c.APIVips, c.IngressVips = []vip{}, []vip{}
	c.MachineNetworks, c.ServiceNetworks, c.ClusterNetworks = []machineNetwork{}, []machineNetwork{}, []clusterNetwork{}
	c.MonitoredOperators, c.OperatorBundles = []operator{}, []string{}
}

type disconnectedCreate struct {
	Name             string `json:"name"`
	OpenshiftVersion string `json:"openshift_version"`
}

// registerDisconnected makes a cluster that only holds the configuration of an
// installation without a service.
func (s *Service) registerDisconnected(c *call) (reply, error) {
	p := taken[disconnectedCreate](c)
	if p.Name == "" {
		return reply{}, malformed("name in body is required")
	}
	if p.OpenshiftVersion == "" {
		return reply{}, malformed("openshift_version in body is required")
	}
	release, err := versions.Resolve(p.OpenshiftVersion, "")
	if err != nil {
		return reply{}, badRequest("%s", err)
	}
	cl := s.newCluster(c.owner())
	cl.Kind, cl.Status, cl.StatusInfo, cl.Name = kindDisconnected, clusterUnmonitored, "", p.Name
	cl.OpenshiftVersion, cl.OcpReleaseImage, cl.CPUArchitecture = release.Version, release.URL, release.CPUArchitecture
	s.addCluster(cl)
	return created(s.printCluster(cl, clusterDetail{}))
}
