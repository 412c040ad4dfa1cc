//go:build e2e

package hub_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// told are the lines that a simulated hub logs: what it does to machines and nodes.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (l *told) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *told) count(words string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, words) {
			n++
		}
	}
	return n
}

const (
	givenBack = "goes back to its pool"
	takenOut  = "is taken out of"
)

// poolStage is a hub with a cluster that is not installed yet, and with a machine of a pool for it.
func poolStage(t *testing.T) (*stage, *model.Desired, *told) {
	t.Helper()
	cluster, log := exampleOf(t, "sno"), &told{}
	cluster.Spec.InfraEnv.Bind, cluster.Spec.InfraEnv.Ref = spec.BindLate, "rack"
	s := newStage(t, cluster, simulated.Config{Hive: true, Webhooks: true, Logf: log.printf})
	s.makePool(t)
	return s, &model.Desired{Spec: cluster}, log
}

// makePool makes an InfraEnv that is bound to no cluster.
func (s *stage) makePool(t *testing.T) {
	t.Helper()
	s.create(t, "", "v1", "Secret", "rack", map[string]any{"type": "kubernetes.io/dockerconfigjson", "stringData": map[string]any{
		".dockerconfigjson": `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA=="},"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}`,
	}})
	s.create(t, hubapi.GroupAgentInstall, hubapi.VersionAgentInstall, hubapi.KindInfraEnv, "rack", map[string]any{"spec": map[string]any{"pullSecretRef": map[string]any{"name": "rack"}}})
}

func (s *stage) create(t *testing.T, group, version, kind, name string, fields map[string]any) {
	t.Helper()
	u := &unstructured.Unstructured{Object: fields}
	resource := hubapi.Resource(hubapi.KindSecret)
	if kind == hubapi.KindInfraEnv {
		resource = hubapi.Resource(hubapi.KindInfraEnv)
	}
	u.SetAPIVersion(strings.TrimPrefix(group+"/"+version, "/"))
	u.SetKind(kind)
	u.SetName(name)
	if _, err := s.admin.Resource(resource).Namespace(s.config.Namespace).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) plane(t *testing.T) *hub.Plane {
	t.Helper()
	plane, err := hub.New(hub.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Clock: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Close)
	return plane
}

