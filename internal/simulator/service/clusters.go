package service

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// clusterAPI answers what users and the controllers of clusters ask of clusters.
type clusterAPI struct {
	records       *records
	source        *source
	journal       *journal
	variant       *variant
	printer       *printer
	monitor       *monitor
	hosts         *hostAPI
	subscriptions bool
	// pickBootstrap chooses among the control plane hosts. The real service takes any of them.
	pickBootstrap func([]*model.Host) *model.Host
}

func (a *clusterAPI) readCluster(c *wire.Call) (wire.Reply, error) {
	id := c.PathValue("cluster_id")
	if gone := a.records.gone[id]; gone != nil && unregisteredToo(c) {
		return wire.OK(gone)
	}
	cl, err := a.records.storedCluster(id, "record not found")
	if err != nil {
		return wire.Reply{}, err
	}
	if c.URL.Query().Get("exclude-hosts") == "true" {
		w := a.printer.printCluster(cl, clusterDetail{noCounts: true})
		w.PrintedHosts, w.HostNetworks = nil, []*models.HostNetwork{}
		return wire.OK(w)
	}
	return wire.OK(a.printer.printCluster(cl, clusterDetail{hosts: true}))
}

func unregisteredToo(c *wire.Call) bool { return c.Header.Get("get_unregistered_clusters") == "true" }

func (a *clusterAPI) listClusters(c *wire.Call) (wire.Reply, error) {
	q := c.URL.Query()
	withHosts := q.Get("with_hosts") == "true"
	openshiftID, owner := q.Get("openshift_cluster_id"), q.Get("owner")
	list := []model.PrintedCluster{}
	for _, cl := range a.records.clusters.inOrder() {
		w := a.printer.printCluster(cl, clusterDetail{})
		w.HostNetworks, w.ValidationsInfo = nil, cl.ValidationsInfo
		for _, h := range cl.Hosts {
			if withHosts {
				one := a.printer.printHost(h, detail{plain: true})
				one.FreeAddresses = ""
				w.PrintedHosts = append(w.PrintedHosts, one)
			}
		}
		list = append(list, w)
	}
	if unregisteredToo(c) {
		list = append(list, a.records.goneInOrder(withHosts)...)
	}
	list = slices.DeleteFunc(list, func(w model.PrintedCluster) bool {
		return openshiftID != "" && w.OpenshiftClusterID != openshiftID || owner != "" && w.UserName != owner || !c.Sees(w.UserName) ||
			q.Has("ams_subscription_ids") && !slices.Contains(strings.Split(q.Get("ams_subscription_ids"), ","), w.AMSSubscriptionID)
	})
	for i := range list {
		list[i].OperatorBundles = nil
	}
	return wire.OK(list)
}

// deleteCluster forgets a cluster with the hosts of its infra-envs; others go back to the pool.
func (a *clusterAPI) deleteCluster(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	if cl.Status == model.ClusterInstalling {
		err := wire.Conflict("cluster %s can not be removed while being installed, wait for the installation to timeout or reset the "+
			"installation", cl.ID)
		a.journal.addEvent(cl, "cluster_deregister_failed", severityError, "Failed to deregister cluster. Error: %s", err)
		return wire.Reply{}, err
	}
	last := a.printer.printCluster(cl, clusterDetail{hosts: true})
	last.DeletedAt = new(model.Micros(a.source.now()))
	for i := range last.PrintedHosts {
		last.PrintedHosts[i].DeletedAt = last.DeletedAt
	}
	a.records.gone[cl.ID] = &last
	for _, h := range append([]*model.Host(nil), cl.Hosts...) {
		if h.InfraEnv.ClusterID == cl.ID {
			a.hosts.forgetHost(h)
			continue
		}
		state := cmp.Or(stateOnLeaving(h), model.HostUnbinding)
		h.Release()
		a.journal.setHost(h, state, model.InfoUnbinding)
	}
	a.journal.addEvent(cl, "cluster_deregistered", severityInfo, "Deregistered cluster")
	a.records.clusters.drop(cl.ID)
	return wire.NoContent()
}

func readUISettings(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	return wire.Reply{Status: http.StatusOK, Body: []byte(cl.UISettings), RawType: "application/json"}, nil
}

