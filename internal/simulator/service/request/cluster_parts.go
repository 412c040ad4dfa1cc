package request

import (
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

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

func fillOperators(c *model.Cluster, p *ClusterCreateParams) error {
	console := models.MonitoredOperator{ClusterID: strfmt.UUID(c.ID), Name: "console", OperatorType: models.OperatorTypeBuiltin, TimeoutSeconds: 3600}
	c.MonitoredOperators = []model.Operator{{MonitoredOperator: console}}
	return chooseOperators(c, p.OlmOperators, p.OperatorBundles)
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
			SubscriptionName: o.Subscription, TimeoutSeconds: int64(o.Timeout.Seconds()),
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

// platformFrom is the platform that is asked for; nil where none is.
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

func chooseLoadBalancer(c *model.Cluster, asked *models.LoadBalancer) {
	if asked != nil && asked.Type != "" {
		c.LoadBalancer = asked
	}
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
