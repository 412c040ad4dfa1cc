package clusterctl

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// aggregate does what the controller of Kubernetes does that adds up ClusterRoles, which is not among those
// that run here.
func aggregate(t *testing.T, m *kubetest.Management) {
	t.Helper()
	roles := m.Client.RbacV1().ClusterRoles()
	all, err := roles.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		role := &all.Items[i]
		if role.AggregationRule == nil || role.Labels["cluster.x-k8s.io/provider"] == "" {
			continue
		}
		var rules []rbacv1.PolicyRule
		for _, selector := range role.AggregationRule.ClusterRoleSelectors {
			matches, err := metav1.LabelSelectorAsSelector(&selector)
			if err != nil {
				t.Fatal(err)
			}
			found, err := roles.List(t.Context(), metav1.ListOptions{LabelSelector: matches.String()})
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range found.Items {
				rules = append(rules, each.Rules...)
			}
		}
		if len(rules) == 0 {
			t.Errorf("nothing is added up in ClusterRole %s", role.Name)
		}
		role.Rules = rules
		if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// denials are the requests that the API server has denied somebody.
type denials struct {
	mu       sync.Mutex
	requests []string
}

func (d *denials) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}

// wrap notes what is denied of the requests that go through a transport.
func (d *denials) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusForbidden {
			d.mu.Lock()
			d.requests = append(d.requests, r.Method+" "+r.URL.Path)
			d.mu.Unlock()
		}
		return response, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
