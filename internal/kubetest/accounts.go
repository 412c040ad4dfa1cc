package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Account is a config of a ServiceAccount that is there. It is good for an hour.
func (c *Cluster) Account(t testing.TB, namespace, name string) *rest.Config {
	t.Helper()
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a token of ServiceAccount %s/%s: %v", namespace, name, err)
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = token.Status.Token
	return config
}

// ApplyRights applies those objects of a manager that say who it is and what it may do: its Namespace and
// ServiceAccount among them, and its roles with their bindings. It returns once the API server applies them, aggregated
// roles included. At the test's end the roles and bindings are removed.
func (c *Cluster) ApplyRights(t testing.TB, objects ...*unstructured.Unstructured) {
	t.Helper()
	mine := func(kinds ...string) []*unstructured.Unstructured {
		return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
	}
	rights := mine("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout)
		defer cancel()
		if err := c.withdraw(ctx, rights); err != nil {
			t.Errorf("taking back rights: %v", err)
		}
	})
	if err := c.Apply(t.Context(), append(mine("Namespace", "ServiceAccount"), rights...)...); err != nil {
		t.Fatalf("giving rights: %v", err)
	}
	c.AwaitRights(t, objects...)
}

// withdraw deletes roles and bindings.
func (c *Cluster) withdraw(ctx context.Context, rights []*unstructured.Unstructured) error {
	rbac, options := c.Client.RbacV1(), metav1.DeleteOptions{}
	var problems []error
	for _, o := range rights {
		remove := rbac.ClusterRoles().Delete
		switch o.GetKind() {
		case "ClusterRoleBinding":
			remove = rbac.ClusterRoleBindings().Delete
		case "Role":
			remove = rbac.Roles(o.GetNamespace()).Delete
		case "RoleBinding":
			remove = rbac.RoleBindings(o.GetNamespace()).Delete
		}
		if err := remove(ctx, o.GetName(), options); !apierrors.IsNotFound(err) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// AwaitRights returns once the API server applies the bindings among objects, which are there already, including
// aggregated roles.
func (c *Cluster) AwaitRights(t testing.TB, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
			continue
		}
		binding := &rbacv1.RoleBinding{} // both have the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, binding); err != nil {
			t.Fatalf("reading %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		rules, err := c.rulesOf(t.Context(), binding)
		if err != nil {
			t.Fatalf("reading the role of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		for _, subject := range binding.Subjects {
			who := rest.CopyConfig(c.Config)
			who.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", subject.Namespace, subject.Name)
			awaitRights(t, who, who.Impersonate.UserName, binding.Namespace, rules)
		}
	}
}

// rulesOf are what a binding allows: of a role that is added up, what it will be.
func (c *Cluster) rulesOf(ctx context.Context, binding *rbacv1.RoleBinding) ([]rbacv1.PolicyRule, error) {
	rbac, options := c.Client.RbacV1(), metav1.GetOptions{}
	if binding.RoleRef.Kind == "Role" {
		role, err := rbac.Roles(binding.Namespace).Get(ctx, binding.RoleRef.Name, options)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	role, err := rbac.ClusterRoles().Get(ctx, binding.RoleRef.Name, options)
	if err != nil || role.AggregationRule == nil {
		return role.Rules, err
	}
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		parts, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
		if err != nil {
			return nil, err
		}
		for _, part := range parts.Items {
			rules = append(rules, part.Rules...)
		}
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("nothing is added up in ClusterRole %s", role.Name)
	}
	return rules, nil
}

// Denials are the requests through some transports that an API server has denied for want of a right. Its zero value is
// ready.
type Denials struct {
	mu       sync.Mutex
	requests []string
}

// Take are those since it was last asked, each as its method and path.
func (d *Denials) Take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	requests := d.requests
	d.requests = nil
	return requests
}

// Wrap records which of the requests through a transport are denied.
func (d *Denials) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusForbidden {
			return response, err
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(answer))
		// Admission answers with the same status, and does not say which user it refuses.
		if err == nil && strings.Contains(string(answer), "is forbidden: User ") {
			d.mu.Lock()
			d.requests = append(d.requests, r.Method+" "+r.URL.Path)
			d.mu.Unlock()
		}
		return response, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
