//go:build e2e

package hub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// With what docs/hub-role.yaml allows a cluster can be made; without one of its rules the
// verb, the resource and the namespace are named.
func TestPermissions(t *testing.T) {
	within, wide := kubetest.DocumentedRole(t, "hub-role.yaml")
	without := func(rules []rbacv1.PolicyRule, resource, verb string) []rbacv1.PolicyRule {
		var out []rbacv1.PolicyRule
		for _, rule := range rules {
			if slices.Contains(rule.Resources, resource) {
				rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == resource })
				own := rule
				own.Resources = []string{resource}
				own.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
				out = append(out, own)
			}
			if len(rule.Resources) > 0 {
				out = append(out, rule)
			}
		}
		return out
	}
	for name, test := range map[string]struct {
		resource, verb string
		want           string // "": it works
	}{
		"all of it":               {},
		"no agents":               {"agents", "watch", "may not watch agents.agent-install.openshift.io in namespace"},
		"watching is listing":     {"agents", "list", ""}, // a server that streams the list does not ask for more
		"no applying":             {"agentclusterinstalls", "patch", "may not patch agentclusterinstalls.extensions.hive.openshift.io in namespace"},
		"no secrets":              {"secrets", "patch", "may not patch secrets in namespace"},
		"no ClusterImageSets":     {"clusterimagesets", "list", "may not list clusterimagesets.hive.openshift.io in the whole hub"},
		"no watching, but lists":  {"infraenvs", "watch", "may not watch infraenvs.agent-install.openshift.io in namespace"},
		"no creation of networks": {"configmaps", "create", "may not create configmaps in namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c := server.Start(t)
			user := "user-" + s.namespace
			config := c.User(t, user, without(wide, test.resource, test.verb)...)
			c.Grant(t, config, user, s.namespace, without(within, test.resource, test.verb)...)
			s.plane = s.newPlane(Config{Kube: config, Log: s.calls.log})
			err := s.tryRegister()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%v (next: %s)", err, model.FaultOf(err).Next)
			case test.want != "" && (err == nil || model.FaultOf(err).Code != model.CodeAuth || !strings.Contains(err.Error(), test.want) || !strings.Contains(model.FaultOf(err).Next.String(), "kubectl auth can-i "+test.verb)):
				t.Errorf("got %v (next: %s), want %q", err, model.FaultOf(err).Next, test.want)
			}
		})
	}
}

// A user who may read one namespace alone finds the cluster of an id there, also the second time; a name is searched
// for in all namespaces.
func TestIDIsFoundWithoutTheWholeHub(t *testing.T) {
	s := newStage(t)
	if err := s.tryRegister(); err != nil {
		t.Fatal(err)
	}
	c := server.Start(t)
	user := "user-" + s.namespace
	config := c.User(t, user)
	within, _ := kubetest.DocumentedRole(t, "hub-role.yaml")
	c.Grant(t, config, user, s.namespace, within...)
	for _, follow := range []bool{false, true} {
		plane := s.newPlane(Config{Kube: config})
		if follow {
			plane.Follow()
		}
		ref, err := plane.ClusterByNameOrID(t.Context(), s.namespace+"/"+s.namespace)
		if err != nil || ref.Name != s.namespace {
			t.Errorf("follow %v: cluster %v, %v", follow, ref, err)
		}
		if o, err := plane.Observe(t.Context(), model.Query{ID: ref.ID, Detail: true}, nil); err != nil || o.Cluster == nil {
			t.Errorf("follow %v: observed %v, %v", follow, o, err)
		}
		if env, err := plane.InfraEnvByNameOrID(t.Context(), s.namespace+"/"+s.namespace); err != nil || env.Name != s.namespace {
			t.Errorf("follow %v: InfraEnv %v, %v", follow, env, err)
		}
		if _, err := plane.ClusterByNameOrID(t.Context(), s.namespace); model.FaultOf(err).Code != model.CodeAuth {
			t.Errorf("follow %v: by its name: %v", follow, err)
		}
	}
}

// tryRegister makes the cluster, as far as it gets.
func (s *stage) tryRegister() error {
	for range 5 {
		o, err := s.plane.Observe(s.Context(), s.query(), nil)
		if err != nil {
			return err
		}
		plan := install.Decide(s.desired, o, model.Memory{}, o.At)
		if len(plan.Actions) == 0 {
			return nil
		}
		for _, a := range plan.Actions {
			if err := s.plane.Act(s.Context(), s.desired, a); err != nil {
				return err
			}
		}
	}
	return errors.New("it does not settle")
}

