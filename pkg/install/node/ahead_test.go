//go:build e2e

package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install/internal/pemcerts"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// withMachines is a cluster with the Machine API, two workers, and pools that encrypt disks.
func withMachines(c *spoke.Config) {
	c.Cluster.Platform, c.Cluster.MachineAPI, c.Cluster.APIVIPs = spoke.BareMetal, true, []string{"192.168.127.100"}
	c.Cluster.Workers = []spoke.Node{at("old-0", "192.168.127.15")}
	c.Cluster.Pools = []spoke.Pool{{Name: "worker", TPM: true}, {Name: "vault", Tang: []spoke.Tang{{URL: "http://tang-1", Thumbprint: "x"}, {URL: "http://tang-2", Thumbprint: "y"}}}}
}

// see is one look at the installed cluster.
func (s *stage) see() *model.Spoke {
	s.t.Helper()
	observed := must.Get(s.Observe(s.t.Context(), model.Query{}, nil))(s.t)
	seen, err := s.plane().Observe(s.t.Context(), s.desired(nil), observed)
	if err != nil || seen.Trouble != "" {
		s.t.Fatalf("%v, %+v", err, seen)
	}
	return seen
}

// authorityIn are the CAs that a ConfigMap has.
func (s *stage) authorityIn(namespace, name, key string) []model.Certificate {
	s.t.Helper()
	m := must.Get(s.kube.Client.CoreV1().ConfigMaps(namespace).Get(s.t.Context(), name, metav1.GetOptions{}))(s.t)
	return must.Get(pemcerts.Parse([]byte(m.Data[key])))(s.t)
}

// TestSeenAhead is what is read of the cluster before hosts boot.
func TestSeenAhead(t *testing.T) {
	s := newStage(t, withMachines)
	seen := s.see()
	own := s.authorityIn("openshift-machine-config-operator", "machine-config-server-ca", "ca-bundle.crt")
	want := model.ConfigServer{
		Hosts: []string{"api-int.lab.example.com", "192.168.127.100"}, CAs: own,
		CAFrom: "openshift-machine-config-operator/machine-config-server-ca", CAKey: "ca-bundle.crt",
	}
	check.Same(t, want, seen.ConfigServer)
	if root := s.authorityIn("kube-system", "root-ca", "ca.crt"); root[0].Fingerprint == own[0].Fingerprint {
		t.Error("the CA of the installation is that of the machine config server")
	}
	encrypted := map[string]*model.DiskEncryption{}
	for _, p := range seen.Pools {
		if p.Served == "" {
			t.Errorf("it is not known what the pool %s serves", p.Name)
		}
		encrypted[p.Name] = p.Encryption
	}
	check.Same(t, map[string]*model.DiskEncryption{"master": nil, "worker": {TPM: true}, "vault": {Tang: []string{"http://tang-1", "http://tang-2"}}}, encrypted)
	i := slices.IndexFunc(seen.BareMetalHosts, func(h model.BareMetalHost) bool { return h.Name == "old-0" })
	if i < 0 || len(seen.BareMetalHosts[i].MACs) != 1 || seen.BareMetalHosts[i].MACs[0] != seen.BareMetalHosts[i].MAC || len(seen.BareMetalHosts[i].Addresses) != 1 {
		t.Errorf("BareMetalHosts %+v", seen.BareMetalHosts)
	}
	s.refusesItsMachine(seen.BareMetalHosts[i].MAC)
	s.seesLess()
}

// refusesItsMachine adds a host that is a machine of the cluster.
func (s *stage) refusesItsMachine(mac string) {
	s.t.Helper()
	_, err := s.run(s.desired(func(d *model.Desired) {
		workers := 1
		d.Spec.Spec.Topology.Workers = &workers
		d.Spec.Spec.Hosts = []spec.Host{{Name: "w-9", Hostname: "w-9", Role: spec.Worker, Match: spec.Match{MAC: mac}}}
	}), time.Minute)
	if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "w-9 has the MAC address "+mac+", the same as the node old-0 of the cluster") {
		s.t.Errorf("it is added: %v", err)
	}
}

// seesLess looks with the rights of a user who may read neither ConfigMaps nor rendered configs: nothing is known of
// them then, and all else is.
func (s *stage) seesLess() {
	s.t.Helper()
	const user = "looker"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"config.openshift.io", "machine.openshift.io", "metal3.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"machineconfiguration.openshift.io"}, Resources: []string{"machineconfigpools"}, Verbs: []string{"list"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	ctx, rbac := s.t.Context(), s.kube.Client.RbacV1()
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
	file := must.Get(clientcmd.Load(s.data))(s.t)
	file.AuthInfos["u"].Impersonate = user
	s.data = must.Get(clientcmd.Write(*file))(s.t)
	seen := s.see()
	if len(seen.ConfigServer.CAs) != 0 || len(seen.ConfigServer.Hosts) == 0 || len(seen.Nodes) == 0 || len(seen.BareMetalHosts) == 0 {
		s.t.Errorf("seen %+v", seen)
	}
	for _, p := range seen.Pools {
		if p.Encryption != nil {
			s.t.Errorf("the pool %s is known to encrypt disks", p.Name)
		}
	}
}

func letters(r rune) rune {
	if r < 'a' || r > 'z' {
		return -1
	}
	return r
}

// TestOlderConfigServer: before 4.19, and on clusters without the Machine API, the machine config
// server has the CA of the installation.
func TestOlderConfigServer(t *testing.T) {
	for name, change := range map[string]func(*spoke.Config){
		"4.18":             func(c *spoke.Config) { withMachines(c); c.Cluster.Version = "4.18.9" },
		"no Machine API":   func(*spoke.Config) {},
		"nothing is known": func(*spoke.Config) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(c *spoke.Config) { c.Cluster.ID = ""; c.Cluster.Name += strings.Map(letters, name); change(c) })
			if name == "nothing is known" {
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "root-ca"}, Data: map[string]string{"ca.crt": "nonsense"}}
				must.Get(s.kube.Client.CoreV1().ConfigMaps(m.Namespace).Update(t.Context(), m, metav1.UpdateOptions{}))(t)
				if seen := s.see().ConfigServer; len(seen.CAs) != 0 || seen.CAFrom != "" {
					t.Errorf("seen %+v", seen)
				}
				return
			}
			check.Same(t, s.authorityIn("kube-system", "root-ca", "ca.crt"), s.see().ConfigServer.CAs)
		})
	}
}
