//go:build e2e

package hub

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// badWorld is a hub on which an install cannot succeed, and what is reported then.
type badWorld struct {
	operator hubsim.Config
	// prepare is done before the run.
	prepare func(*testing.T, *site)
	strike  func(request *http.Request) *http.Response
	code    model.Code
	says    []string
}

func badWorlds() map[string]badWorld {
	of := func(kind schema.GroupVersionResource, make func(*site) *unstructured.Unstructured) func(*testing.T, *site) {
		return func(t *testing.T, x *site) { x.asSomebody(t, kind, make(x)) }
	}
	const agentInstall = hubapi.GroupAgentInstall + "/" + hubapi.VersionAgentInstall
	return map[string]badWorld{
		"no operator": {
			strike: func(r *http.Request) *http.Response {
				if !strings.HasPrefix(r.URL.Path, "/apis/"+agentInstall) {
					return nil
				}
				return refusal(r, http.StatusNotFound, "NotFound", "the server could not find the requested resource", "")
			},
			code: model.CodeFailure, says: []string{"does not serve", "infraenvs.agent-install.openshift.io", "operator is not installed", "multicluster engine"},
		},
		"a webhook that denies": {
			operator: hubsim.Config{Webhooks: true, Trouble: hubsim.Trouble{Deny: []hubsim.Denial{{Kind: hubapi.KindAgentClusterInstall, Operation: "CREATE", Message: "spec.networking.clusterNetwork is not to my liking"}}}},
			code:     model.CodeInput, says: []string{"spec.networking.clusterNetwork is not to my liking", "change the file"},
		},
		"an InfraEnv of somebody else": {
			prepare: of(hubapi.Resource(hubapi.KindInfraEnv), func(x *site) *unstructured.Unstructured {
				return object(agentInstall, hubapi.KindInfraEnv, x.namespace, x.cluster.Metadata.Name, map[string]any{"spec": map[string]any{"pullSecretRef": map[string]any{"name": "theirs"}}})
			}),
			code: model.CodeNotFound, says: []string{"InfraEnv", "oaictl did not make for this cluster", "another metadata.name"},
		},
		"a pull secret of somebody else": {
			prepare: of(hubapi.Resource(hubapi.KindSecret), func(x *site) *unstructured.Unstructured {
				return object("v1", hubapi.KindSecret, x.namespace, x.cluster.Metadata.Name+"-pull-secret", map[string]any{"stringData": map[string]any{"a": "b"}})
			}),
			code: model.CodeNotFound, says: []string{"Secret", "oaictl did not make for this cluster"},
		},
		"a cluster of somebody else": {
			prepare: of(hubapi.Resource(hubapi.KindClusterDeployment), func(x *site) *unstructured.Unstructured {
				return object(hubapi.GroupHive+"/"+hubapi.VersionHive, hubapi.KindClusterDeployment, x.namespace, x.cluster.Metadata.Name, map[string]any{"spec": map[string]any{
					"clusterName": x.cluster.Metadata.Name, "baseDomain": x.cluster.Spec.BaseDomain, "pullSecretRef": map[string]any{"name": "theirs"},
					"platform": map[string]any{"agentBareMetal": map[string]any{"agentSelector": map[string]any{}}}}})
			}),
			code: model.CodeNotFound, says: []string{"--adopt"},
		},
		"a release that the service cannot read": {
			prepare: func(t *testing.T, x *site) {
				set := object(hubapi.GroupHive+"/"+hubapi.VersionHive, hubapi.KindClusterImageSet, "", "broken-"+x.namespace, map[string]any{"spec": map[string]any{"releaseImage": "registry.example.com/no/such@sha256:1111"}})
				if _, err := x.client.Resource(hubapi.Resource(hubapi.KindClusterImageSet)).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = x.client.Resource(hubapi.Resource(hubapi.KindClusterImageSet)).Delete(context.WithoutCancel(t.Context()), set.GetName(), metav1.DeleteOptions{})
				})
				x.cluster.Spec.OpenShift.ImageSet, x.cluster.Spec.OpenShift.Version = set.GetName(), ""
			},
			code: model.CodeBlocked, says: []string{"failed to add release image"},
		},
		"no such ClusterImageSet": {
			prepare: func(_ *testing.T, x *site) { x.cluster.Spec.OpenShift.Version = "4.17" },
			code:    model.CodeInput, says: []string{"no ClusterImageSet is of version 4.17", "img4.20.33-x86-64", "spec.openshift.imageSet"},
		},
	}
}

// TestBadWorlds ends runs that cannot succeed with their word, their exit code and what to do, and touches nothing of
// another owner.
func TestBadWorlds(t *testing.T) {
	for name, test := range badWorlds() {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: fixture.Example(t, "compact"), speed: 2 * speed, operator: test.operator})
			untouched := x.strangers(t)
			if test.operator.Webhooks {
				x.awaitWebhooks(t)
			}
			if test.prepare != nil {
				test.prepare(t, x)
			}
			w := &wire{}
			if test.strike != nil {
				w.strike = func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
					response := test.strike(r)
					return response, nil, response != nil
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
			defer stop()
			a := x.runIn(ctx, t, x.through(t, w), &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, t.TempDir(), install.Config{Timeout: 3 * time.Hour, UserTimeout: 20 * time.Minute})
			if a.trace.Code != int(test.code) {
				t.Errorf("ends with code %d, not %d", a.trace.Code, test.code)
			}
			for _, words := range test.says {
				if !strings.Contains(a.says(), words) {
					t.Errorf("does not say %q", words)
				}
			}
			if t.Failed() {
				t.Logf("%s\n%s", a.says(), a.story())
			}
			untouched()
		})
	}
}

