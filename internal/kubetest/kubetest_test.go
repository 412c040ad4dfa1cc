//go:build e2e

package kubetest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

var hub kubetest.Shared

func TestMain(m *testing.M) { os.Exit(hub.Run(m)) }

func TestKubectlReadsTheHubsKinds(t *testing.T) {
	c := hub.Start(t)
	kubeconfig := c.Kubeconfig(t)
	info, err := os.Stat(kubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the kubeconfig's mode: %v, %v", info.Mode(), err)
	}
	for _, kind := range hubapi.Kinds() {
		if kind.Kind == hubapi.KindAgentServiceConfig {
			continue // no hub of ours has one
		}
		out, err := exec.CommandContext(t.Context(), c.Kubectl(), "--kubeconfig", kubeconfig, "get", kind.Resource+"."+kind.Group, "-A", "-o", "name").CombinedOutput()
		if err != nil {
			t.Errorf("kubectl get %s: %v\n%s", kind.Resource, err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), c.Kubectl(), "--kubeconfig", kubeconfig, "version").CombinedOutput()
	if err != nil || bytes.Count(out, []byte("v1.36.")) != 2 {
		t.Errorf("kubectl version: %v\n%s", err, out)
	}
}

func TestNamespacesAreNew(t *testing.T) {
	c := hub.Start(t)
	if one, two := c.Namespace(t), c.Namespace(t); one == two {
		t.Errorf("both are %s", one)
	}
}

func TestDeletedNamespacesAreEmptied(t *testing.T) {
	c := hub.Start(t)
	name := c.Namespace(t)
	makeConfigMap(t, c.Client, name, "content")
	if err := c.Client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, name+" is gone", func() bool {
		_, err := c.Client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestUsersMayWhatTheirRulesSay(t *testing.T) {
	c := hub.Start(t)
	mine, other := c.Namespace(t), c.Namespace(t)
	config := c.User(t, "clerk", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}})
	client := clientOf(t, config)
	list := func(client kubernetes.Interface, namespace string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(client, mine); err != nil {
		t.Errorf("listing ConfigMaps: %v", err)
	}
	if _, err := client.CoreV1().Secrets(mine).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing Secrets: %v", err)
	}

	stranger := c.User(t, "stranger")
	if err := list(clientOf(t, stranger), mine); !apierrors.IsForbidden(err) {
		t.Errorf("a stranger lists ConfigMaps: %v", err)
	}
	c.Grant(t, stranger, "stranger", mine, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}})
	if err := list(clientOf(t, stranger), mine); err != nil {
		t.Errorf("in the namespace of the grant: %v", err)
	}
	if err := list(clientOf(t, stranger), other); !apierrors.IsForbidden(err) {
		t.Errorf("in another namespace: %v", err)
	}

	out, err := exec.CommandContext(t.Context(), c.Kubectl(), "--kubeconfig", c.KubeconfigOf(t, config), "auth", "whoami").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "clerk") {
		t.Errorf("kubectl auth whoami: %v\n%s", err, out)
	}
}

func TestRestartKeepsDataUsersAndAddress(t *testing.T) {
	c := hub.Start(t)
	namespace := c.Namespace(t)
	client := clientOf(t, c.User(t, "patient", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "watch"}}))
	makeConfigMap(t, c.Client, namespace, "before")
	watch, err := client.CoreV1().ConfigMaps(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Down(t)
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "before", metav1.GetOptions{}); err == nil {
		t.Error("an API server that is down answers")
	}
	c.Up(t)
	eventually(t, "the watch has broken", func() bool {
		select {
		case _, open := <-watch.ResultChan():
			return !open
		default:
			return false
		}
	})
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestControllersCollectGarbage(t *testing.T) {
	c := hub.Start(t)
	namespace := c.Namespace(t)
	objects, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	image, err := objects.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
		"metadata": map[string]any{"name": "lab"}, "spec": map[string]any{"pullSecretRef": map[string]any{"name": "pull"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: image.GetAPIVersion(), Kind: image.GetKind(), Name: image.GetName(), UID: image.GetUID(),
	}}}}
	if _, err := c.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := objects.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(namespace).Delete(t.Context(), "lab", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what the InfraEnv owned is gone", func() bool {
		_, err := c.Client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func makeConfigMap(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// eventually polls for two minutes, since the machine may be busy with other tests.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not so: %s", what)
		case <-tick.C:
		}
	}
}
