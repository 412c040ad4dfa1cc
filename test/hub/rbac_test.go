package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/pkg/install"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
)

// role is what a user may do in a cluster's namespace, and in the hub as a whole.
type role struct {
	within, wide []rbacv1.PolicyRule
}

// documentedRole is docs/hub-role.yaml.
func documentedRole(t testing.TB) role {
	t.Helper()
	r := readRole(t, "hub-role.yaml")
	if len(r.within) < 5 || len(r.wide) < 1 {
		t.Fatalf("docs/hub-role.yaml has %d and %d rules", len(r.within), len(r.wide))
	}
	return r
}

// readRole is what a file of docs allows.
func readRole(t testing.TB, file string) role {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	var r role
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var object struct {
			Kind  string              `json:"kind"`
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		err := decoder.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			return r
		case err != nil:
			t.Fatal(err)
		case object.Kind == "Role":
			r.within = append(r.within, object.Rules...)
		case object.Kind == "ClusterRole":
			r.wide = append(r.wide, object.Rules...)
		}
	}
}

// user is somebody who has a role in the site's namespace.
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

// TestDocumentedRole installs and deletes a cluster with no other rights than
// docs/hub-role.yaml gives, and finds in it none that are used for nothing.
func TestDocumentedRole(t *testing.T) {
	server.Start(t) // skips where there is none
	used := &rights{done: map[string]bool{}}
	t.Run("installs", func(t *testing.T) {
		for _, name := range []string{"disconnected", "static-network"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				x := onHub().open(t, setup{cluster: example(t, name)})
				x.kube = x.user(t, documentedRole(t))
				x.heard = used.hear
				plane := x.plane(t)
				a := x.runWith(t, plane, &install.Desired{Spec: x.cluster, Options: install.Options{Run: "run-1"}}, t.TempDir())
				if a.err != nil {
					t.Fatalf("%s\n%s", a.says(), a.story())
				}
				if err := plane.DeleteCluster(t.Context(), a.result.Observed.Cluster.ID); err != nil {
					t.Errorf("delete: %v (next: %s)", err, install.NextOf(err))
				}
			})
		}
	})
	documented := documentedRole(t)
	for _, rule := range slices.Concat(documented.within, documented.wide) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !used.done[verb+" "+resource] && !slices.Contains(elsewhere(), verb+" "+resource) {
					t.Errorf("an install and a deletion do not %s %s", verb, resource)
				}
			}
		}
	}
}

// elsewhere are rights for what these examples have not: hosts that are deleted
// one by one, clusters that no controller has taken on, machines that the hub itself
// boots, classifications, servers that
// cannot list by watching.
func elsewhere() []string {
	return []string{
		"delete agents", "delete agentclusterinstalls", "create baremetalhosts", "patch baremetalhosts", "delete baremetalhosts", "get configmaps",
		"create agentclassifications", "patch agentclassifications", "delete agentclassifications", "list agentclassifications",
		"list clusterdeployments", "list agentclusterinstalls", "list infraenvs", "list nmstateconfigs", "list agents", "list baremetalhosts", "list configmaps",
	}
}

// rights are what was asked for, as RBAC has it.
type rights struct {
	mu   sync.Mutex
	done map[string]bool // "patch secrets"
}

// hear notes what a call that was allowed needs: an apply is a patch, and a create as
// well where there was nothing.
func (r *rights) hear(c hubplane.Call) {
	parts := strings.Split(strings.Trim(c.Path, "/"), "/")
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

// TestWithoutOneRule takes one rule of the role away. The run ends at once as not
// authorised, and says which verb of what it lacks, and where.
func TestWithoutOneRule(t *testing.T) {
	documented := documentedRole(t)
	resources := map[string]schema.GroupResource{}
	for _, rule := range slices.Concat(documented.within, documented.wide) {
		for _, resource := range rule.Resources {
			resources[resource] = schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}
		}
	}
	for name, resource := range resources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: example(t, "disconnected"), absent: true})
			x.kube = x.user(t, role{within: without(documented.within, name), wide: without(documented.wide, name)})
			a := x.run(t, t.TempDir())
			where := "in namespace " + x.namespace
			if name == "clusterimagesets" {
				where = "in the whole hub"
			}
			says := a.says()
			if a.trace.Code != int(install.CodeAuth) || !strings.Contains(says, "may not ") || !strings.Contains(says, fmt.Sprintf(" %s %s", resource, where)) || !strings.Contains(says, "kubectl auth can-i ") {
				t.Errorf("ends with code %d: %s\n%s", a.trace.Code, says, a.story())
			}
		})
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
		out = append(out, rule)
	}
	return out
}