// awaitWebhooks waits until the API server asks the operator's webhooks, which is a
// moment after they are registered: until one of them refuses.
func (x *site) awaitWebhooks(t testing.TB) {
	t.Helper()
	probe := object(hubapi.GroupHiveExtension+"/"+hubapi.VersionHiveExtension, hubapi.KindAgentClusterInstall, x.namespace, "probe", map[string]any{"spec": map[string]any{
		"clusterDeploymentRef": map[string]any{"name": "probe"}, "networking": map[string]any{}, "provisionRequirements": map[string]any{"controlPlaneAgents": int64(1)}}})
	x.eventually(t, "the webhooks", func() bool {
		_, err := x.client.Resource(hubapi.Resource(hubapi.KindAgentClusterInstall)).Namespace(x.namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "denied the request")
	})
}

// eventually polls for a minute.
func (x *site) eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// TestOwnersConflict lets another client set a field that the file says otherwise: the next run names the field and the
// other client, and overwrites nothing.
func TestOwnersConflict(t *testing.T) {
	t.Parallel()
	dark := scene(t, "host-never-boots")
	x := onHub().open(t, setup{cluster: fixture.Example(t, "compact"), speed: 2 * speed, scenario: dark})
	first := x.detach(t)
	if first.err != nil {
		t.Fatal(first.err)
	}
	name := x.cluster.Metadata.Name
	installs := x.client.Resource(hubapi.Resource(hubapi.KindAgentClusterInstall)).Namespace(x.namespace)
	if _, err := installs.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"sshPublicKey":"ssh-ed25519 AAAA theirs"}}`), metav1.PatchOptions{FieldManager: "gitops"}); err != nil {
		t.Fatal(err)
	}
	again := x.detach(t)
	if again.trace.Code != int(model.CodeNotFound) || !strings.Contains(again.says(), "sshPublicKey") || !strings.Contains(again.says(), "gitops") {
		t.Errorf("ends with code %d: %s\n%s", again.trace.Code, again.says(), again.story())
	}
	live, err := installs.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if key, _, _ := unstructured.NestedString(live.Object, "spec", "sshPublicKey"); !strings.Contains(key, "theirs") {
		t.Errorf("their key was overwritten with %q", key)
	}
}

// TestServiceStalls installs on a service that stalls at UnsyncedAgents, and on one
// that fails to take over a spec at first.
func TestServiceStalls(t *testing.T) {
	for name, trouble := range map[string]hubsim.Trouble{"unsynced agents": {UnsyncedAgents: true}, "backend errors": {BackendErrors: 4}} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: fixture.Example(t, "sno"), operator: hubsim.Config{Trouble: trouble, Webhooks: true}})
			x.installs(t, &wire{})
		})
	}
}

// TestTerminatingNamespace waits for a namespace that is being deleted, says so,
// and goes on when it is gone.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	x := onHub().open(t, setup{cluster: fixture.Example(t, "compact"), speed: 2 * speed, absent: true})
	holds := object("v1", "ConfigMap", x.namespace, "holds", nil)
	holds.SetFinalizers([]string{"example.com/hold"})
	if _, err := x.client.Resource(hubapi.Resource(hubapi.KindConfigMap)).Namespace(x.namespace).Create(t.Context(), holds, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spaces := x.client.Resource(hubapi.Resource(hubapi.KindNamespace))
	if err := spaces.Delete(t.Context(), x.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	let := func() {
		if _, err := x.client.Resource(hubapi.Resource(hubapi.KindConfigMap)).Namespace(x.namespace).Patch(t.Context(), "holds", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	x.eventually(t, "what holds the namespace", func() bool {
		u, err := spaces.Get(t.Context(), x.namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return strings.Contains(fmt.Sprint(conditions), "example.com/hold")
	})
	a := x.detach(t)
	if a.err == nil || !strings.Contains(a.says(), x.namespace) || !strings.Contains(a.says(), "deleted") || !strings.Contains(a.says(), "example.com/hold") {
		t.Errorf("ends with code %d: %s", a.trace.Code, a.says())
	}
	let()
	x.eventually(t, "the end of the namespace", func() bool {
		_, err := spaces.Get(t.Context(), x.namespace, metav1.GetOptions{})
		return err != nil
	})
	if a := x.detach(t); a.err != nil {
		t.Errorf("when it is gone: %v\n%s", a.err, a.story())
	}
}

// detach does what needs no waiting.
func (x *site) detach(t testing.TB) *attempt {
	t.Helper()
	a := &attempt{}
	a.result, a.err = install.New(x.plane(t), install.Config{Clock: x.time, Files: install.Directory(t.TempDir()), Events: a.take}).
		Detach(t.Context(), &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}})
	a.trace.Verdict, a.trace.Code = a.result.Verdict, a.result.ExitCode
	return a
}
