package hub

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/fake"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

func infraEnvIn(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(kube.InfraEnvs.Resource().GroupVersion().WithKind(string(kube.InfraEnvs)))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// TestFollowedListsAskNothing lists again and again, what is there and what comes
// and goes: after the first list nothing is asked of the API server.
func TestFollowedListsAskNothing(t *testing.T) {
	p, _ := filledPlane(t, "elsewhere", infraEnvIn("a", "lab"), infraEnvIn("b", "lab"))
	client := p.api.Dynamic.(*fake.FakeDynamicClient)
	asked := func() (lists int) {
		for _, action := range client.Actions() {
			if action.GetVerb() == "list" || action.GetVerb() == "get" {
				lists++
			}
		}
		return lists
	}
	ids := func() (ids []string) {
		t.Helper()
		envs := must.Get(p.ListInfraEnvs(t.Context(), ""))(t)
		for _, env := range envs {
			ids = append(ids, env.ID)
		}
		return ids
	}
	p.Follow()
	if got := ids(); len(got) != 2 {
		t.Fatalf("got %v, want those of both namespaces", got)
	}
	before := asked()
	await := func(want int) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); len(ids()) != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("got %v, want %d", ids(), want)
			}
		}
	}
	in := client.Resource(kube.InfraEnvs.Resource()).Namespace("b")
	must.Get(in.Create(t.Context(), infraEnvIn("b", "more"), metav1.CreateOptions{}))(t)
	await(3)
	must.Do(t, in.Delete(t.Context(), "lab", metav1.DeleteOptions{}))
	await(2)
	check.Do(t, check.Err(p.InfraEnvByNameOrID(t.Context(), "a/lab")))
	if after := asked(); after != before {
		t.Errorf("%d lists or gets beside the first %d", after-before, before)
	}
}

// TestFollowedListsAreThoseOfTheNamespace has a plane for one namespace follow
// that one only.
func TestFollowedListsAreThoseOfTheNamespace(t *testing.T) {
	p, _ := filledPlane(t, "elsewhere", infraEnvIn("a", "lab"), infraEnvIn("b", "lab"))
	p.api.Namespace = "b"
	p.Follow()
	envs, err := p.ListInfraEnvs(t.Context(), "")
	if err != nil || len(envs) != 1 || envs[0].ID != "b/lab" {
		t.Errorf("got %v, %v", envs, err)
	}
	for _, action := range p.api.Dynamic.(*fake.FakeDynamicClient).Actions() {
		if action.GetNamespace() != "b" {
			t.Errorf("%s of namespace %q", action.GetVerb(), action.GetNamespace())
		}
	}
}
