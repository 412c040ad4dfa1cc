//go:build e2e

package hub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

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

// with are the notes that say all of some words.
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

// finalizers sets those of an object of the cluster's name, none if there is none.
func (s *stage) finalizers(k kube.Kind, list string) {
	s.Helper()
	if _, err := s.client(k).Patch(s.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"finalizers":[`+list+`]}}`), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

const deprovision = "hive.openshift.io/deprovision"

// A cluster whose deletion hangs behind its AgentClusterInstall is listed, found by
// name, told of by an observation, and deleted to its end by the next deletion.
func TestClusterThatIsBeingDeleted(t *testing.T) {
	s := newStage(t)
	s.settle()
	own := s.namespace + "/" + s.namespace
	s.finalizers(kube.ClusterDeployments, `"`+deprovision+`"`)
	s.plane.api.Clock = clock.Scaled(60)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := &noted{}
	go func() {
		told.await(t, "waiting for", "ClusterDeployment "+s.namespace, deprovision)
		s.eventually("the end of the AgentClusterInstall", func() bool {
			list, err := s.client(kube.AgentClusterInstalls).List(ctx, metav1.ListOptions{})
			return err == nil && len(list.Items) == 0
		})
		stop()
	}()
	// Where there is no garbage collector, nobody else does.
	if err := s.client(kube.AgentClusterInstalls).Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.plane.DeleteCluster(ctx, own, install.DeleteOptions{Report: told.note}); !errors.Is(err, context.Canceled) {
		t.Fatalf("ends with %v", err)
	}
	if len(told.with("stopped while", "ClusterDeployment "+s.namespace, deprovision, "Hive's operator")) != 1 {
		t.Errorf("on its end it tells %q", told.all)
	}

	// What a later process sees.
	s.plane = s.newPlane(Config{Kube: server.Start(t).Config, Namespace: s.namespace})
	if _, err := s.plane.Observe(t.Context(), s.query(), nil); !errors.Is(err, install.ErrDeleting) || !strings.Contains(err.Error(), deprovision) || !strings.Contains(model.NextOf(err).String(), "oaictl delete cluster "+own) {
		t.Errorf("observed: %v (next: %s)", err, model.NextOf(err))
	}
	list, err := s.plane.ListClusters(t.Context())
	if err != nil || len(list) != 1 || list[0].State != model.ClusterDeleting || !strings.Contains(list[0].StatusInfo, deprovision) {
		t.Errorf("listed: %+v, %v", list, err)
	}
	ref, err := s.plane.ClusterLeft(t.Context(), s.namespace)
	if err != nil || ref.ID != own || ref.Status != "Deleting" || !ref.Owned {
		t.Errorf("found: %+v, %v", ref, err)
	}
	s.finalizers(kube.ClusterDeployments, "")
	if err := s.plane.DeleteCluster(t.Context(), ref.ID, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.empty()
}

// eventually polls until something is so.
func (s *stage) eventually(what string, so func() bool) {
	for range 2000 {
		if so() {
			return
		}
		if clock.Real().Sleep(s.Context(), 10*time.Millisecond) != nil {
			return
		}
	}
	s.Errorf("not so after a while: %s", what)
}

// empty checks that nothing carries the cluster's label.
func (s *stage) empty() {
	s.Helper()
	for _, k := range append(kube.Watched(), kube.Secrets) {
		if list, err := s.client(k).List(s.Context(), metav1.ListOptions{LabelSelector: hubapi.LabelCluster}); err != nil || len(list.Items) > 0 {
			s.Errorf("%s: %d are left, %v", k.Resource().Resource, len(list.Items), err)
		}
	}
}

// What carries the label of a cluster whose ClusterDeployment is gone is found by its
// name, and by no other.
func TestLeftWithoutClusterDeployment(t *testing.T) {
	s := newStage(t)
	s.settle()
	if err := s.client(kube.ClusterDeployments).Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("without a ClusterDeployment", func(o *model.Observed) bool { return o.Cluster == nil })
	own := s.namespace + "/" + s.namespace
	for _, text := range []string{s.namespace, own} {
		ref, err := s.plane.ClusterLeft(t.Context(), text)
		if err != nil || ref.ID != own || !strings.Contains(ref.Status, "InfraEnv") || !strings.Contains(ref.Status, "Secret") {
			t.Errorf("%s: %+v, %v", text, ref, err)
		}
	}
	for _, text := range []string{"nobody", "not a name!", s.namespace + "/nobody"} {
		if ref, err := s.plane.ClusterLeft(t.Context(), text); model.CodeOf(err) != model.CodeNotFound {
			t.Errorf("%s: %+v, %v", text, ref, err)
		}
	}
	if err := s.plane.DeleteCluster(t.Context(), own, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.empty()
	if ref, err := s.plane.ClusterLeft(t.Context(), s.namespace); model.CodeOf(err) != model.CodeNotFound {
		t.Errorf("when all is gone: %+v, %v", ref, err)
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

// What was let go of, or never was oaictl's, is not deleted.
func TestDeleteOfWhatIsNotOurs(t *testing.T) {
	s := newStage(t)
	s.settle()
	own := s.namespace + "/" + s.namespace
	if err := s.plane.ReleaseCluster(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	s.calls.take()
	err := s.plane.DeleteCluster(t.Context(), own, install.DeleteOptions{})
	if model.CodeOf(err) != model.CodeNotFound || !strings.Contains(model.NextOf(err).String(), "--adopt "+own) || !strings.Contains(model.NextOf(err).String(), "kubectl delete clusterdeployment -n "+s.namespace) {
		t.Errorf("got %v (next: %s)", err, model.NextOf(err))
	}
	if writes, _ := s.calls.take(); len(writes) > 0 {
		t.Errorf("it writes %v", writes)
	}
}

// What somebody has protected is there, and is not deleted.
func TestDeleteOfWhatIsProtected(t *testing.T) {
	s := newStage(t)
	s.settle()
	if _, err := s.client(kube.ClusterDeployments).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"annotations":{"hive.openshift.io/protected-delete":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("protected", func(*model.Observed) bool {
		return s.plane.api.Watching(s.namespace).Store(kube.ClusterDeployments).Get(s.namespace).GetAnnotations()[hubapi.AnnotationProtectedDelete] != ""
	})
	s.calls.take()
	err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{})
	if model.CodeOf(err) != model.CodeFailure || !strings.Contains(model.NextOf(err).String(), "hive.openshift.io/protected-delete-") {
		t.Errorf("got %v (next: %s)", err, model.NextOf(err))
	}
	if writes, _ := s.calls.take(); len(writes) > 0 {
		t.Errorf("it writes %v", writes)
	}
}

// What stays at the end is named with why.
func TestNotesOfWhatStays(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*stage)
		says    []string
	}{
		"a namespace of somebody else": {func(*stage) {}, []string{"stays", "oaictl did not make it"}},
		"a namespace with something else": {func(s *stage) {
			s.labelNamespace()
			put := object("v1", "ConfigMap", s.namespace, "notes", map[string]any{})
			if _, err := s.client(kube.ConfigMaps).Create(s.Context(), put, metav1.CreateOptions{}); err != nil {
				s.Fatal(err)
			}
		}, []string{"stays", "ConfigMap notes"}},
		"an InfraEnv without the label": {func(s *stage) {
			if _, err := s.client(kube.InfraEnvs).Patch(s.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+hubapi.LabelCluster+`":null}}}`), metav1.PatchOptions{}); err != nil {
				s.Fatal(err)
			}
			s.eventually("no label", func() bool {
				return s.plane.api.Watching(s.namespace).Store(kube.InfraEnvs).Get(s.namespace).GetLabels()[hubapi.LabelCluster] == ""
			})
		}, []string{"did not make", "InfraEnv "}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.settle()
			test.prepare(s)
			told := &noted{}
			if err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{Report: told.note}); err != nil {
				t.Fatal(err)
			}
			if len(told.with(test.says...)) != 1 {
				t.Errorf("told %q", told.all)
			}
		})
	}
}