func (s *stage) agents(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	list, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// agentSpec is the spec of the only Agent.
func (s *stage) agentSpec(t *testing.T) map[string]any {
	t.Helper()
	fields, _, err := unstructured.NestedMap(s.agents(t)[0].Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// A running cluster is deleted without booting its machines into the discovery image, no matter which InfraEnv they
// come from; on request they go back to their pool.
func TestDeleteClusterOfPoolMachines(t *testing.T) {
	for name, test := range map[string]struct {
		options install.DeleteOptions
		back    int
	}{
		"runs on":  {install.DeleteOptions{}, 0},
		"returned": {install.DeleteOptions{ReturnToPool: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, desired, log := poolStage(t)
			if result, _ := s.run(t, desired, nil); result.Verdict != model.VerdictInstalled {
				t.Fatalf("verdict %s", result.Verdict)
			}
			if err := s.plane(t).DeleteCluster(t.Context(), s.config.Namespace+"/"+desired.Spec.Metadata.Name, test.options); err != nil {
				t.Fatalf("%v (next: %s)", err, model.FaultOf(err).Next)
			}
			if n := log.count(givenBack); n != test.back {
				t.Errorf("%d machines were given back", n)
			}
			end := s.clock.Now().Add(time.Hour)
			for len(s.agents(t)) > test.back && s.clock.Now().Before(end) { // they go a moment after the cluster
				if err := s.clock.Sleep(t.Context(), time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if left := s.agents(t); len(left) != test.back {
				t.Errorf("%d Agents are left", len(left))
			}
		})
	}
}

// The nodes of a cluster keep running when another client deletes its ClusterDeployment.
func TestDeletedByOthers(t *testing.T) {
	s, desired, log := poolStage(t)
	if result, _ := s.run(t, desired, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	deployments := s.admin.Resource(hubapi.Resource(hubapi.KindClusterDeployment)).Namespace(s.config.Namespace)
	if err := deployments.Delete(t.Context(), desired.Spec.Metadata.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for end := s.clock.Now().Add(time.Hour); len(s.agents(t)) > 0 && s.clock.Now().Before(end); {
		if err := s.clock.Sleep(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if left := s.agents(t); len(left) > 0 || log.count(givenBack) > 0 {
		t.Errorf("%d Agents are left, %d machines were given back", len(left), log.count(givenBack))
	}
}

// Before its installation has begun, the machines of a deleted cluster go back to their
// pool: nothing of them is lost.
func TestDeleteClusterBeforeItsInstall(t *testing.T) {
	s, desired, log := poolStage(t)
	desired.Spec.Spec.Hold = true
	plane := s.plane(t)
	result, err := install.New(plane, install.Config{Clock: s.clock, Timeout: 4 * time.Hour, UserTimeout: 20 * time.Minute}).Run(t.Context(), desired)
	if result.Observed == nil || result.Observed.Cluster == nil || result.Observed.Cluster.State != model.ClusterReady {
		t.Fatalf("it is not ready: %v", err)
	}
	if err := plane.DeleteCluster(t.Context(), s.config.Namespace+"/"+desired.Spec.Metadata.Name, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if left := s.agents(t); len(left) != 1 || log.count(givenBack) != 1 {
		t.Errorf("%d Agents are left, %d were given back", len(left), log.count(givenBack))
	}
}

// An InfraEnv that was made for the cluster is deleted with it: its machines keep running, and there is no pool to
// which they could return.
func TestDeleteClusterOfItsOwnMachines(t *testing.T) {
	for _, bind := range []spec.BindMode{spec.BindEarly, spec.BindLate} {
		t.Run(string(bind), func(t *testing.T) {
			t.Parallel()
			cluster, log := exampleOf(t, "sno"), &told{}
			cluster.Spec.InfraEnv.Bind = bind
			s := newStage(t, cluster, simulated.Config{Hive: true, Webhooks: true, Logf: log.printf})
			if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled {
				t.Fatalf("verdict %s", result.Verdict)
			}
			own := s.config.Namespace + "/" + cluster.Metadata.Name
			if err := s.plane(t).DeleteCluster(t.Context(), own, install.DeleteOptions{ReturnToPool: true}); model.FaultOf(err).Code != model.CodeUsage {
				t.Errorf("returned: %v", err)
			}
			if err := s.plane(t).DeleteCluster(t.Context(), own, install.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if n := log.count(givenBack); n > 0 {
				t.Errorf("%d machines were given back", n)
			}
		})
	}
}

// The node of a host keeps running when its Agent is deleted, unless it is to be removed; if it is not removed, the
// reason is reported.
func TestDeleteHostOfARunningCluster(t *testing.T) {
	for name, test := range map[string]struct {
		options install.DeleteOptions
		removed int
	}{
		"stays":   {install.DeleteOptions{}, 0},
		"removed": {install.DeleteOptions{RemoveNode: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, log := exampleOf(t, "sno"), &told{}
			s := newStage(t, cluster, simulated.Config{Hive: true, Logf: log.printf})
			if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled {
				t.Fatalf("verdict %s", result.Verdict)
			}
			env := s.config.Namespace + "/" + cluster.Metadata.Name
			if err := s.plane(t).DeleteHost(t.Context(), env, s.agents(t)[0].GetName(), test.options); err != nil {
				t.Fatal(err)
			}
			if n := log.count(takenOut); n != test.removed {
				t.Errorf("%d nodes were taken out", n)
			}
		})
	}
}

// An Agent whose node can't be taken out says why, and goes once that is given up.
func TestRemoveHostThatHangs(t *testing.T) {
	cluster, log := exampleOf(t, "sno"), &told{}
	s := newStage(t, cluster, simulated.Config{Hive: true, Logf: log.printf})
	if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	// Until then the operator would put the Secret back.
	s.waitForState(t, "adding-hosts")
	config := cluster.Metadata.Name + "-admin-kubeconfig"
	if err := s.admin.Resource(hubapi.Resource(hubapi.KindSecret)).Namespace(s.config.Namespace).Delete(t.Context(), config, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	agent, why := s.agents(t)[0].GetName(), make(chan string, 100)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	gone := make(chan error, 1)
	env := s.config.Namespace + "/" + cluster.Metadata.Name
	go func() {
		gone <- s.plane(t).DeleteHost(ctx, env, agent, install.DeleteOptions{RemoveNode: true, Report: func(text string) { why <- text }})
	}()
	for text := ""; !strings.Contains(text, config); {
		select {
		case text = <-why:
		case err := <-gone:
			t.Fatalf("it ends with %v; said: %s", err, text)
		}
	}
	plane := s.plane(t)
	if err := plane.DeleteHost(t.Context(), env, agent, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err != nil || log.count(takenOut) > 0 {
		t.Errorf("%v; %d nodes were taken out", err, log.count(takenOut))
	}
}

// waitForState watches the cluster until the service's own word for its state is this.
func (s *stage) waitForState(t *testing.T, state string) {
	t.Helper()
	installs, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgentClusterInstall)).Namespace(s.config.Namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer installs.Stop()
	for event := range installs.ResultChan() {
		if o, ok := event.Object.(*unstructured.Unstructured); ok {
			if now, _, _ := unstructured.NestedString(o.Object, "status", "debugInfo", "state"); now == state {
				return
			}
		}
	}
	t.Fatalf("the cluster was never %s", state)
}

// A host goes back to the pool that it came from, and the service boots it. It is found by the name of its cluster
// alone: the query names no pool.
func TestReturnHost(t *testing.T) {
	s, desired, log := poolStage(t)
	if result, _ := s.run(t, desired, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	plane := s.plane(t)
	query := model.Query{ID: s.config.Namespace + "/" + desired.Spec.Metadata.Name, Name: desired.Spec.Metadata.Name}
	observed, err := plane.Observe(t.Context(), query, nil)
	if err != nil || len(observed.Hosts) != 1 || observed.Hosts[0].Returns != model.ReturnByService || len(observed.InfraEnvs) > 0 {
		t.Fatalf("%+v: %v", observed, err)
	}
	host := observed.Hosts[0]
	if got := s.agentSpec(t)["role"]; got != "master" {
		t.Fatalf("its role is %v", got)
	}
	agents := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace)
	theirs := []byte(`{"spec": {"nodeLabels": {"rack": "r1"}}}`)
	if _, err := agents.Patch(t.Context(), host.ID, types.MergePatchType, theirs, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	err = plane.Act(t.Context(), desired, model.Action{Kind: model.ReturnHost, Target: host.ID, InfraEnv: host.InfraEnvID, Name: host.Hostname, Scope: model.ScopeNode.Of(host.Hostname)})
	if err != nil {
		t.Fatal(err)
	}
	// What the plane sees follows what the service writes: both are waited for.
	state := ""
	for end := s.clock.Now().Add(time.Hour); s.clock.Now().Before(end); {
		state, _, _ = unstructured.NestedString(s.agents(t)[0].Object, "status", "debugInfo", "state")
		if observed, err = plane.Observe(t.Context(), query, nil); err != nil || state == "reclaiming-rebooting" && len(observed.Hosts) > 0 {
			break
		}
		if err := s.clock.Sleep(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil || len(observed.Hosts) != 1 || state != "reclaiming-rebooting" || log.count(givenBack) != 1 {
		t.Fatalf("it is %s; hosts %+v; given back %d times: %v", state, observed.Hosts, log.count(givenBack), err)
	}
	// What was set for the cluster holds for no other one, and what the pool's owner has set stays.
	if got := s.agentSpec(t); got["role"] != "" || fmt.Sprint(got["nodeLabels"]) != "map[rack:r1]" {
		t.Errorf("left in its Agent is %v", got)
	}
	// It is shown as long as the cluster's node is to be left alone, and not as one of the cluster's hosts.
	if h := observed.Hosts[0]; !h.Unbound() || h.State != model.HostReleasing {
		t.Errorf("it is %+v", h)
	}
}
