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

// outside are the resources that are in no namespace, or that are searched for in all: those that would conflict with
// the providers.
var outside = []string{
	"apiextensions.k8s.io/customresourcedefinitions", "hive.openshift.io/clusterimagesets", "multicluster.openshift.io/multiclusterengines",
	"authentication.k8s.io/tokenreviews", "authorization.k8s.io/subjectaccessreviews",
	"apps/deployments", "coordination.k8s.io/leases", "/namespaces",
}

// split parts rules into those of resources that are in namespaces, and of the others.
func split(rules []rbacv1.PolicyRule) (within, wide []rbacv1.PolicyRule) {
	isOutside := func(group, resource string) bool { return slices.Contains(outside, group+"/"+resource) }
	for _, rule := range rules {
		within = append(within, narrow(rule, func(group, resource string) bool { return !isOutside(group, resource) })...)
		wide = append(wide, narrow(rule, isOutside)...)
	}
	return within, wide
}

// narrow is what of a rule is about some resources: one rule, or none.
func narrow(rule rbacv1.PolicyRule, is func(group, resource string) bool) []rbacv1.PolicyRule {
	part := rbacv1.PolicyRule{Verbs: rule.Verbs, ResourceNames: rule.ResourceNames}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name, _, _ := strings.Cut(resource, "/")
			if !is(group, name) {
				continue
			}
			if !slices.Contains(part.APIGroups, group) {
				part.APIGroups = append(part.APIGroups, group)
			}
			if !slices.Contains(part.Resources, resource) {
				part.Resources = append(part.Resources, resource)
			}
		}
	}
	if len(part.Resources) == 0 {
		return nil
	}
	return []rbacv1.PolicyRule{part}
}

// isHost reports whether a resource is the hosts of a pool, or what they have booted.
func isHost(group, resource string) bool {
	switch group + "/" + resource {
	case "agent-install.openshift.io/agents", "agent-install.openshift.io/infraenvs", "agent-install.openshift.io/nmstateconfigs",
		"metal3.io/baremetalhosts":
		return true
	}
	return false
}

// agents are those of its rules that the provider needs in the namespace of a pool's hosts, if that is another
// namespace: all read hosts there. The provider that takes them also writes to them, and to Secrets that they name, by
// name.
func (p Provider) agents(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	looks := []string{"get", "list", "watch"}
	var agents []rbacv1.PolicyRule
	add := func(rule rbacv1.PolicyRule, verbs []string, is func(group, resource string) bool) {
		rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return !slices.Contains(verbs, verb) })
		if len(rule.Verbs) > 0 {
			agents = append(agents, narrow(rule, is)...)
		}
	}
	for _, rule := range rules {
		verbs := looks
		if p.takes {
			verbs = rule.Verbs
		}
		add(rule, verbs, isHost)
		if p.takes {
			add(rule, []string{"get", "create", "patch"}, func(group, resource string) bool { return group == "" && resource == "secrets" })
		}
	}
	return agents
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
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: names,
			Verbs: []string{"get", "patch"}},
		{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations",
				"validatingwebhookconfigurations"},
			ResourceNames: slices.Sorted(maps.Values(webhooks)), Verbs: []string{"get", "patch"},
		},
	}, nil
}