func TestBadConnections(t *testing.T) {
	good := server.Start(t).Config
	expired := rest.AnonymousClientConfig(good)
	expired.BearerToken = "expired"
	nowhere := &rest.Config{Host: "https://127.0.0.1:1"}
	unknown := rest.CopyConfig(expired)
	unknown.CAData, unknown.CAFile = nil, ""
	for name, test := range map[string]struct {
		config    *rest.Config
		code      model.Code
		permanent bool
		next      string
	}{
		"expired":                   {expired, model.CodeAuth, true, "log in"},
		"nobody there":              {nowhere, model.CodeFailure, false, "can be reached"},
		"a certificate of nobody's": {unknown, model.CodeFailure, true, "certificate-authority"},
	} {
		p, err := New(Config{Kube: test.config})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		_, err = p.Observe(t.Context(), model.Query{Name: "x", BaseDomain: "example.com"}, nil)
		var fault *model.Fault
		if !errors.As(err, &fault) || fault.Code != test.code || fault.Permanent != test.permanent || !strings.Contains(fault.Next.String(), test.next) {
			t.Errorf("%s: got %v, %+v", name, err, fault)
		}
		if strings.Contains(err.Error(), "expired\"") {
			t.Errorf("%s: the token stands in %v", name, err)
		}
	}
	if _, err := New(Config{}); model.FaultOf(err).Code != model.CodeUsage {
		t.Errorf("without a connection: %v", err)
	}
}

// While the API server is away the last picture stands; then the watches go on
// by themselves.
func TestRestartOfTheServer(t *testing.T) {
	s := newStage(t)
	c := server.Start(t)
	s.settle()
	c.Down(t)
	s.until("stale", func(o *model.Observed) bool { return o.Stale != "" && o.Cluster != nil })
	c.Up(t)
	s.until("fresh", func(o *model.Observed) bool { return o.Stale == "" })
	s.says("insufficient")
	s.until("what happens afterwards", func(o *model.Observed) bool { return o.Cluster.Status == "insufficient" })
	if done := s.settle(); len(done) > 0 {
		t.Errorf("it does %v anew", done)
	}
}

// What the service does not take of the input blocks once it stands.
func TestInputFaultBlocks(t *testing.T) {
	s := newStage(t)
	s.settle()
	old := conditionOf("SpecSynced", "False", "InputError")
	old["message"], old["lastTransitionTime"] = "no such ClusterImageSet", time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	s.says("", old)
	o := s.until("the fault", func(o *model.Observed) bool { return o.Cluster.State == model.ClusterBlocked })
	if !slices.ContainsFunc(o.Cluster.Validations, func(v model.Validation) bool {
		return v.ID == "spec-synced" && v.Status == "failure" && strings.Contains(v.Message, "no such ClusterImageSet")
	}) {
		t.Errorf("validations %+v", o.Cluster.Validations)
	}
}

// A cluster that the service has lost sight of is touched.
func TestStall(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	for i := range 4 {
		s.boots(i)
	}
	s.says("insufficient")
	s.until("hosts", func(o *model.Observed) bool { return len(o.Hosts) == 4 && o.Cluster.Status == "insufficient" })
	s.settle()
	stalled := conditionOf("RequirementsMet", "False", "UnsyncedAgents")
	stalled["lastTransitionTime"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	s.says("ready", conditionOf("SpecSynced", "True", "SyncOK"), conditionOf("Completed", "False", "InstallationNotStarted"), stalled)
	s.until("ready", func(o *model.Observed) bool { return o.Cluster.State == model.ClusterReady })
	if o := s.observe(); !o.Cluster.Stalled.IsZero() {
		t.Error("what is held does not stall")
	}
	s.settle()
	o := s.until("stalled", func(o *model.Observed) bool { return !o.Cluster.Stalled.IsZero() })
	before := s.get(kube.AgentClusterInstalls, s.namespace)
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/nudge", Kind: model.NudgeCluster, Target: o.Cluster.ID, Name: s.namespace}); err != nil {
		t.Fatal(err)
	}
	after := s.get(kube.AgentClusterInstalls, s.namespace)
	if after.GetResourceVersion() == before.GetResourceVersion() || after.GetGeneration() != before.GetGeneration() {
		t.Error("it was not touched, or changed")
	}
}

