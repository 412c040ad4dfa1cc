//go:build e2e

package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/teardown"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// A deletion that was broken off behind the ClusterDeployment is brought to its
// end by the next one.
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

// A namespace goes with the cluster only if nothing of others is in it, of whatever
// kind.
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

// An InfraEnv goes with the networks that were made for it, and with no others.
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

// What the service writes to meanwhile is let go of as it is then.
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
