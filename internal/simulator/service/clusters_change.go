package service

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
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

// refreshClusterNow judges a cluster and its hosts at once, after its user changed it.
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

// importCluster makes a cluster out of one that was installed elsewhere, so that hosts can be added to it.
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

// settleImported fills in what the database adds to an imported cluster: empty lists.
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

// registerDisconnected makes a cluster that only holds a configuration.
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
