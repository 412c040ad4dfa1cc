//go:build e2e

package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/teardown"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// A deletion that was interrupted after the ClusterDeployment is completed by the next one.
func TestDeleteGoesOn(t *testing.T) {
	s := newStage(t)
	s.settle()
	if err := s.client(kube.ClusterDeployments).Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("without a ClusterDeployment", func(o *model.Observed) bool { return o.Cluster == nil })
	for run, some := range []bool{true, false} {
		found := 0
		if err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{Found: func() { found++ }}); err != nil {
			t.Fatal(err)
		}
		if found > 0 != some {
			t.Errorf("run %d found %d objects", run, found)
		}
	}
	if list, err := s.client(kube.AgentClusterInstalls).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d are left, %v", len(list.Items), err)
	}
}

// A namespace is deleted with the cluster only if it holds no object of others, of any kind.
func TestNamespaceOfOthersStays(t *testing.T) {
	for name, theirs := range map[string]*unstructured.Unstructured{
		"alone":          nil,
		"ServiceAccount": object("v1", "ServiceAccount", "", "gitops", map[string]any{}),
		"Role":           object("rbac.authorization.k8s.io/v1", "Role", "", "gitops", map[string]any{"rules": []any{}}),
		"ConfigMap":      object("v1", "ConfigMap", "", "notes", map[string]any{}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.settle()
			namespaces := s.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
			label := []byte(`{"metadata":{"labels":{"` + hubapi.LabelCluster + `":"` + s.namespace + `"}}}`)
			if _, err := namespaces.Patch(t.Context(), s.namespace, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if theirs != nil {
				theirs.SetNamespace(s.namespace)
				resource := schema.GroupVersionResource{Group: theirs.GroupVersionKind().Group, Version: "v1", Resource: strings.ToLower(theirs.GetKind()) + "s"}
				if _, err := s.admin.Resource(resource).Namespace(s.namespace).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			u, err := namespaces.Get(t.Context(), s.namespace, metav1.GetOptions{})
			going := apierrors.IsNotFound(err) || err == nil && u.GetDeletionTimestamp() != nil
			if going != (theirs == nil) {
				t.Errorf("it goes: %v, %v", going, err)
			}
		})
	}
}

// An InfraEnv is deleted with the networks that were made for it, and with no others.
func TestInfraEnvGoesWithItsNetworks(t *testing.T) {
	s := newStage(t)
	s.desired.Spec = parseCluster(t, strings.Replace(fmt.Sprintf(clusterText, s.namespace), "labels: {rack: a}", "net: {ip: 192.168.127.20/24, gateway: 192.168.127.1, dns: [192.168.127.1]}", 1))
	s.settle()
	for name, labels := range map[string]map[string]string{
		"theirs": {"rack": "a"}, "another": {hubapi.LabelCluster: s.namespace, hubapi.LabelInfraEnv: "another"}, "others": {hubapi.LabelCluster: "others", hubapi.LabelInfraEnv: s.namespace},
	} {
		u := object("agent-install.openshift.io/v1beta1", hubapi.KindNMStateConfig, s.namespace, name, map[string]any{"spec": map[string]any{
			"interfaces": []any{map[string]any{"name": "eno1", "macAddress": "52:54:00:00:00:09"}},
		}})
		u.SetLabels(labels)
		if _, err := s.client(kube.NMStateConfigs).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.until("all networks", func(*model.Observed) bool {
		return len(s.plane.api.Watching(s.namespace).Store(kube.NMStateConfigs).All()) == 4
	})
	if err := s.plane.DeleteInfraEnv(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := s.client(kube.NMStateConfigs).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for i := range list.Items {
		left = append(left, list.Items[i].GetName())
	}
	if want := []string{"another", "others", "theirs"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, and should be %q", left, want)
	}
}

// The machines of a cluster that runs are taken from the bare metal operator before
// they are deleted there, so that it leaves them on; those of an install that is
// given up are the operator's to switch off.
func TestDeleteLeavesMachinesOn(t *testing.T) {
	for name, installed := range map[string]bool{"installed": true, "given up": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.settle()
			if _, err := s.client(kube.ClusterDeployments).Patch(t.Context(), s.namespace, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"installed":%t}}`, installed), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			machine := object("metal3.io/v1alpha1", "BareMetalHost", s.namespace, "metal", map[string]any{"spec": map[string]any{"online": true}})
			machine.SetLabels(map[string]string{hubapi.LabelCluster: s.namespace})
			machine.SetFinalizers([]string{"metal3.io/test"})
			if _, err := s.client(kube.BareMetalHosts).Create(t.Context(), machine, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			s.until("the machine", func(*model.Observed) bool {
				at := s.plane.api.Watching(s.namespace)
				deployment := at.Store(kube.ClusterDeployments).Get(s.namespace)
				is, found, _ := unstructured.NestedBool(deployment.Object, "spec", "installed")
				return found && is == installed && at.Store(kube.BareMetalHosts).Get("metal") != nil
			})
			deleted := make(chan error, 1)
			go func() {
				deleted <- s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{})
			}()
			s.until("its deletion", func(*model.Observed) bool {
				u := s.plane.api.Watching(s.namespace).Store(kube.BareMetalHosts).Get("metal")
				return u.GetDeletionTimestamp() != nil
			})
			if detached := s.get(kube.BareMetalHosts, "metal").GetAnnotations()[hubapi.AnnotationBMHDetached] != ""; detached != installed {
				t.Errorf("detached: %v", detached)
			}
			if _, err := s.client(kube.BareMetalHosts).Patch(t.Context(), "metal", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := <-deleted; err != nil {
				t.Error(err)
			}
		})
	}
}

// An object that the service changes meanwhile is released in its newest version.
func TestLetGoOfWhatChanges(t *testing.T) {
	s := newStage(t)
	s.settle()
	before := s.get(kube.InfraEnvs, s.namespace)
	if _, err := s.client(kube.InfraEnvs).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"annotations":{"the":"service"}}}`), metav1.PatchOptions{FieldManager: "service"}); err != nil {
		t.Fatal(err)
	}
	w := &teardown.Deleter{Writer: kube.Writer{Client: s.plane.api, Namespace: s.plane.api.Watching(s.namespace), Cluster: s.namespace}}
	if err := w.ReleaseObject(t.Context(), kube.InfraEnvs, before); err != nil {
		t.Fatal(err)
	}
	after := s.get(kube.InfraEnvs, s.namespace)
	if kube.AppliedEntry(after) >= 0 || after.GetLabels()[hubapi.LabelCluster] != "" || after.GetAnnotations()["the"] != "service" {
		t.Errorf("left: %v, %v, %+v", after.GetLabels(), after.GetAnnotations(), after.GetManagedFields())
	}
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

// finalizers sets those of an object of the cluster's name, none if there is none.
func (s *stage) finalizers(k kube.Kind, list string) {
	s.Helper()
	if _, err := s.client(k).Patch(s.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"finalizers":[`+list+`]}}`), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

const deprovision = "hive.openshift.io/deprovision"

// A cluster with a deletion that waits for its AgentClusterInstall is listed, found by name, reported by an
// observation, and deleted to its end by the next deletion.
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
	// Where there is no garbage collector, no other component deletes it.
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
	if _, err := s.plane.Observe(t.Context(), s.query(), nil); !errors.Is(err, install.ErrDeleting) || !strings.Contains(err.Error(), deprovision) || !strings.Contains(model.FaultOf(err).Next.String(), "oaictl delete cluster "+own) {
		t.Errorf("observed: %v (next: %s)", err, model.FaultOf(err).Next)
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

// empty checks that no object carries the cluster's label.
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
		if ref, err := s.plane.ClusterLeft(t.Context(), text); model.FaultOf(err).Code != model.CodeNotFound {
			t.Errorf("%s: %+v, %v", text, ref, err)
		}
	}
	if err := s.plane.DeleteCluster(t.Context(), own, install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.empty()
	if ref, err := s.plane.ClusterLeft(t.Context(), s.namespace); model.FaultOf(err).Code != model.CodeNotFound {
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

// What was released, or never was oaictl's, is not deleted.
func TestDeleteOfWhatIsNotOurs(t *testing.T) {
	s := newStage(t)
	s.settle()
	own := s.namespace + "/" + s.namespace
	if err := s.plane.ReleaseCluster(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	s.calls.take()
	err := s.plane.DeleteCluster(t.Context(), own, install.DeleteOptions{})
	if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(model.FaultOf(err).Next.String(), "--adopt "+own) || !strings.Contains(model.FaultOf(err).Next.String(), "kubectl delete clusterdeployment -n "+s.namespace) {
		t.Errorf("got %v (next: %s)", err, model.FaultOf(err).Next)
	}
	if writes, _ := s.calls.take(); len(writes) > 0 {
		t.Errorf("it writes %v", writes)
	}
}

// A protected cluster is there, and is not deleted.
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
	if model.FaultOf(err).Code != model.CodeFailure || !strings.Contains(model.FaultOf(err).Next.String(), "hive.openshift.io/protected-delete-") {
		t.Errorf("got %v (next: %s)", err, model.FaultOf(err).Next)
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

// A namespace that oaictl made is deleted with the cluster, also where it is not named after it.
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

// labelNamespace labels the namespace as one that was made for the cluster.
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

// A finalizer that stays is reported with the controller that owns it.
func TestDeleteThatHangs(t *testing.T) {
	s := newStage(t)
	s.plane.api.Clock = clock.Scaled(1200)
	s.settle()
	if _, err := s.client(kube.AgentClusterInstalls).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"finalizers":["agentclusterinstall.agent-install.openshift.io/ai-deprovision"]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace, install.DeleteOptions{})
	if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "the assisted-service is down") {
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

	// A user who names it may take it over again.
	s.desired.Options.Adopt = s.namespace + "/" + s.namespace
	if done := s.settle(); !slices.Equal(done, []string{"UpdateCluster", "UploadManifest", "UploadManifest"}) {
		t.Errorf("adopting does %v", done)
	}
	s.desired.Options.Adopt = ""
	if o := s.observe(); o.Cluster == nil || !o.Cluster.Owned {
		t.Errorf("adopted: %+v", o.Cluster)
	}
}
