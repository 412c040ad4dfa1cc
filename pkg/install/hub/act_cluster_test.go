//go:build e2e

package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// If another client has already made one of the objects to be made, that is found out before anything is written.
func TestNothingIsWrittenBesideOthers(t *testing.T) {
	infraEnv := func(s *stage, spec map[string]any) *unstructured.Unstructured {
		spec["pullSecretRef"] = map[string]any{"name": "theirs"}
		return object("agent-install.openshift.io/v1beta1", "InfraEnv", s.namespace, s.namespace, map[string]any{"spec": spec})
	}
	for name, test := range map[string]struct {
		kind  kube.Kind
		make  func(*stage) *unstructured.Unstructured
		metal bool
		ok    bool
	}{
		"BareMetalHost": {kind: kube.BareMetalHosts, metal: true, make: func(s *stage) *unstructured.Unstructured {
			return object("metal3.io/v1alpha1", "BareMetalHost", s.namespace, "cp-1", map[string]any{"spec": map[string]any{"online": true, "bootMACAddress": "52:54:00:77:77:77"}})
		}},
		"BareMetalHost of the machine": {kind: kube.BareMetalHosts, metal: true, ok: true, make: func(s *stage) *unstructured.Unstructured {
			return object("metal3.io/v1alpha1", "BareMetalHost", s.namespace, "cp-1", map[string]any{"spec": map[string]any{"online": true, "bootMACAddress": "52:54:00:00:00:01"}})
		}},
		"InfraEnv": {kind: kube.InfraEnvs, make: func(s *stage) *unstructured.Unstructured { return infraEnv(s, map[string]any{}) }},
		"InfraEnv of the cluster": {kind: kube.InfraEnvs, ok: true, make: func(s *stage) *unstructured.Unstructured {
			return infraEnv(s, map[string]any{"clusterRef": map[string]any{"name": s.namespace, "namespace": s.namespace}})
		}},
		"Secret": {kind: kube.Secrets, make: func(s *stage) *unstructured.Unstructured {
			return object("v1", "Secret", s.namespace, s.namespace+"-pull-secret", map[string]any{})
		}},
		"ConfigMap": {kind: kube.ConfigMaps, make: func(s *stage) *unstructured.Unstructured {
			return object("v1", "ConfigMap", s.namespace, s.namespace+"-manifests", map[string]any{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if test.metal {
				s.desired.Spec = metal3Hosts(t, s.namespace, "cp-0", "cp-1", "cp-2", "w-0")
			}
			s.observe() // so that the kinds are watched
			theirs := test.make(s)
			must.Get(s.client(test.kind).Create(t.Context(), theirs, metav1.CreateOptions{}))(t)
			if _, watched := s.plane.api.Watching(s.namespace).Stores[test.kind]; watched && test.kind.Selector() == "" {
				s.eventually("the object", func() bool {
					return s.plane.api.Watching(s.namespace).Store(test.kind).Get(theirs.GetName()) != nil
				})
			}
			s.calls.take()
			register := model.Action{Kind: model.RegisterCluster, Scope: "cluster", Name: s.namespace, Settings: model.Settings{}}
			err := s.plane.Act(t.Context(), s.desired, register)
			writes, reads := s.calls.take()
			if test.ok {
				if err != nil || len(writes) == 0 {
					t.Errorf("%v; writes %v", err, writes)
				}
				check.Equal(t, twice(reads), "", "asks twice for")
				return
			}
			if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), string(test.kind)) || !strings.Contains(err.Error(), hubapi.LabelCluster) {
				t.Errorf("ends with %v", err)
			}
			if len(writes) > 0 {
				t.Errorf("writes %v", writes)
			}
		})
	}
}

// twice is what is among texts more than once.
func twice(texts []string) string {
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			return text
		}
		seen[text] = true
	}
	return ""
}

// An object that another client makes between our read and our apply belongs to that client, and so does one that
// replaces ours: nothing is merged into it.
func TestAppliesToWhatItLookedAt(t *testing.T) {
	for name, test := range map[string]struct {
		ours, theirs, again bool
		code                model.Code
		says                string
	}{
		"made by others meanwhile": {theirs: true, code: model.CodeNotFound, says: "oaictl did not make"},
		"made anew by others":      {ours: true, theirs: true, code: model.CodeNotFound, says: "oaictl did not make"},
		"made by another run":      {again: true, code: model.CodeFailure, says: "has just created or deleted it"},
		"deleted by others":        {ours: true, code: model.CodeFailure, says: "has just created or deleted it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.observe()
			w := &kube.Writer{Client: s.plane.api, Namespace: s.plane.api.Watching(s.namespace), Cluster: s.namespace}
			want := object("v1", "ConfigMap", s.namespace, "settings", map[string]any{"data": map[string]any{"a": "ours"}})
			want.SetLabels(map[string]string{hubapi.LabelCluster: s.namespace})
			send := func(live *unstructured.Unstructured, value string) (*unstructured.Unstructured, error) {
				next := want.DeepCopy()
				next.Object["data"] = map[string]any{"a": value}
				return w.Apply(t.Context(), kube.ConfigMaps, live, next)
			}
			var live *unstructured.Unstructured
			var err error
			if test.ours {
				live = must.Get(send(nil, "before"))(t)
				must.Do(t, s.client(kube.ConfigMaps).Delete(t.Context(), "settings", metav1.DeleteOptions{}))
			}
			if test.theirs {
				u := object("v1", "ConfigMap", s.namespace, "settings", map[string]any{"data": map[string]any{"b": "theirs"}})
				must.Get(s.client(kube.ConfigMaps).Create(t.Context(), u, metav1.CreateOptions{}))(t)
			}
			if test.again {
				must.Get(send(nil, "another run's"))(t)
			}
			_, err = send(live, "ours")
			if model.FaultOf(err).Code != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
			left, err := s.client(kube.ConfigMaps).Get(t.Context(), "settings", metav1.GetOptions{})
			if !test.theirs && !test.again {
				if err == nil {
					t.Errorf("made anew: %v", left.Object)
				}
				return
			}
			if data, _, _ := unstructured.NestedString(left.Object, "data", "a"); err != nil || data == "ours" || test.theirs && left.GetLabels()[hubapi.LabelCluster] != "" {
				t.Errorf("it was merged into: %v, %v", left.Object, err)
			}
		})
	}
}

