//go:build e2e

package hub

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// role is what a user may do in a cluster's namespace, and in the hub as a whole.
type role struct {
	within, wide []rbacv1.PolicyRule
}

// documentedRole is docs/hub-role.yaml.
func documentedRole(t testing.TB) role {
	t.Helper()
	var r role
	r.within, r.wide = kubetest.DocumentedRole(t, "hub-role.yaml")
	if len(r.within) < 5 || len(r.wide) < 1 {
		t.Fatalf("docs/hub-role.yaml has %d and %d rules", len(r.within), len(r.wide))
	}
	return r
}

// user is a user who has a role in the site's namespace.
func (x *site) user(t testing.TB, r role) *kube.Config {
	t.Helper()
	name := "installer-" + x.namespace
	config := x.server.User(t, name)
	if len(r.within) > 0 {
		x.server.Grant(t, config, name, x.namespace, r.within...)
	}
	if len(r.wide) > 0 {
		x.server.Grant(t, config, name, "", r.wide...)
	}
	return config
}

// TestDocumentedRole installs and deletes clusters with no other rights than
// docs/hub-role.yaml gives, and finds in it none that are used for nothing.
func TestDocumentedRole(t *testing.T) {
	server.Start(t) // skips where there is none
	documented := documentedRole(t)
	used := &rights{done: map[string]bool{}}
	t.Run("allows", func(t *testing.T) {
		for name, b := range map[string]backend{"disconnected": onMetal3(), "static-network": onHub()} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				x := b.open(t, b.boots(t, setup{cluster: fixture.Example(t, name)}))
				x.kube, x.heard = x.user(t, documented), used.hear
				plane := x.plane(t)
				a := x.runWith(t, plane, &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, t.TempDir())
				if a.err != nil {
					t.Fatalf("%s\n%s", a.says(), a.story())
				}
				if err := plane.DeleteCluster(t.Context(), a.result.Observed.Cluster.ID, install.DeleteOptions{}); err != nil {
					t.Errorf("delete: %v (next: %s)", err, model.FaultOf(err).Next)
				}
			})
		}
		for name, streams := range map[string]bool{"a life apart": true, "without streams": false} {
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				x := apart(t)
				x.kube, x.heard = x.user(t, documented), used.hear
				if err := x.livesApart(t, streams); err != nil {
					t.Errorf("%v (next: %s)", err, model.FaultOf(err).Next)
				}
			})
		}
	})
	for _, rule := range slices.Concat(documented.within, documented.wide) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !used.done[verb+" "+resource] {
					t.Errorf("an install and a deletion do not %s %s", verb, resource)
				}
			}
		}
	}
}

// rights are what was asked for, as RBAC has it.
type rights struct {
	mu   sync.Mutex
	done map[string]bool // "patch secrets"
}

// hear records what an allowed call needs: an apply is a patch, and a create as well where there was nothing.
func (r *rights) hear(c install.Call) {
	parts := strings.Split(strings.Trim(c.URL, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):] // group and version
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 || c.Status == 0 || c.Status == http.StatusUnauthorized || c.Status == http.StatusForbidden {
		return
	}
	verbs := map[string][]string{"PATCH": {"patch"}, "DELETE": {"delete"}, "WATCH": {"watch"}, "GET": {"get"}}[c.Method]
	switch {
	case c.Method == http.MethodGet && len(parts) == 1:
		verbs = []string{"list"}
	case c.Status == http.StatusCreated:
		verbs = []string{"patch", "create"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, verb := range verbs {
		r.done[verb+" "+parts[0]] = true
	}
}

// without takes a resource out of rules.
func without(rules []rbacv1.PolicyRule, resource string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == resource })
		if len(rule.Resources) > 0 {
			out = append(out, rule)
		}
	}
	return out
}

// withoutVerb takes a verb of a resource out of rules.
func withoutVerb(rules []rbacv1.PolicyRule, resource, verb string) []rbacv1.PolicyRule {
	out := without(rules, resource)
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, resource) {
			continue
		}
		rule.Resources = []string{resource}
		rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
		if len(rule.Verbs) > 0 {
			out = append(out, rule)
		}
	}
	return out
}