// The service loses sight of Agents in the namespace of a pool as well; those of
// the pool that the cluster does not use say nothing of it.
func TestStallOfAPool(t *testing.T) {
	synced, unsynced := conditionOf("SpecSynced", "True", "SyncOK"), conditionOf("SpecSynced", "False", "InputError")
	for name, test := range map[string]struct {
		ours, spare, elsewhere map[string]any // condition of an Agent in a pool that is bound to the cluster, to none, to another
		reason, state          string         // UnsyncedAgents and ready unless given
		stalls                 bool
	}{
		"too few":                         {ours: synced, reason: "InsufficientAgents"},
		"not approved":                    {ours: synced, reason: "UnapprovedAgents"},
		"not ready":                       {ours: synced, state: "insufficient"},
		"in sync":                         {ours: synced, stalls: true},
		"in sync, beside one of nobody's": {ours: synced, spare: unsynced, stalls: true},
		"in sync, beside another's":       {ours: synced, elsewhere: unsynced, stalls: true},
		"not in sync":                     {ours: unsynced, spare: synced},
		"none of its own":                 {spare: synced},
	} {
		p, at := filledPlane(t, "lab")
		pool := watchedNamespace(t, p.api, "racks")
		for _, u := range made(t, p, at, parseCluster(t, singleNode())).Cluster {
			if u.GetKind() != "AgentClusterInstall" {
				continue
			}
			u = u.DeepCopy()
			u.SetResourceVersion("100")
			u.Object["spec"].(map[string]any)["holdInstallation"] = false
			u.Object["status"] = map[string]any{
				"conditions": []any{conditionOf("RequirementsMet", "False", cmp.Or(test.reason, "UnsyncedAgents"))},
				"debugInfo":  map[string]any{"state": cmp.Or(test.state, "ready")},
			}
			put(t, at, u)
		}
		env := object("agent-install.openshift.io/v1beta1", "InfraEnv", "racks", "pool", map[string]any{"spec": map[string]any{}})
		env.SetResourceVersion("1")
		put(t, pool, env)
		for id, agent := range map[string]struct {
			cluster   string
			condition map[string]any
		}{"ours": {"lab", test.ours}, "spare": {"", test.spare}, "elsewhere": {"other", test.elsewhere}} {
			if agent.condition == nil {
				continue
			}
			u := agentWith(agent.condition)
			u.SetNamespace("racks")
			u.SetName(id)
			u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": "pool"})
			u.Object["spec"].(map[string]any)["clusterDeploymentName"] = map[string]any{"name": agent.cluster, "namespace": agent.cluster}
			put(t, pool, u)
		}
		o, err := p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com", InfraEnv: "racks/pool"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := !o.Cluster.Stalled.IsZero(); got != test.stalls {
			t.Errorf("%s: stalled %v", name, got)
		}
	}
}

// A namespace that is on its way out is named, and what holds it.
func TestTerminatingNamespace(t *testing.T) {
	s := newStage(t)
	holds := object("v1", "ConfigMap", s.namespace, "holds", map[string]any{})
	holds.SetFinalizers([]string{"example.com/hold"})
	if _, err := s.client(kube.ConfigMaps).Create(t.Context(), holds, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.Resource(kube.Namespaces.Resource()).Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = s.client(kube.ConfigMaps).Patch(context.WithoutCancel(t.Context()), "holds", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	s.observe()
	err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: s.namespace})
	var fault *model.Fault
	if !errors.As(err, &fault) || fault.Permanent || !strings.Contains(err.Error(), "being deleted") {
		t.Errorf("got %v", err)
	}
}

// pooled is an Agent of an InfraEnv "rack".
func pooled(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	u := object("agent-install.openshift.io/v1beta1", hubapi.KindAgent, namespace, name, map[string]any{
		"spec": spec, "status": map[string]any{"debugInfo": map[string]any{"state": "known-unbound"}},
	})
	u.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: "rack"})
	u.SetResourceVersion("1")
	return u
}

// Reserved Agents are observed from any pool, with what is known of them; the other Agents and the InfraEnv of that
// pool are not. Changes of reserved Agents are reported.
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

// A user with hosts from a pool in another namespace may read the hosts there and what these booted, and nothing else
// of it.
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
	if _, err := s.plane.Observe(t.Context(), model.Query{ID: pool + "/lab"}, nil); model.FaultOf(err).Code != model.CodeAuth {
		t.Errorf("a cluster there: %v", err)
	}
}