// What several actions need is made by whichever comes first, and is nothing to
// fail at for the others.
func TestSeveralMakeTheSame(t *testing.T) {
	s := newStage(t)
	s.observe()
	want := object("v1", "ConfigMap", s.namespace, s.namespace+"-mirrors", map[string]any{"data": map[string]any{"registries.conf": "x"}})
	want.SetLabels(map[string]string{hubapi.LabelCluster: s.namespace})
	failed := make(chan error, 8)
	for range cap(failed) {
		go func() {
			w := &kube.Writer{Client: s.plane.api, Namespace: s.plane.api.Watching(s.namespace), Cluster: s.namespace}
			_, err := w.ApplyObject(t.Context(), want)
			failed <- err
		}()
	}
	for range cap(failed) {
		check.Do(t, <-failed)
	}
	if writes, _ := s.calls.take(); len(writes) == 1 {
		t.Log("they came one after the other")
	}
}

const (
	twoManifests = `  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
`
	start = "StartInstall"
)

// Manifests are those of the file when the install begins: what it does not name
// any more has gone, from our ConfigMaps and from what the service looks into;
// what others put there stays.
func TestManifestsThatTheFileDropped(t *testing.T) {
	for name, test := range map[string]struct {
		manifests string // of the file, later
		kinds     []model.Kind
		want      map[string][]string // ConfigMap without the cluster's name: manifests
	}{
		"as before": {twoManifests, []model.Kind{start}, map[string][]string{"openshift": {"50-x.yaml"}, "manifests": {"60-y.yaml", "theirs.yaml"}}},
		"one less": {`  manifests: [{name: 60-y.yaml, content: "c: d\n"}]` + "\n", []model.Kind{start},
			map[string][]string{"manifests": {"60-y.yaml", "theirs.yaml"}}},
		"moved": {`  manifests: [{name: 50-x.yaml, content: "a: b\n"}, {name: 60-y.yaml, content: "c: d\n"}]` + "\n", []model.Kind{model.UploadManifest},
			map[string][]string{"manifests": {"50-x.yaml", "60-y.yaml", "theirs.yaml"}}},
		"another one": {`  manifests: [{name: 70-z.yaml, content: "c: d\n"}]` + "\n", []model.Kind{model.UploadManifest},
			map[string][]string{"manifests": {"70-z.yaml", "theirs.yaml"}}},
		"none":         {"  manifests: []\n", []model.Kind{start}, map[string][]string{"manifests": {"theirs.yaml"}}},
		"nothing said": {"", []model.Kind{start}, map[string][]string{"openshift": {"50-x.yaml"}, "manifests": {"60-y.yaml", "theirs.yaml"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.settle()
			theirs := []byte(`{"data":{"theirs.yaml":"e: f\n"}}`)
			must.Get(s.client(kube.ConfigMaps).Patch(t.Context(), s.namespace+"-manifests", types.MergePatchType, theirs, metav1.PatchOptions{FieldManager: "argocd"}))(t)
			s.until("the other's manifest", func(o *model.Observed) bool { return o.Cluster.Manifests["manifests/theirs.yaml"] != "" })
			text := strings.Replace(fmt.Sprintf(clusterText, s.namespace), twoManifests, test.manifests, 1)
			s.desired.Spec = parseCluster(t, text)
			for _, kind := range test.kinds {
				action := model.Action{Kind: kind, Target: s.namespace + "/" + s.namespace}
				if files := s.desired.Spec.ManifestFiles(); kind == model.UploadManifest {
					action.Name = string(files[0].Folder) + "/" + files[0].Name
				}
				must.Do(t, s.plane.Act(t.Context(), s.desired, action))
			}
			s.wantManifests(test.want)
		})
	}
}

// wantManifests compares the ConfigMaps of manifests, and which of them the AgentClusterInstall refers to.
func (s *stage) wantManifests(want map[string][]string) {
	s.Helper()
	list := must.Get(s.client(kube.ConfigMaps).List(s.Context(), metav1.ListOptions{}))(s)
	got := map[string][]string{}
	for _, u := range list.Items {
		if name, ours := strings.CutPrefix(u.GetName(), s.namespace+"-"); ours {
			data, _, _ := unstructured.NestedStringMap(u.Object, "data")
			for manifest := range data {
				got[name] = append(got[name], manifest)
			}
			slices.Sort(got[name])
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("there is %v, want %v", got, want)
	}
	refs, _, _ := unstructured.NestedSlice(s.get(kube.AgentClusterInstalls, s.namespace).Object, "spec", "manifestsConfigMapRefs")
	for _, ref := range refs {
		name, _ := ref.(map[string]any)["name"].(string)
		if want[strings.TrimPrefix(name, s.namespace+"-")] == nil {
			s.Errorf("the service is told of %s", name)
		}
	}
	check.Equal(s, len(refs), len(want), "the service is told of")
}