// A namespace that oaictl made goes with the cluster, also where it is not named after it.
func TestNamespaceOfAnotherName(t *testing.T) {
	s := newStage(t)
	name := s.namespace
	s.namespace = name + "-place"
	s.plane = s.newPlane(Config{Kube: server.Start(t).Config, Namespace: s.namespace})
	s.settle()
	told := &noted{}
	if err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+name, install.DeleteOptions{Report: told.note}); err != nil {
		t.Fatal(err)
	}
	left, err := s.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(t.Context(), s.namespace, metav1.GetOptions{})
	if stays := told.with("stays"); len(stays) > 0 || err == nil && left.GetDeletionTimestamp() == nil {
		t.Errorf("told %q; the namespace: %v (%v)", told.all, left, err)
	}
}

// labelNamespace has the namespace be one that was made for the cluster.
func (s *stage) labelNamespace() {
	s.Helper()
	label := []byte(`{"metadata":{"labels":{"` + hubapi.LabelCluster + `":"` + s.namespace + `"}}}`)
	if _, err := s.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Patch(s.Context(), s.namespace, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

// A namespace that is being deleted says itself what of its content holds it.
func TestTerminatingNamespaceNamesWhatHoldsIt(t *testing.T) {
	now := metav1.Now()
	of := func(conditions ...any) *unstructured.Unstructured {
		u := object("v1", hubapi.KindNamespace, "", "lab", map[string]any{
			"spec": map[string]any{"finalizers": []any{"kubernetes"}}, "status": map[string]any{"phase": "Terminating", "conditions": conditions},
		})
		u.SetDeletionTimestamp(&now)
		return u
	}
	condition := func(kind, status, message string) any {
		return map[string]any{"type": kind, "status": status, "message": message}
	}
	err := kube.DeletingFault(of(
		condition("NamespaceDeletionDiscoveryFailure", "False", "All resources successfully discovered"),
		condition("NamespaceContentRemaining", "True", "Some resources are remaining: configmaps. has 1 resource instances"),
		condition("NamespaceFinalizersRemaining", "True", "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"),
	))
	for _, words := range []string{"configmaps.", "example.com/hold"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("no %q in %v", words, err)
		}
	}
	if strings.Contains(err.Error(), "discovered") || strings.Contains(err.Error(), "nothing") {
		t.Errorf("got %v", err)
	}
	if err := kube.DeletingFault(of()); strings.Contains(err.Error(), "nothing") {
		t.Errorf("got %v", err)
	}
}
