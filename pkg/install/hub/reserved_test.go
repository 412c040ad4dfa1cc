//go:build e2e

package hub

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// pooled is an Agent of an InfraEnv "rack".
func pooled(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	u := object("agent-install.openshift.io/v1beta1", hubapi.KindAgent, namespace, name, map[string]any{
		"spec": spec, "status": map[string]any{"debugInfo": map[string]any{"state": "known-unbound"}},
	})
	u.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: "rack"})
	u.SetResourceVersion("1")
	return u
}

// Agents that are reserved are brought along from whatever pool, with what is known of them, and
// no others of it; neither is its InfraEnv. Their changes are told.
func TestReservedAgents(t *testing.T) {
	p, at := filledPlane(t, "ns")
	pool := watchedNamespace(t, p.api, "pool")
	put(t, at, deployed("ns", "lab")...)
	put(t, pool, pooled("pool", "free", map[string]any{"approved": true}), pooled("pool", "other", map[string]any{"approved": true}),
		pooled("pool", "mine", map[string]any{"approved": true, "clusterDeploymentName": bound("ns", "lab")}),
		pooled("pool", "theirs", map[string]any{"approved": true, "clusterDeploymentName": bound("else", "prod")}))
	query := model.Query{Name: "lab", ID: "ns/lab", Agents: []string{"pool/free", "pool/mine", "pool/theirs", "pool/none"}}
	look := func() *model.Observed {
		t.Helper()
		o, err := p.Observe(t.Context(), query, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	o := look()
	if len(o.InfraEnvs) != 1 || len(o.Hosts) != 2 || len(o.Elsewhere) != 1 {
		t.Fatalf("InfraEnvs %+v, hosts %+v, elsewhere %+v", o.InfraEnvs, o.Hosts, o.Elsewhere)
	}
	for i, want := range []model.Host{
		{ID: "free", Reserved: "pool/free", State: model.HostUnbound, InfraEnvID: "pool/rack"},
		{ID: "mine", Reserved: "pool/mine", State: model.HostBinding, InfraEnvID: "pool/rack", ClusterID: "ns/lab"},
	} {
		if h := o.Hosts[i]; h.ID != want.ID || h.Reserved != want.Reserved || h.State != want.State || h.InfraEnvID != want.InfraEnvID || h.ClusterID != want.ClusterID {
			t.Errorf("host %+v, want %+v", h, want)
		}
	}
	if e := o.Elsewhere[0]; e.Reserved != "pool/theirs" || e.ClusterName != "prod" {
		t.Errorf("elsewhere %+v", e)
	}
	changed := p.Changed(query)
	late := pooled("pool", "none", map[string]any{"approved": false})
	put(t, pool, late)
	select {
	case <-changed:
	default:
		t.Error("a reserved Agent that comes is not told")
	}
	if o := look(); len(o.Hosts) != 3 {
		t.Errorf("hosts %+v", o.Hosts)
	}
}

// A reserved Agent is made what the file says and then bound; what the file does not say, and its
// approval, stay what somebody else has set.
func TestBindReservedAgent(t *testing.T) {
	s := newStage(t)
	pool := server.Start(t).Namespace(t)
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: s.namespace}); err != nil {
		t.Fatal(err)
	}
	const id = "00000000-0000-0000-0000-00000000000a"
	u := pooled(pool, id, map[string]any{"approved": true, "role": "auto-assign", "hostname": "theirs", "installation_disk_id": "/dev/sdb", "nodeLabels": map[string]any{"rack": "7"}})
	u.SetResourceVersion("")
	delete(u.Object, "status")
	agents := s.admin.Resource(kube.Agents.Resource()).Namespace(pool)
	if _, err := agents.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	s.desired.Spec.Spec.Hosts[0].Match.Agent = pool + "/" + id
	query := s.desired.Query()
	s.until("the reserved Agent", func(*model.Observed) bool {
		o, err := s.plane.Observe(t.Context(), query, nil)
		return err == nil && len(o.Hosts) == 1 && o.Hosts[0].Reserved != ""
	})
	s.calls.take()
	bind := model.Action{Key: "bind", Kind: model.BindHost, Target: id, InfraEnv: pool + "/rack", Name: "cp-0", Settings: model.Settings{"role": `"control-plane"`}}
	if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
		t.Fatal(err)
	}
	s.wantWrites("agents/"+id, "agents/"+id)
	now, err := agents.Get(t.Context(), id, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := now.Object["spec"].(map[string]any)
	ref := spec["clusterDeploymentName"].(map[string]any)
	if spec["role"] != "master" || ref["name"] != s.namespace || spec["approved"] != true || spec["hostname"] != "theirs" || spec["installation_disk_id"] != "/dev/sdb" || spec["nodeLabels"].(map[string]any)["rack"] != "7" {
		t.Errorf("spec %v", spec)
	}
	if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
		t.Fatal(err)
	}
	s.wantWrites()
}

