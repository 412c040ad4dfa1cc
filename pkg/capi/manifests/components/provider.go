package components

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// The providers.
const (
	bootstrap      = "bootstrap"
	controlPlane   = "control-plane"
	infrastructure = "infrastructure"
)

// LabelKey is the label by which the objects of a provider are known.
const LabelKey = "cluster.x-k8s.io/provider"

// Provider is one of the providers, and what its objects are called.
type Provider struct {
	// Name is that of --providers: bootstrap, control-plane or infrastructure.
	Name string
	// Clusterctl and Type are the provider's name and type in a clusterctl.yaml.
	Clusterctl, Type string
	// Group is the API group of its kinds.
	Group string
	// foreign says that Cluster API does not know that group.
	foreign bool
	// acts says that the provider acts on the kinds of infrastructure of any provider.
	acts bool
	// takes says that the provider takes hosts out of pools.
	takes bool
}

func providers() []Provider {
	return []Provider{
		{Name: bootstrap, Clusterctl: "openshift-assisted", Type: "BootstrapProvider", Group: "bootstrap.cluster.x-k8s.io", acts: true},
		{Name: controlPlane, Clusterctl: "openshift-assisted", Type: "ControlPlaneProvider", Group: "controlplane.cluster.x-k8s.io", acts: true},
		{Name: infrastructure, Clusterctl: "agent", Type: "InfrastructureProvider", Group: "capi-provider.agent-install.openshift.io",
			foreign: true, takes: true},
	}
}

// Names are the names of all providers.
func Names() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.Name)
	}
	return names
}

// Of is the provider of a name.
func Of(name string) (Provider, error) {
	for _, p := range providers() {
		if p.Name == name {
			return p, nil
		}
	}
	return Provider{}, fmt.Errorf("%q is no provider: there are %s", name, strings.Join(Names(), ", "))
}

// Label is the value of LabelKey of its objects.
func (p Provider) Label() string { return p.Name + "-" + p.Clusterctl }

// Namespace is where its manager runs, unless clusterctl is given another one.
func (p Provider) Namespace() string { return p.prefix() + "-system" }

func (p Provider) prefix() string { return "oaictl-" + p.Name }

// Service is the name of the Service that leads to its webhooks.
func (p Provider) Service() string { return p.prefix() + "-webhook-service" }

// Secret is the name of the Secret with the certificate of its webhooks.
func (p Provider) Secret() string { return p.prefix() + "-webhook-service-cert" }

// WebhookNames are the names of its webhook configurations, by their kinds.
func (p Provider) WebhookNames() (map[string]string, error) {
	all, err := p.configurations()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, c := range all {
		kind, _ := c["kind"].(string)
		names[kind] = nameOf(c)
	}
	return names, nil
}

func (p Provider) certificate() string { return p.prefix() + "-serving-cert" }

// ComponentsFile is the name of the file with all of its objects.
func (p Provider) ComponentsFile() string { return p.Name + "-components.yaml" }

func (p Provider) namespacedFile() string { return p.Name + "-namespaced.yaml" }

// Lease is the name of the Lease by which one of several managers of a set of providers works.
func Lease(providers []string) string {
	all := slices.Clone(providers)
	if len(all) == 0 {
		all = Names()
	}
	slices.Sort(all)
	return "oaictl-" + strings.Join(slices.Compact(all), "-") + ".cluster.x-k8s.io"
}

// Kind is a kind of a provider.
type Kind struct {
	// Definition is the name of its CustomResourceDefinition, and Stored the version that is stored.
	Definition, Stored string
}

// Kinds are the kinds of the provider, by the names of their definitions.
func (p Provider) Kinds() ([]Kind, error) {
	all, err := p.definitions()
	if err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, d := range all {
		kind := Kind{Definition: nameOf(d)}
		versions, _ := below(d, "spec")["versions"].([]any)
		for _, each := range versions {
			if version, is := each.(object); is && version["storage"] == true {
				kind.Stored, _ = version["name"].(string)
			}
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// newestVersion is the first of the newest series of releases that metadata.yaml lists.
func newestVersion() (string, error) {
	data, err := own.ReadFile(MetadataFile)
	if err != nil {
		return "", err
	}
	var metadata struct {
		ReleaseSeries []struct {
			Major, Minor int
		} `json:"releaseSeries"`
	}
	if err := yaml.Unmarshal(data, &metadata); err != nil {
		return "", err
	}
	major, minor := 0, 0
	for _, s := range metadata.ReleaseSeries {
		if s.Major > major || s.Major == major && s.Minor > minor {
			major, minor = s.Major, s.Minor
		}
	}
	return fmt.Sprintf("v%d.%d.0", major, minor), nil
}