func setUISettings(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	text := wire.TypedBody[string](c)
	cl.UISettings = text
	return wire.Reply{Status: http.StatusOK, Body: []byte(text), RawType: "application/json"}, nil
}

func defaultConfig(*wire.Call) (wire.Reply, error) {
	type network struct {
		CIDR       string `json:"cidr"`
		HostPrefix int    `json:"host_prefix,omitempty"`
	}
	four, six := network{"10.128.0.0/14", 23}, network{"fd01::/48", 64}
	return wire.OK(map[string]any{
		"cluster_network_cidr": "10.128.0.0/14", "cluster_network_host_prefix": 23,
		"cluster_networks_dualstack": []network{four, six}, "cluster_networks_ipv4": []network{four},
		"forbidden_hostnames": validate.ForbiddenHostnames(), "inactive_deletion_hours": 480, "ntp_source": "",
		"service_network_cidr":       "172.30.0.0/16",
		"service_networks_dualstack": []network{{CIDR: "172.30.0.0/16"}, {CIDR: "fd02::/112"}},
		"service_networks_ipv4":      []network{{CIDR: "172.30.0.0/16"}},
	})
}

func (a *clusterAPI) readOperators(c *wire.Call) (wire.Reply, error) {
	cl := a.records.clusters.of(c.PathValue("cluster_id"))
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

func (a *clusterAPI) reportOperator(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[models.OperatorMonitorReport](c)
	if p.Name == "" {
		return wire.Reply{}, wire.BadRequest("empty operator name is not allowed")
	}
	cl, err := a.records.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	list := slices.Clone(cl.MonitoredOperators)
	i := slices.IndexFunc(list, func(o model.Operator) bool { return o.Name == p.Name })
	if i < 0 {
		return wire.Reply{}, wire.NotFound("operator %s not found", p.Name)
	}
	o := &list[i]
	o.Status, o.StatusInfo, o.Version = cmp.Or(p.Status, o.Status), cmp.Or(p.StatusInfo, o.StatusInfo), cmp.Or(p.Version, o.Version)
	o.StatusUpdatedAt = model.Millis(a.source.now())
	cl.MonitoredOperators = list
	a.journal.addEvent(cl, "cluster_operator_status", severityInfo, "Operator %s status: %s message: %s", p.Name, p.Status, p.StatusInfo)
	measureFinalizing(cl)
	return wire.Reply{Status: 200}, nil
}

// measureFinalizing works out how many operators are done. What went wrong with one on top is over, too.
func measureFinalizing(c *model.Cluster) {
	done := 0
	for _, o := range c.MonitoredOperators {
		done += one(o.Status == "available" || o.OperatorType == "olm" && o.Status == "failed")
	}
	before := *c.Progress
	c.Progress.FinalizingStagePercentage = int64(done * 100 / len(c.MonitoredOperators))
	measureTotal(c)
	if c.Progress.TotalPercentage < before.TotalPercentage {
		*c.Progress = before // it never goes back
	}
}

func (a *clusterAPI) registerCluster(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[request.ClusterCreateParams](c)
	if err := p.Check(); err != nil {
		return wire.Reply{}, err
	}
	cl := a.newCluster(c.Owner())
	if err := request.FillCluster(cl, &p); err != nil {
		return wire.Reply{}, err
	}
	if a.subscriptions {
		cl.AMSSubscriptionID = a.source.newID()
	}
	a.records.clusters.add(cl.ID, cl)
	a.journal.addEvent(cl, "cluster_registration_succeeded", severityInfo, "Successfully registered cluster")
	w := a.printer.printCluster(cl, clusterDetail{hosts: true})
	w.Progress = &models.ClusterProgressInfo{}
	return wire.Created(w)
}

func (a *clusterAPI) newCluster(owner string) *model.Cluster {
	now := a.source.now()
	c := &model.Cluster{
		Manifests: map[string]model.Manifest{}, Objects: map[string][]byte{}, Logs: map[string][]byte{},
		Deleted: map[string]*model.Host{},
	}
	c.ID = a.source.newID()
	c.Href = Base + "/v2/clusters/" + c.ID
	c.Kind, c.Status, c.StatusInfo = model.KindCluster, model.ClusterInsufficient, model.InfoNotReady
	c.CreatedAt, c.UpdatedAt, c.StatusUpdatedAt = model.Micros(now), model.Micros(now), model.Millis(now)
	c.UserName, c.EmailDomain = owner, "Unknown"
	c.LoadBalancer = &models.LoadBalancer{Type: "cluster-managed"}
	c.Progress = &models.ClusterProgressInfo{}
	return c
}

func (a *clusterAPI) updateCluster(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.TypedBody[request.V2ClusterUpdateParams](c)
	if err := p.Check(); err != nil {
		return wire.Reply{}, err
	}
	if !clusterUpdatable(cl) {
		return wire.Reply{}, wire.Conflict("%s", notUpdatable(cl))
	}
	changed := *cl
	proxied, err := request.ChangeCluster(&changed, &p, a.variant.hub)
	if proxied {
		a.journal.addEvent(cl, "proxy_settings_changed", severityInfo, "Proxy settings changed")
	}
	if err != nil {
		return wire.Reply{}, err
	}
	for _, e := range a.records.infraEnvs.inOrder() {
		if e.ClusterID == cl.ID {
			if err := request.CheckFeatures(&changed, e.CPUArchitecture); err != nil {
				return wire.Reply{}, err
			}
		}
	}
	*cl = changed
	request.RecordChangedUses(cl, &p)
	cl.UpdatedAt = model.Micros(a.source.now())
	a.monitor.refreshClusterNow(cl)
	return wire.Created(a.printer.printCluster(cl, clusterDetail{hosts: true}))
}

func updatableStates() []string {
	return []string{model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput, model.ClusterAddingHosts}
}

func clusterUpdatable(c *model.Cluster) bool { return model.OneOf(c.Status, updatableStates()...) }

func notUpdatable(c *model.Cluster) string {
	return fmt.Sprintf("Cluster %s is in %s state, cluster can be updated only in one of %v", c.ID, c.Status, updatableStates())
}

func (m *monitor) refreshClusterNow(c *model.Cluster) {
	if !model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput) {
		return
	}
	validate.UpdateGroupsAndCollisions(c)
	rememberState(c)
	names := c.Hostnames()
	for _, h := range c.Hosts {
		m.tickHost(h, names)
	}
	m.judgeIdle(c)
}

