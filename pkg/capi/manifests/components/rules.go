package components

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// rules are what the manager of a provider may do, as its markers say.
func (p Provider) rules() ([]rbacv1.PolicyRule, error) {
	data, err := own.ReadFile(path.Join("rbac", p.Name+".yaml"))
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(data, &role); err != nil {
		return nil, fmt.Errorf("read the role of %s: %w", p.Name, err)
	}
	return role.Rules, nil
}

// outside are the resources that are in no namespace, or that are looked for in all: what would not go
// well together with the providers.
var outside = []string{
	"apiextensions.k8s.io/customresourcedefinitions", "hive.openshift.io/clusterimagesets", "multicluster.openshift.io/multiclusterengines",
	"authentication.k8s.io/tokenreviews", "authorization.k8s.io/subjectaccessreviews",
	"apps/deployments", "coordination.k8s.io/leases", "/namespaces",
}

// agentGroup is the API group of Agents and InfraEnvs.
const agentGroup = "agent-install.openshift.io"

// split parts rules into those of resources that are in namespaces, and of the others; agents are those
// of the first that a pool of hosts in another namespace needs.
func split(rules []rbacv1.PolicyRule) (within, wide, agents []rbacv1.PolicyRule) {
	for _, rule := range rules {
		part := map[bool]*rbacv1.PolicyRule{true: {Verbs: rule.Verbs, ResourceNames: rule.ResourceNames}, false: {Verbs: rule.Verbs, ResourceNames: rule.ResourceNames}}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, _, _ := strings.Cut(resource, "/")
				to := part[slices.Contains(outside, group+"/"+name)]
				if !slices.Contains(to.APIGroups, group) {
					to.APIGroups = append(to.APIGroups, group)
				}
				if !slices.Contains(to.Resources, resource) {
					to.Resources = append(to.Resources, resource)
				}
			}
		}
		if len(part[true].Resources) > 0 {
			wide = append(wide, *part[true])
		}
		if len(part[false].Resources) > 0 {
			within = append(within, *part[false])
		}
		if slices.Contains(rule.APIGroups, agentGroup) {
			agents = append(agents, rbacv1.PolicyRule{APIGroups: []string{agentGroup}, Resources: rule.Resources, Verbs: rule.Verbs})
		}
	}
	return within, wide, agents
}

// selfManagedRules let a manager write the authority of its certificate into its own kinds and webhook
// configurations, and no others.
func (p Provider) selfManagedRules() ([]rbacv1.PolicyRule, error) {
	kinds, err := p.Kinds()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Definition)
	}
	webhooks, err := p.WebhookNames()
	if err != nil {
		return nil, err
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: names, Verbs: []string{"get", "patch"}},
		{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
			ResourceNames: slices.Sorted(maps.Values(webhooks)), Verbs: []string{"get", "patch"},
		},
	}, nil
}
