package request

import (
	"cmp"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

// V2ClusterUpdateParams is what PATCH cluster takes: the known parameters and the newer ones.
type V2ClusterUpdateParams struct {
	KnownUpdateParams
	Settings
}

// KnownUpdateParams are the like for a change.
type KnownUpdateParams struct{ models.V2ClusterUpdateParams }

type clusterChange struct {
	c *model.Cluster
	p *V2ClusterUpdateParams
	// byOperator says that a hub's operator asks, which may change the networks at any time.
	byOperator bool
	// proxied tells that the proxy was changed, even where something that comes after it is refused.
	proxied bool
}

// ChangeCluster checks what is asked for in the order in which the service does, and
// writes it into the cluster. It reports whether the proxy was changed.
func ChangeCluster(c *model.Cluster, p *V2ClusterUpdateParams, byOperator bool) (proxied bool, err error) {
	u := &clusterChange{c: c, p: p, byOperator: byOperator}
	for _, change := range []func() error{
		u.identity, u.topology, u.platform, u.networks, u.machineNetworks, u.vips, u.proxy, u.clocks, u.options, u.operators,
	} {
		if err := change(); err != nil {
			return u.proxied, err
		}
	}
	return u.proxied, nil
}

func (u *clusterChange) identity() error {
	c, p := u.c, u.p
	secret := func(text string) error {
		if err := CheckPullSecret(text); err != nil {
			return wire.BadRequest("%s", err)
		}
		c.PullSecretSet = true
		return nil
	}
	if err := cmp.Or(
		take(&c.PullSecret, p.PullSecret, secret),
		take(&c.Name, p.Name, func(name string) error { return checkName(name, c.PlatformType()) }),
		take(&c.BaseDNSDomain, p.BaseDNSDomain, checkAnyDomain),
		p.takeSSHKeys(c), p.takeTags(c),
	); err != nil {
		return err
	}
	if p.APIVipDNSName != nil {
		if !c.IsDay2() {
			return wire.BadRequest("Can't update api vip to %s for day1 cluster %s", *p.APIVipDNSName, c.ID)
		}
		c.APIVipDNSName = *p.APIVipDNSName
	}
	return nil
}

func (u *clusterChange) topology() error {
	c, p := u.c, u.p
	if p.ControlPlaneCount == nil {
		return nil
	}
	if err := checkTopology(*p.ControlPlaneCount, c.HighAvailabilityMode, c.OpenshiftVersion); err != nil {
		return err
	}
	c.ControlPlaneCount = *p.ControlPlaneCount
	return nil
}

// platform switches the platform and who manages the network: old addresses are dropped.
func (u *clusterChange) platform() error {
	c, p := u.c, u.p
	if p.Platform == nil && p.UserManagedNetworking == nil {
		return nil
	}
	if c.IsDay2() && p.Platform == nil {
		c.UserManagedNetworking = p.UserManagedNetworking
		return nil
	}
	want, err := platformFrom(p.Platform)
	if err != nil {
		return err
	}
	was := c.UserManaged()
	if want == nil && *p.UserManagedNetworking && !was && len(c.APIVips) > 0 && len(p.APIVips) == 0 && p.APIVips == nil {
		return wire.BadRequest("User Managed Networking cannot be set with API VIPs")
	}
	if err := choosePlatform(c, want, p.UserManagedNetworking); err != nil {
		return err
	}
	if c.UserManaged() != was {
		c.APIVips, c.IngressVips, c.MachineNetworks = []model.VIP{}, []model.VIP{}, []model.MachineNetwork{}
	}
	return nil
}

func (u *clusterChange) networks() error {
	c, p := u.c, u.p
	if err := p.takeNetworkType(c); err != nil {
		return err
	}
	if p.ClusterNetworks != nil {
		c.ClusterNetworks = clusterNetworksFrom(p.ClusterNetworks, c.ID)
	}
	if p.ServiceNetworks != nil {
		c.ServiceNetworks = serviceNetworksFrom(p.ServiceNetworks, c.ID)
	}
	p.takeVIPSettings(c)
	return nil
}

func (u *clusterChange) machineNetworks() error {
	c, p := u.c, u.p
	list := machineNetworksFrom(p.MachineNetworks, c.ID)
	if p.MachineNetworkCidr != nil && *p.MachineNetworkCidr != "" {
		list = []model.MachineNetwork{{CIDR: *p.MachineNetworkCidr, ClusterID: c.ID}}
	}
	if p.MachineNetworks == nil && p.MachineNetworkCidr == nil {
		return nil
	}
	changed := *c
	changed.MachineNetworks = list
	api, ingress := vipsWanted(c, p)
	if err := checkVips(&changed, api, ingress); err != nil {
		return err
	}
	if len(list) > 0 && validate.CalculatesNetworks(&changed) && !u.byOperator { // the operator of a hub may
		return wire.BadRequest("Setting the Machine Network CIDR is forbidden when the cluster is neither in VIP DHCP allocation mode nor " +
			"using a user-managed load balancer")
	}
	c.MachineNetworks = list
	return nil
}

func vipsWanted(c *model.Cluster, p *V2ClusterUpdateParams) (api, ingress []model.VIP) {
	api, ingress = c.APIVips, c.IngressVips
	if p.APIVips != nil {
		api = keepVerdicts(apiVipsFrom(p.APIVips, c.ID), c.APIVips)
	}
	if p.IngressVips != nil {
		ingress = keepVerdicts(ingressVipsFrom(p.IngressVips, c.ID), c.IngressVips)
	}
	return api, ingress
}

// vips replaces the virtual addresses; some host has to have a worked out machine network.
func (u *clusterChange) vips() error {
	c, p := u.c, u.p
	if p.APIVips == nil && p.IngressVips == nil {
		return nil
	}
	api, ingress := vipsWanted(c, p)
	changed := *c
	changed.APIVips, changed.IngressVips = api, ingress
	if first := changed.VipAt(0); first != "" && validate.CalculatesNetworks(c) && !u.byOperator {
		changed.MachineNetworks = nil // those of before do not count
		if err := checkVips(&changed, api, ingress); err != nil {
			return err
		}
		network := validate.NetworkOfVip(&changed, first)
		if network == "" {
			return wire.BadRequest("Calculate machine network CIDR: No suitable matching CIDR found for VIP %s", first)
		}
		validate.SetMachineNetworks(&changed, []string{network})
	}
	if err := checkVips(&changed, api, ingress); err != nil {
		return err
	}
	if err := checkVipsAreFree(&changed, u.byOperator); err != nil {
		return err
	}
	c.APIVips, c.IngressVips, c.MachineNetworks = api, ingress, changed.MachineNetworks
	return nil
}

// checkVipsAreFree refuses addresses that hosts do not list as free, but to a hub's operators.
func checkVipsAreFree(c *model.Cluster, byOperator bool) error {
	if byOperator || c.UserManaged() || c.UserBalanced() || c.AllocatesVips() {
		return nil
	}
	for i, network := range c.MachineNetworks {
		if i >= min(len(c.APIVips), len(c.IngressVips)) {
			break
		}
		for _, v := range []struct{ name, ip string }{{"api-vip", c.APIVips[i].IP}, {"ingress-vip", c.IngressVips[i].IP}} {
			if validate.ListedAsFree(c, v.ip, network.CIDR) == validate.VipInUse {
				return wire.BadRequest("%s", validate.VipInUseAs(c, v.name, v.ip, network.CIDR))
			}
		}
	}
	return nil
}

func keepVerdicts(list, old []model.VIP) []model.VIP {
	for i := range list {
		for _, o := range old {
			if o.IP == list[i].IP {
				list[i].Verification = o.Verification
			}
		}
	}
	return list
}

func (u *clusterChange) proxy() error {
	c, p := u.c, u.p
	if p.HTTPProxy == nil && p.HTTPSProxy == nil && p.NoProxy == nil {
		return nil
	}
	if err := checkProxies(p.HTTPProxy, p.HTTPSProxy, p.NoProxy, c.OpenshiftVersion); err != nil {
		return err
	}
	c.HTTPProxy = *cmp.Or(p.HTTPProxy, &c.HTTPProxy)
	c.HTTPSProxy = *cmp.Or(p.HTTPSProxy, &c.HTTPSProxy)
	c.NoProxy = *cmp.Or(p.NoProxy, &c.NoProxy)
	u.proxied = true
	return nil
}

func (u *clusterChange) clocks() error { return u.p.takeNTP(u.c) }

func (u *clusterChange) options() error {
	chooseIgnitionEndpoint(u.c, u.p.IgnitionEndpoint)
	return u.p.takeOptions(u.c)
}

func (u *clusterChange) operators() error {
	c, p := u.c, u.p
	if p.OlmOperators == nil && p.OperatorBundles == nil {
		return nil
	}
	before := len(c.MonitoredOperators)
	if err := chooseOperators(c, p.OlmOperators, p.OperatorBundles); err != nil {
		return err
	}
	if max(before, len(c.MonitoredOperators)) > 1 { // more than the console
		c.ResetRoles() // hosts may be good for something else now
	}
	return nil
}
