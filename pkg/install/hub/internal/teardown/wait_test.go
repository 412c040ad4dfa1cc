package teardown

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const hiveFinalizer = "hive.openshift.io/deprovision"

// watched is a deleter of the cluster lab on a client whose stores the test fills.
func watched(t *testing.T) (*Deleter, *kube.Namespace) {
	t.Helper()
	lists, served := map[schema.GroupVersionResource]string{}, map[kube.Kind]bool{}
	for _, k := range kube.Known() {
		lists[k.Resource()], served[k] = string(k)+"List", true
	}
	client, err := kube.New(&rest.Config{Host: "https://hub.example.com:6443"}, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Served, client.Dynamic = served, fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	t.Cleanup(client.Close)
	at := kube.NewNamespace(&hubapi.Texts{}, "lab", kube.Watched()...)
	for _, s := range at.Stores {
		if err := s.Replace(nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	client.Namespaces["lab"] = at
	return &Deleter{Writer: kube.Writer{Client: client, Namespace: at, Cluster: "lab"}}, at
}

// put has a watch bring objects.
func put(t *testing.T, at *kube.Namespace, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		if err := at.Stores[kube.Kind(u.GetKind())].Update(u); err != nil {
			t.Fatal(err)
		}
	}
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace("lab")
	u.SetName(name)
	u.SetResourceVersion("1")
	return u
}

func agent() *unstructured.Unstructured {
	return object(hubapi.GroupAgentInstall+"/v1beta1", hubapi.KindAgent, "00000000-0000-0000-0000-000000000000")
}

// noted gathers notes.
type noted struct {
	mu  sync.Mutex
	all []string
}

func (n *noted) note(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

// with are the reports that contain all of some words.
func (n *noted) with(words ...string) (found []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range n.all {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, text)
		}
	}
	return found
}

// An Agent that takes the name of a deleted one is another object, and the deleted one counts as gone.
func TestGoneByIdentity(t *testing.T) {
	w, at := watched(t)
	w.Clock = clock.Scaled(6000)
	before, again := agent(), agent()
	before.SetUID(types.UID("first"))
	again.SetUID(types.UID("second"))
	put(t, at, again)
	if err := w.gone(t.Context(), before); err != nil {
		t.Errorf("the one before: %v", err)
	}
	if err := w.gone(t.Context(), again); model.FaultOf(err).Code != model.CodeTimeout {
		t.Errorf("the one that is there: %v", err)
	}
}

// If the hub stops answering during a deletion, the error says why, and blames no controller.
func TestGoneUnheard(t *testing.T) {
	for name, test := range map[string]struct {
		failing error
		code    model.Code
		says    string
	}{
		"taken away": {apierrors.NewForbidden(schema.GroupResource{Resource: "agents"}, "", errors.New("no")), model.CodeAuth, "may not watch agents"},
		"out":        {errors.New("connection refused"), model.CodeFailure, "connection refused"},
	} {
		w, at := watched(t)
		w.Clock = clock.Scaled(6000)
		u := agent()
		put(t, at, u)
		at.Store(kube.Agents).Fail(test.failing)
		err := w.gone(t.Context(), u)
		if model.FaultOf(err).Code != test.code || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A wait is reported after some seconds, again when it waits for something else, and not again while it is the same.
func TestNotesOfAWait(t *testing.T) {
	w, at := watched(t)
	w.Clock = clock.Scaled(600)
	first := object(hubapi.GroupHive+"/v1", hubapi.KindClusterDeployment, "lab")
	first.SetUID("one")
	second := object(hubapi.GroupAgentInstall+"/v1beta1", hubapi.KindInfraEnv, "lab")
	second.SetUID("two")
	now := metav1.Now()
	for u, finalizer := range map[*unstructured.Unstructured]string{first: hiveFinalizer, second: "infraenv.agent-install.openshift.io/ai-deprovision"} {
		u.SetFinalizers([]string{finalizer})
		u.SetDeletionTimestamp(&now)
	}
	put(t, at, first, second)
	told := &noted{}
	w.Report = told.note
	done := make(chan error, 1)
	go func() {
		done <- w.gone(t.Context(), first, second)
	}()
	told.await(t, "ClusterDeployment lab, held by the finalizer "+hiveFinalizer+" (of Hive's operator)", "InfraEnv lab", "(of the assisted-service)")
	began := w.Clock.Now()
	for w.Clock.Now().Sub(began) < 3*reportInterval {
		if err := w.Clock.Sleep(t.Context(), reportInterval); err != nil {
			t.Fatal(err)
		}
	}
	if len(told.with("waiting for")) != 1 {
		t.Errorf("while nothing changes: %q", told.all)
	}
	if err := at.Store(kube.InfraEnvs).Delete(second); err != nil {
		t.Fatal(err)
	}
	told.await(t, "waiting for ClusterDeployment lab, held by the finalizer "+hiveFinalizer)
	if len(told.with("InfraEnv")) != 1 {
		t.Errorf("in all: %q", told.all)
	}
	if err := at.Store(kube.ClusterDeployments).Delete(first); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// await waits for a note.
func (n *noted) await(t *testing.T, words ...string) {
	t.Helper()
	for range 2000 {
		if len(n.with(words...)) > 0 {
			return
		}
		if err := clock.Real().Sleep(t.Context(), 10*time.Millisecond); err != nil {
			return
		}
	}
	t.Errorf("no note of %q: %q", words, n.all)
}

// Many objects that the same finalizer holds are reported together.
func TestHeldTogether(t *testing.T) {
	var left []*unstructured.Unstructured
	now := metav1.Now()
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		u := object(hubapi.GroupAgentInstall+"/v1beta1", hubapi.KindAgent, name)
		u.SetDeletionTimestamp(&now)
		u.SetFinalizers([]string{"agent.agent-install.openshift.io/ai-deprovision"})
		left = append(left, u)
	}
	got := held(left, " (of %s)")
	if want := []string{"Agent a, b, c, d, e, 2 more, held by the finalizer agent.agent-install.openshift.io/ai-deprovision (of the assisted-service)"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestDeletedOnce: what is being deleted already is not deleted again, however often a
// controller comes back to it.
func TestDeletedOnce(t *testing.T) {
	w, at := watched(t)
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": map[string]any{"namespace": "lab", "name": "a"}}}
	put(t, at, u)
	requests := func() int { return len(w.Dynamic.(*fake.FakeDynamicClient).Actions()) }
	for _, deleted := range []bool{false, true} {
		before := requests()
		if deleted {
			now := metav1.Now()
			u.SetDeletionTimestamp(&now)
		}
		if err := w.Delete(t.Context(), kube.Agents, u); err != nil {
			t.Fatal(err)
		}
		if asked := requests() > before; asked == deleted {
			t.Errorf("being deleted %v: asked to delete it %v", deleted, asked)
		}
	}
}

// TestStuckAdvice shows how to take finalizers off what stays, and of what is not being
// deleted it does not.
func TestStuckAdvice(t *testing.T) {
	now := metav1.Now()
	stays := &unstructured.Unstructured{Object: map[string]any{"kind": "InfraEnv", "metadata": map[string]any{"namespace": "lab", "name": "env", "finalizers": []any{"infraenv.agent-install.openshift.io/ai-deprovision"}}}}
	stays.SetDeletionTimestamp(&now)
	other := &unstructured.Unstructured{Object: map[string]any{"kind": "AgentClusterInstall", "metadata": map[string]any{"namespace": "lab", "name": "lab", "finalizers": []any{"x"}}}}
	next := stuckFault([]*unstructured.Unstructured{stays, other}).Next.String()
	if !strings.Contains(next, `kubectl patch infraenv -n lab env --type merge -p '{"metadata":{"finalizers":null}}'`) || strings.Contains(next, "agentclusterinstall") {
		t.Error(next)
	}
}
