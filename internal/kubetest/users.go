package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Namespace is a new namespace. It is left to the end of the hub: after the test no controller removes the finalizers
// of its objects, and its deletion would be tried for as long as the hub runs.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	made, err := c.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	return made.Name
}

// Kubeconfig is the path of an administrator's kubeconfig, readable by its owner alone.
func (c *Cluster) Kubeconfig(t testing.TB) string {
	t.Helper()
	return c.KubeconfigOf(t, c.Config)
}

// KubeconfigOf is the path of a kubeconfig with the user and the server of a config.
func (c *Cluster) KubeconfigOf(t testing.TB, config *rest.Config) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(name, config); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	return name
}

// WriteKubeconfig writes an administrator's kubeconfig, readable by its owner alone.
// One of another cluster is not written over.
func (c *Cluster) WriteKubeconfig(name string) error {
	if err := ours(name); err != nil {
		return err
	}
	return writeKubeconfig(name, c.Config)
}

// ours is an error where there is a file that is no kubeconfig of a hub of this package.
func ours(name string) error {
	there, err := clientcmd.LoadFromFile(name)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return fmt.Errorf("%s is there, and no kubeconfig of such a hub: %w", name, err)
	case len(there.Clusters) != 1 || there.Clusters[only] == nil:
		return fmt.Errorf("%s is there, and a kubeconfig of another cluster; it is left as it is", name)
	}
	return nil
}

// only is the name of everything in a kubeconfig of a hub of this package.
const only = "kubetest"

func writeKubeconfig(name string, config *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters[only] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[only] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	file.Contexts[only] = &clientcmdapi.Context{Cluster: only, AuthInfo: only}
	file.CurrentContext = only
	return clientcmd.WriteToFile(*file, name) // with mode 0600
}

// User is a user with a certificate, who may do in all namespaces what the rules say, until the test's end. One without
// rules has only the rights of every authenticated user.
func (c *Cluster) User(t testing.TB, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	user, err := c.env.AddUser(envtest.User{Name: name}, &rest.Config{QPS: c.Config.QPS, Burst: c.Config.Burst})
	if err != nil {
		t.Fatalf("making the user %s: %v", name, err)
	}
	if len(rules) > 0 {
		c.Grant(t, user.Config(), name, "", rules...)
	}
	return user.Config()
}

// Grant lets a user do more until the test's end: in one namespace, or with "" in all and
// outside of them. It returns once the API server knows.
func (c *Cluster) Grant(t testing.TB, config *rest.Config, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	if err := c.bind(t, user, namespace, rules); err != nil {
		t.Fatalf("granting rights to %s: %v", user, err)
	}
	awaitRights(t, config, user, namespace, rules)
}

// awaitRights returns once the API server knows of the rights of a user.
func awaitRights(t testing.TB, config *rest.Config, user, namespace string, rules []rbacv1.PolicyRule) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), "the rights of "+user, func(ctx context.Context) error {
		return allowed(ctx, client, namespace, rules)
	}); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) bind(t testing.TB, user, namespace string, rules []rbacv1.PolicyRule) error {
	rbac := c.Client.RbacV1()
	role, err := rbac.ClusterRoles().Create(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: role.Name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	unbind := rbac.ClusterRoleBindings().Delete
	if namespace == "" {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}
		_, err = rbac.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	} else {
		unbind = rbac.RoleBindings(namespace).Delete
		binding := &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}
		_, err = rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout)
		defer cancel()
		undone := errors.Join(unbind(ctx, role.Name, metav1.DeleteOptions{}), rbac.ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{}))
		if undone != nil { // no fault of the test: the hub itself is gone soon
			t.Logf("cleaning up: %v", undone)
		}
	})
	return err
}

// allowed is an error while the API server does not know of a rule yet. The rules of
// one role take effect together, so that the first resource of each is enough.
func allowed(ctx context.Context, client kubernetes.Interface, namespace string, rules []rbacv1.PolicyRule) error {
	for _, rule := range rules {
		if len(rule.Resources) == 0 || len(rule.APIGroups) == 0 || len(rule.Verbs) == 0 {
			continue
		}
		resource, part, _ := strings.Cut(rule.Resources[0], "/")
		attributes := &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: part,
		}
		if len(rule.ResourceNames) > 0 {
			attributes.Name = rule.ResourceNames[0]
		}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !answer.Status.Allowed {
			return fmt.Errorf("no right to %s %s yet", attributes.Verb, attributes.Resource)
		}
	}
	return nil
}

// DocumentedRole is what a file in docs, such as hub-role.yaml, allows: in a namespace
// by its Roles, and in the hub as a whole by its ClusterRoles.
func DocumentedRole(t testing.TB, file string) (within, wide []rbacv1.PolicyRule) {
	t.Helper()
	tree, err := root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(tree, "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var object struct {
			Kind  string              `json:"kind"`
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		err := decoder.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			if len(wide) == 0 {
				t.Fatalf("docs/%s has no ClusterRole", file)
			}
			return within, wide
		case err != nil:
			t.Fatalf("reading docs/%s: %v", file, err)
		case object.Kind == "Role":
			within = append(within, object.Rules...)
		case object.Kind == "ClusterRole":
			wide = append(wide, object.Rules...)
		}
	}
}
