package request

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// ClusterCreateParams is what POST clusters takes: the known parameters and the newer ones.
type ClusterCreateParams struct {
	KnownCreateParams
	Settings
}

// KnownCreateParams have a level of embedding more than the settings, which therefore are read instead of theirs.
type KnownCreateParams struct{ models.ClusterCreateParams }

type bundleChoice struct {
	ID        string   `json:"id"`
	Operators []string `json:"operators,omitempty"`
}

// FillCluster checks the parameters in the service's order and writes them into the cluster.
func FillCluster(c *model.Cluster, p *ClusterCreateParams) error {
	setDefaults(c)
	for _, part := range []func(*model.Cluster, *ClusterCreateParams) error{
		fillVersion, fillTopology, fillPlatform, fillIdentity, fillNetworks, fillProxy, fillOptions,
	} {
		if err := part(c, p); err != nil {
			return err
		}
	}
	console := models.MonitoredOperator{
		ClusterID: strfmt.UUID(c.ID), Name: "console", OperatorType: models.OperatorTypeBuiltin, TimeoutSeconds: 3600,
	}
	c.MonitoredOperators = []model.Operator{{MonitoredOperator: console}}
	if err := chooseOperators(c, p.OlmOperators, p.OperatorBundles); err != nil {
		return err
	}
	if err := CheckFeatures(c, p.CPUArchitecture); err != nil {
		return err
	}
	recordFirstUses(c, &p.Settings)
	return nil
}

// CheckFeatures refuses what a cluster asks for and its version does not have. That is looked at for an architecture that
// a request for a cluster names, and for the one of each of its infra-envs; without any it is not.
func CheckFeatures(c *model.Cluster, architecture string) error {
	if architecture == "" || c.Kind == model.KindAddHosts || !model.Value(c.VipDHCPAllocation) {
		return nil
	}
	q := versions.Query{OpenshiftVersion: c.OpenshiftVersion, CPUArchitecture: architecture, PlatformType: c.PlatformType()}
	if reason := versions.FeatureUnavailable("VIP_AUTO_ALLOC", q); reason != "" {
		return wire.BadRequest("%s", reason)
	}
	return nil
}

func fillVersion(c *model.Cluster, p *ClusterCreateParams) error {
	release, found := versions.ReleaseByURL(p.OcpReleaseImage)
	switch {
	case p.OcpReleaseImage == "":
		var err error
		if release, err = versions.Resolve(*p.OpenshiftVersion, p.CPUArchitecture); err != nil {
			return wire.BadRequest("%s", err)
		}
	case !found:
		return wire.BadRequest("%s", versions.UnknownReleaseImage(p.OcpReleaseImage))
	}
	c.OpenshiftVersion, c.OcpReleaseImage, c.CPUArchitecture = release.Version, release.URL, release.CPUArchitecture
	return nil
}

func fillTopology(c *model.Cluster, p *ClusterCreateParams) error {
	ha, count := model.Value(p.HighAvailabilityMode), int64(3)
	if ha == "None" {
		count = 1
	}
	count = *cmp.Or(p.ControlPlaneCount, &count)
	switch {
	case ha == "" && count == 1:
		ha = "None"
	case ha == "":
		ha = "Full"
	}
	if err := checkTopology(count, ha, c.OpenshiftVersion); err != nil {
		return err
	}
	c.ControlPlaneCount, c.HighAvailabilityMode = count, ha
	return nil
}

func checkTopology(count int64, ha, version string) error {
	newest, newer := versions.AtLeast(version, "4.19"), versions.AtLeast(version, "4.18")
	switch {
	case ha == "None" && count != 1:
		return wire.BadRequest("single-node clusters must have a single control plane node")
	case ha == "None":
		return nil
	case newest && (count < 2 || count > 5):
		return wire.BadRequest("there should be 2-5 dedicated control plane nodes for high availability mode Full in openshift " +
			"version 4.19 or newer")
	case newer && !newest && (count < 3 || count > 5):
		return wire.BadRequest("there should be 3-5 dedicated control plane nodes for high availability mode Full in openshift " +
			"version 4.18 or newer")
	case !newer && count != 3:
		return wire.BadRequest("there should be exactly 3 dedicated control plane nodes for high availability mode Full in openshift version " +
			"older than 4.18")
	}
	return nil
}

