package request

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

func fillOperators(c *model.Cluster, p *ClusterCreate) error {
	c.MonitoredOperators = []model.Operator{{ClusterID: c.ID, Name: "console", OperatorType: "builtin", TimeoutSeconds: 3600}}
	return chooseOperators(c, p.OlmOperators, p.OperatorBundles)
}

// chooseOperators replaces the OLM operators: those asked for, those of the
// bundles, and what they depend on.
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
		list = append(list, model.Operator{
			Bundles: sources[o.Name], ClusterID: c.ID, DependencyOnly: o.DependencyOnly, Name: o.Name, Namespace: o.Namespace,
			OperatorType: "olm", Properties: properties[o.Name], SourceBundles: sources[o.Name],
			SubscriptionName: o.Subscription, TimeoutSeconds: int64(o.Timeout.Seconds()),
		})
	}
	c.MonitoredOperators, c.OperatorBundles = list, chosen
	return nil
}