// importCluster makes a cluster out of one that was installed elsewhere, so that hosts can be added to it.
func (a *clusterAPI) importCluster(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[models.ImportClusterParams](c)
	cl := a.newCluster(c.Owner())
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
	cl.Platform = &models.Platform{Type: new(models.PlatformTypeBaremetal)}
	cl.Progress = nil
	w := a.printer.printCluster(cl, clusterDetail{plain: true})
	w.HostNetworks = []*models.HostNetwork{}
	settleImported(cl)
	a.records.clusters.add(cl.ID, cl)
	a.journal.addEvent(cl, "cluster_registration_succeeded", severityInfo, "Successfully registered cluster")
	return wire.Created(w)
}

// settleImported fills in what the database adds to an imported cluster: empty lists.
func settleImported(c *model.Cluster) {
	c.Progress = &models.ClusterProgressInfo{}
	c.Platform = &models.Platform{Type: new(models.PlatformTypeBaremetal), External: &models.PlatformExternal{}}
	c.DiskEncryption, c.IgnitionEndpoint = &model.DiskEncryption{}, &model.IgnitionEndpoint{}
	c.APIVips, c.IngressVips = []model.VIP{}, []model.VIP{}
	c.MachineNetworks, c.ServiceNetworks, c.ClusterNetworks = []model.MachineNetwork{}, []model.MachineNetwork{}, []model.ClusterNetwork{}
	c.MonitoredOperators, c.OperatorBundles = []model.Operator{}, []string{}
}

type disconnectedCreate struct {
	Name             string `json:"name"`
	OpenshiftVersion string `json:"openshift_version"`
}

func (a *clusterAPI) registerDisconnected(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[disconnectedCreate](c)
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
	cl := a.newCluster(c.Owner())
	cl.Kind, cl.Status, cl.StatusInfo, cl.Name = model.KindDisconnected, model.ClusterUnmonitored, "", p.Name
	cl.OpenshiftVersion, cl.OcpReleaseImage, cl.CPUArchitecture = release.Version, release.URL, release.CPUArchitecture
	a.records.clusters.add(cl.ID, cl)
	return wire.Created(a.printer.printCluster(cl, clusterDetail{}))
}
