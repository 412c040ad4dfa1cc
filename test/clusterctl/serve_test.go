//go:build e2e

package clusterctl

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

// refused are objects that the webhooks of each provider refuse, with a part of what they say.
var refused = map[string][2]string{
	"bootstrap": {`{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "OpenshiftAssistedConfig", "metadata": {"name": "bad"}, "spec": {"ignitionOverride": "{"}}`, "ignitionOverride"},
	"control-plane": {`{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "OpenshiftAssistedControlPlaneTemplate", "metadata": {"name": "bad"},
		"spec": {"template": {"spec": {"distributionVersion": "4.2.0"}}}}`, "too old for these providers"},
	"infrastructure": {`{"apiVersion": "capi-provider.agent-install.openshift.io/v1beta2", "kind": "AgentMachineTemplate", "metadata": {"name": "bad"},
		"spec": {"template": {"spec": {"cpuArchitecture": "sparc"}}}}`, "is no architecture"},
}

// TestEachProviderAlone starts the manager of each provider as its ServiceAccount, without the kinds of the
// others: by its own role, with certificates of its own, which the API server trusts.
func TestEachProviderAlone(t *testing.T) {
	m := management.Start(t)
	writer := must.Get(client.New(m.Config, client.Options{}))(t)
	for _, name := range components.Names() {
		t.Run(name, func(t *testing.T) {
			x := install(t, m, name)
			x.start(t)
			x.awaitReady(t)
			namespace := m.Namespace(t)
			bad := objectsOf(t, []byte(refused[name][0]))[0]
			bad.SetNamespace(namespace)
			if err := writer.Create(t.Context(), bad); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), refused[name][1]) {
				t.Errorf("what cannot work is answered: %v", err)
			}
			eventually(t, "it has the Lease", func() (bool, string) {
				lease, err := m.Client.CoordinationV1().Leases(x.Namespace()).Get(t.Context(), components.Lease([]string{name}), metav1.GetOptions{})
				return err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") != "", fmt.Sprint(err)
			})
			checkMetrics(t, m, x)
			applyAgain(t, m, x)
			time.Sleep(3 * time.Second) // in which controllers start, and complain
			for _, text := range []string{"no matches for kind", "Could not wait for Cache"} {
				if lines := x.log.find(text); len(lines) > 0 {
					t.Errorf("it logs %q", lines)
				}
			}
			x.end(t)
			check.Equal(t, ptr.Deref(must.Get(m.Client.CoordinationV1().Leases(x.Namespace()).Get(t.Context(), components.Lease([]string{name}), metav1.GetOptions{}))(t).Spec.HolderIdentity, ""), "", "the Lease is not given back")
			uninstall(t, writer, x)
		})
	}
}

// applyAgain applies the components of a provider that runs by kubectl, as docs/capi.md has it for a new release. Nothing
// else may have become the owner of their fields.
func applyAgain(t *testing.T, m *kubetest.Management, x *process) {
	t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, o := range x.objects {
		list.Items = append(list.Items, *o)
	}
	data := must.Get(list.MarshalJSON())(t)
	file := filepath.Join(t.TempDir(), "components.json")
	must.Do(t, os.WriteFile(file, data, 0o600))
	kubectl := exec.CommandContext(t.Context(), m.Kubectl(), "--kubeconfig", m.Kubeconfig(t), "apply", "--server-side", "--field-manager=kubetest", "-f", file)
	if out, err := kubectl.CombinedOutput(); err != nil {
		t.Errorf("apply the components a second time: %v\n%s", err, out)
	}
}

// uninstall deletes the kinds and webhooks of a provider, so that the next one is alone.
func uninstall(t *testing.T, writer client.Client, x *process) {
	t.Helper()
	for _, o := range componentsOf(t, x.Provider, components.Options{SelfManaged: true}) {
		if kind := o.GetKind(); kind != "CustomResourceDefinition" && !strings.HasSuffix(kind, "WebhookConfiguration") {
			continue
		}
		if err := writer.Delete(t.Context(), o); err != nil {
			t.Errorf("delete %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		eventually(t, o.GetName()+" is gone", func() (bool, string) {
			gone := &unstructured.Unstructured{}
			gone.SetGroupVersionKind(o.GroupVersionKind())
			err := writer.Get(t.Context(), client.ObjectKeyFromObject(o), gone)
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
}

// checkMetrics reads the metrics without a token, with the token of a user who may not read them, and of one who may.
func checkMetrics(t *testing.T, m *kubetest.Management, x *process) {
	t.Helper()
	http := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer http.CloseIdleConnections()
	read := func(token string) (int, string) {
		request := newRequest(t, fmt.Sprintf("https://127.0.0.1:%d/metrics", x.metrics), token)
		response, err := http.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	eventually(t, "nobody is let in", func() (bool, string) {
		code, text := read("")
		return code == 401, text
	})
	namespace := m.Namespace(t)
	account := must.Get(m.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}}, metav1.CreateOptions{}))(t)
	token := must.Get(m.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))(t)
	if code, text := read(token.Status.Token); code != 403 {
		t.Errorf("somebody is answered %d: %s", code, text)
	}
	must.Get(m.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "metrics-"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "oaictl-" + x.Name + "-metrics-reader"},
	}, metav1.CreateOptions{}))(t)
	eventually(t, "who may read metrics reads them", func() (bool, string) {
		code, text := read(token.Status.Token)
		return code == 200 && strings.Contains(text, "controller_runtime_"), fmt.Sprint(code)
	})
}

func newRequest(t *testing.T, url, token string) *http.Request {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request
}

// TestNotBesideOthers: while another project with the same kinds runs, nothing starts, and /readyz says why.
func TestNotBesideOthers(t *testing.T) {
	m := management.Start(t)
	x := install(t, m, "bootstrap")
	namespace := m.Namespace(t)
	other := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "capoa-bootstrap-controller-manager"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "registry.example.com/x"}}}},
		},
	}
	must.Get(m.Client.AppsV1().Deployments(namespace).Create(t.Context(), other, metav1.CreateOptions{}))(t)
	x.start(t)
	want := "Deployment capoa-bootstrap-controller-manager in namespace " + namespace
	eventually(t, "/readyz says why", func() (bool, string) {
		code, text := x.ready(t)
		return code == http.StatusServiceUnavailable && strings.Contains(text, want) && strings.Contains(text, "docs/capi.md"), text
	})
	dialer := &net.Dialer{Timeout: time.Second}
	if conn, err := dialer.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", x.webhooks)); err == nil {
		_ = conn.Close()
		t.Error("webhooks are served")
	}
	lease, err := m.Client.CoordinationV1().Leases(x.Namespace()).Get(t.Context(), components.Lease([]string{"bootstrap"}), metav1.GetOptions{})
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
		t.Error("it has taken the Lease")
	}
	must.Do(t, m.Client.AppsV1().Deployments(namespace).Delete(t.Context(), other.Name, metav1.DeleteOptions{}))
	x.awaitReady(t)
}