func fillIdentity(c *model.Cluster, p *ClusterCreateParams) error {
	secret := CheckPullSecret(*p.PullSecret)
	if secret != nil {
		secret = wire.BadRequest("pull secret for new cluster is invalid: %s", secret)
	}
	if err := cmp.Or(
		checkName(*p.Name, c.PlatformType()), secret, p.takeSSHKeys(c), checkAnyDomain(p.BaseDNSDomain), p.takeTags(c),
	); err != nil {
		return err
	}
	c.Name, c.BaseDNSDomain = *p.Name, p.BaseDNSDomain
	c.PullSecret, c.PullSecretSet = *p.PullSecret, true
	return nil
}

func fillNetworks(c *model.Cluster, p *ClusterCreateParams) error {
	if err := p.takeNetworkType(c); err != nil {
		return err
	}
	c.ClusterNetworks = clusterNetworksFrom(p.ClusterNetworks, c.ID)
	if len(c.ClusterNetworks) == 0 {
		c.ClusterNetworks = []model.ClusterNetwork{{
			CIDR: *cmp.Or(p.ClusterNetworkCidr, new("10.128.0.0/14")), ClusterID: c.ID, HostPrefix: cmp.Or(p.ClusterNetworkHostPrefix, 23),
		}}
	}
	c.ServiceNetworks = serviceNetworksFrom(p.ServiceNetworks, c.ID)
	if len(c.ServiceNetworks) == 0 {
		c.ServiceNetworks = []model.MachineNetwork{{CIDR: *cmp.Or(p.ServiceNetworkCidr, new("172.30.0.0/16")), ClusterID: c.ID}}
	}
	c.MachineNetworks = machineNetworksFrom(p.MachineNetworks, c.ID)
	p.takeVIPSettings(c)
	api, ingress := apiVipsFrom(p.APIVips, c.ID), ingressVipsFrom(p.IngressVips, c.ID)
	if c.IsSingle() {
		api, ingress = []model.VIP{}, []model.VIP{} // a single node is its own load balancer
	}
	if err := checkVips(c, api, ingress); err != nil {
		return err
	}
	c.APIVips, c.IngressVips = api, ingress
	return nil
}

func fillProxy(c *model.Cluster, p *ClusterCreateParams) error {
	if err := checkProxies(p.HTTPProxy, p.HTTPSProxy, p.NoProxy, c.OpenshiftVersion); err != nil {
		return err
	}
	c.HTTPProxy, c.HTTPSProxy, c.NoProxy = model.Value(p.HTTPProxy), model.Value(p.HTTPSProxy), model.Value(p.NoProxy)
	return cmp.Or(p.checkAdditionalNTP(), p.takeNTP(c))
}

func fillOptions(c *model.Cluster, p *ClusterCreateParams) error {
	c.OrgSoftTimeoutsEnabled = true
	c.IgnitionEndpoint = &model.IgnitionEndpoint{}
	chooseIgnitionEndpoint(c, p.IgnitionEndpoint)
	return p.takeOptions(c)
}

// each converts a list, which may be empty but is never missing.
func each[T, U any](list []T, convert func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, item := range list {
		out = append(out, convert(item))
	}
	return out
}

func clusterNetworksFrom(list []*models.ClusterNetwork, id string) []model.ClusterNetwork {
	return each(list, func(n *models.ClusterNetwork) model.ClusterNetwork {
		return model.ClusterNetwork{CIDR: string(n.Cidr), ClusterID: id, HostPrefix: n.HostPrefix}
	})
}

func machineNetworksFrom(list []*models.MachineNetwork, id string) []model.MachineNetwork {
	return each(list, func(n *models.MachineNetwork) model.MachineNetwork {
		return model.MachineNetwork{CIDR: string(n.Cidr), ClusterID: id}
	})
}

func serviceNetworksFrom(list []*models.ServiceNetwork, id string) []model.MachineNetwork {
	return each(list, func(n *models.ServiceNetwork) model.MachineNetwork {
		return model.MachineNetwork{CIDR: string(n.Cidr), ClusterID: id}
	})
}

