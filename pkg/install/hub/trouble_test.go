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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/kubetest"
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
				t.Errorf("%v (next: %s)", err, model.NextOf(err))
			case test.want != "" && (err == nil || model.CodeOf(err) != model.CodeAuth || !strings.Contains(err.Error(), test.want) || !strings.Contains(model.NextOf(err).String(), "kubectl auth can-i "+test.verb)):
				t.Errorf("got %v (next: %s), want %q", err, model.NextOf(err), test.want)
			}
		})
	}
}

// Who may look into one namespace alone finds what an id says is there, once and
// again; a name is looked for in all.
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
		if _, err := plane.ClusterByNameOrID(t.Context(), s.namespace); model.CodeOf(err) != model.CodeAuth {
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
	if _, err := New(Config{}); model.CodeOf(err) != model.CodeUsage {
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
		ours, spare, elsewhere map[string]any // condition of the cluster's Agent in a pool, of one of nobody's, and of one of another cluster
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

// Everything that was made goes, in order; what others put there stays.
func TestDelete(t *testing.T) {
	s := newStage(t)
	s.settle()
	theirs := object("v1", "Secret", s.namespace, "theirs", map[string]any{})
	if _, err := s.client(kube.Secrets).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []kube.Kind{kube.ClusterDeployments, kube.AgentClusterInstalls, kube.InfraEnvs, kube.NMStateConfigs} {
		if list, err := s.client(k).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
			t.Errorf("%s: %d are left, %v", k.Resource().Resource, len(list.Items), err)
		}
	}
	list, err := s.client(kube.Secrets).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != "theirs" {
		t.Errorf("Secrets: %+v, %v", list, err)
	}
	if o := s.observe(); o.Cluster != nil {
		t.Error("the cluster is still observed")
	}
}

// A finalizer that stays is explained by whose it is.
func TestDeleteThatHangs(t *testing.T) {
	s := newStage(t)
	s.plane.api.Clock = clock.Scaled(1200)
	s.settle()
	if _, err := s.client(kube.AgentClusterInstalls).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"finalizers":["agentclusterinstall.agent-install.openshift.io/ai-deprovision"]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{})
	if model.CodeOf(err) != model.CodeTimeout || !strings.Contains(err.Error(), "the assisted-service is down") {
		t.Errorf("got %v", err)
	}
	if _, err := s.client(kube.AgentClusterInstalls).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Letting go deletes nothing and changes no field.
func TestRelease(t *testing.T) {
	s := newStage(t)
	s.settle()
	before := s.get(kube.AgentClusterInstalls, s.namespace).Object["spec"]
	if err := s.plane.ReleaseCluster(t.Context(), s.namespace+"/"+s.namespace); err != nil {
		t.Fatal(err)
	}
	for _, k := range []kube.Kind{kube.ClusterDeployments, kube.AgentClusterInstalls, kube.InfraEnvs} {
		u := s.get(k, s.namespace)
		if u.GetLabels()["oaictl.io/cluster"] != "" {
			t.Errorf("%s has its label", string(k))
		}
		if kube.AppliedEntry(u) >= 0 {
			t.Errorf("%s is owned: %+v", string(k), u.GetManagedFields())
		}
	}
	if after := s.get(kube.AgentClusterInstalls, s.namespace).Object["spec"]; !kube.Within(before, after) || !kube.Within(after, before) {
		t.Errorf("changed: %v, %v", before, after)
	}
	s.until("foreign", func(o *model.Observed) bool { return o.Cluster == nil && len(o.Others) == 1 && !o.Others[0].Owned })

	// Whoever names it may take it over again.
	s.desired.Options.Adopt = s.namespace + "/" + s.namespace
	if done := s.settle(); !slices.Equal(done, []string{"UpdateCluster", "UploadManifest", "UploadManifest"}) {
		t.Errorf("adopting does %v", done)
	}
	s.desired.Options.Adopt = ""
	if o := s.observe(); o.Cluster == nil || !o.Cluster.Owned {
		t.Errorf("adopted: %+v", o.Cluster)
	}
}
