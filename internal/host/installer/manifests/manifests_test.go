package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func options() Options {
	return Options{
		ClusterID: "11111111-1111-4111-8111-111111111111", ServiceURL: "https://192.0.2.1:8090", Insecure: true, CheckClusterVersion: true,
		ControlPlaneCount: 3, MustGatherImage: `{"cnv":"quay.io/x/cnv:1","ocp":"quay.io/x/mg:1"}`, PullSecretToken: "s3cret: #token",
		Image: "quay.io/x/controller:1", OpenShiftVersion: "4.20", NotifyNumReboots: true, Rules: OriginalRules(),
	}
}

// TestRender compares the manifests with those in testdata, and reads them with the types of Kubernetes.
func TestRender(t *testing.T) {
	single := options()
	single.ControlPlaneCount, single.SingleNode, single.CACertPath = 1, true, "/etc/assisted/ca.pem"
	single.ServiceIPs = []string{"192.0.2.1", "2001:db8::1"}
	single.Rules = []Rule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}}
	for name, o := range map[string]Options{"cluster": options(), "single-node": single} {
		files := must.Get(Render(o))(t)
		var got strings.Builder
		for _, f := range files {
			got.WriteString("# " + f.Name + "\n" + string(f.Content))
			check.Equal(t, f.Secret, strings.Contains(string(f.Content), "s3cret"), f.Name)
			readStrictly(t, f)
		}
		golden := filepath.Join("testdata", name+".yaml")
		if os.Getenv("UPDATE") != "" {
			must.Do(t, os.MkdirAll("testdata", 0o755))
			must.Do(t, os.WriteFile(golden, []byte(got.String()), 0o600))
		}
		check.Equal(t, got.String(), string(must.Get(os.ReadFile(golden))(t)))
	}
}

// readStrictly reads a manifest with the type of its kind, which must have each field.
func readStrictly(t *testing.T, f File) {
	t.Helper()
	var kind struct{ Kind string }
	must.Do(t, yaml.Unmarshal(f.Content, &kind))
	known := map[string]any{
		"Namespace": &corev1.Namespace{}, "ServiceAccount": &corev1.ServiceAccount{}, "ConfigMap": &corev1.ConfigMap{}, "Secret": &corev1.Secret{},
		"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		"NetworkPolicy": &networkingv1.NetworkPolicy{}, "Job": &batchv1.Job{},
	}
	object, found := known[kind.Kind]
	if !found {
		t.Fatalf("%s has the kind %q", f.Name, kind.Kind)
	}
	must.Do(t, yaml.UnmarshalStrict(f.Content, object), f.Name)
	if secret, is := object.(*corev1.Secret); is {
		check.Equal(t, secret.StringData["pull-secret-token"], "s3cret: #token")
	}
	if job, is := object.(*batchv1.Job); is {
		pod := job.Spec.Template.Spec
		volumes := map[string]bool{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = true
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("the mount %s has no volume", m.Name)
			}
		}
	}
}

func TestOriginalRules(t *testing.T) {
	check.Equal(t, len(OriginalRules()), 25)
}

func TestSSHKey(t *testing.T) {
	f := must.Get(SSHKey("ssh-rsa AAAA core@host"))(t)
	check.Equal(t, string(f.Content), `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  labels:
    machineconfiguration.openshift.io/role: master
  name: 99-assisted-installer-master-ssh
spec:
  config:
    ignition:
      version: 3.1.0
    passwd:
      users:
      - name: core
        sshAuthorizedKeys:
        - ssh-rsa AAAA core@host
`)
}