// Who has hosts from a pool in the namespace of others may look at the hosts there and at what these booted, and at
// nothing else of it.
func TestPoolOfOthers(t *testing.T) {
	s := newStage(t)
	c := server.Start(t)
	pool, user := c.Namespace(t), "user-"+s.namespace
	within, wide := kubetest.DocumentedRole(t, "hub-role.yaml")
	config := c.User(t, user, wide...)
	c.Grant(t, config, user, s.namespace, within...)
	c.Grant(t, config, user, pool,
		rbacv1.PolicyRule{APIGroups: []string{hubapi.GroupAgentInstall}, Resources: []string{"agents", "infraenvs", "nmstateconfigs"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{hubapi.GroupAgentInstall}, Resources: []string{"agents"}, Verbs: []string{"patch"}},
		rbacv1.PolicyRule{APIGroups: []string{hubapi.GroupMetal3}, Resources: []string{"baremetalhosts"}, Verbs: []string{"list", "watch", "patch"}})
	s.plane = s.newPlane(Config{Kube: config, Log: s.calls.log})
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: s.namespace}); err != nil {
		t.Fatal(err)
	}
	const id = "00000000-0000-0000-0000-00000000000b"
	u := pooled(pool, id, map[string]any{"approved": true, "role": "auto-assign"})
	u.SetResourceVersion("")
	u.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: "rack", hubapi.LabelAgentBMH: "metal"})
	delete(u.Object, "status")
	machine := object("metal3.io/v1alpha1", hubapi.KindBareMetalHost, pool, "metal", map[string]any{"spec": map[string]any{"online": true}})
	for k, u := range map[kube.Kind]*unstructured.Unstructured{kube.Agents: u, kube.BareMetalHosts: machine} {
		if _, err := s.admin.Resource(k.Resource()).Namespace(pool).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.desired.Spec.Spec.Hosts[0].Match.Agent = pool + "/" + id
	o, err := s.plane.Observe(t.Context(), s.desired.Query(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Hosts) != 1 || o.Hosts[0].Returns != model.ReturnByHub {
		t.Fatalf("hosts %+v", o.Hosts)
	}
	reference := func() string {
		t.Helper()
		now, err := s.admin.Resource(kube.BareMetalHosts.Resource()).Namespace(pool).Get(t.Context(), "metal", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return now.GetAnnotations()[hubapi.AnnotationBMACClusterReference]
	}
	bind := model.Action{Key: "bind", Kind: model.BindHost, Target: id, InfraEnv: pool + "/rack", Name: "cp-0", Settings: model.Settings{"role": `"control-plane"`}}
	if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
		t.Fatal(err)
	}
	if bound := reference(); bound != s.namespace+"/"+s.namespace {
		t.Errorf("bound to %q", bound)
	}
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "return", Kind: model.ReturnHost, Target: id, InfraEnv: pool + "/rack", Name: "cp-0"}); err != nil {
		t.Fatal(err)
	}
	if bound := reference(); bound != "" {
		t.Errorf("still bound to %q", bound)
	}
	// A cluster of the same hub in that namespace is another matter.
	if _, err := s.plane.Observe(t.Context(), model.Query{ID: pool + "/lab"}, nil); model.CodeOf(err) != model.CodeAuth {
		t.Errorf("a cluster there: %v", err)
	}
}