func apiVipsFrom(list []*models.APIVip, id string) []model.VIP {
	return each(list, func(v *models.APIVip) model.VIP { return model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))} })
}

func ingressVipsFrom(list []*models.IngressVip, id string) []model.VIP {
	return each(list, func(v *models.IngressVip) model.VIP {
		return model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))}
	})
}

// chooseOperators replaces the OLM operators: asked for, bundles', and what they depend on.
func chooseOperators(c *model.Cluster, asked []*models.OperatorCreateParams, bundles []bundleChoice) error {
	list := slices.DeleteFunc(slices.Clone(c.MonitoredOperators), func(o model.Operator) bool { return o.OperatorType == "olm" })
	var names []string
	properties := map[string]string{}
	sources := map[string][]string{}
	chosen := []string{}
	for _, choice := range bundles {
		b, found := versions.BundleByID(choice.ID)
		if !found {
			return wire.Refuse(500, "bundle '%s' is not supported", choice.ID)
		}
		chosen = append(chosen, b.ID)
		for _, name := range append(slices.Clone(b.Operators), choice.Operators...) {
			names = append(names, name)
			sources[name] = append(sources[name], b.ID)
		}
	}
	for _, o := range asked {
		names = append(names, o.Name)
		properties[o.Name] = o.Properties
	}
	all, missing := versions.WithDependencies(names, c.IsSingle())
	if missing != "" {
		return wire.BadRequest("%s", versions.UnsupportedOperator(missing))
	}
	for _, o := range all {
		list = append(list, model.Operator{SourceBundles: sources[o.Name], MonitoredOperator: models.MonitoredOperator{
			Bundles: sources[o.Name], ClusterID: strfmt.UUID(c.ID), DependencyOnly: o.DependencyOnly, Name: o.Name, Namespace: o.Namespace,
			OperatorType: models.OperatorTypeOlm, Properties: properties[o.Name],
			SubscriptionName: o.Subscription, TimeoutSeconds: o.TimeoutSeconds,
		}})
	}
	c.MonitoredOperators, c.OperatorBundles = list, chosen
	return nil
}

func fillPlatform(c *model.Cluster, p *ClusterCreateParams) error {
	want, err := platformFrom(p.Platform)
	if err != nil {
		return err
	}
	return choosePlatform(c, want, p.UserManagedNetworking)
}

func platformFrom(p *models.Platform) (*models.Platform, error) {
	if p == nil || p.Type == nil {
		return nil, nil
	}
	external := model.Value(p.External)
	if *p.Type == models.PlatformTypeExternal && model.Value(external.PlatformName) == "" {
		return nil, wire.BadRequest("External setting must be set when using platform type external")
	}
	return &models.Platform{Type: p.Type, External: &external}, nil
}

func chooseIgnitionEndpoint(c *model.Cluster, asked *models.IgnitionEndpoint) {
	if asked != nil {
		c.IgnitionEndpoint = &model.IgnitionEndpoint{URL: model.Value(asked.URL), CACertificate: model.Value(asked.CaCertificate)}
	}
}

// choosePlatform settles the platform and who manages the network: each may follow from the other.
func choosePlatform(c *model.Cluster, want *models.Platform, umn *bool) error {
	single := c.IsSingle()
	if want == nil {
		want = &models.Platform{Type: new(models.PlatformTypeBaremetal), External: &models.PlatformExternal{}}
		if single || model.Value(umn) {
			want.Type = new(models.PlatformTypeNone)
		}
	}
	switch *want.Type {
	case models.PlatformTypeBaremetal:
		if single {
			return wire.BadRequest("Can't set baremetal platform on single node OpenShift")
		}
		if model.Value(umn) {
			return wire.BadRequest("Can't set baremetal platform with user-managed-networking enabled")
		}
		c.UserManagedNetworking = new(false)
	case models.PlatformTypeNone, models.PlatformTypeExternal:
		if umn != nil && !*umn && !single {
			return wire.BadRequest("Can't set %s platform with user-managed-networking disabled", *want.Type)
		}
		c.UserManagedNetworking = new(true)
	default:
		if single {
			return wire.BadRequest("Can't set %s platform on single node OpenShift", *want.Type)
		}
		c.UserManagedNetworking = umn
	}
	c.Platform = want
	return nil
}
