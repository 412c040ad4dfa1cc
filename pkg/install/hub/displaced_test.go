//go:build e2e

package hub

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// What somebody else makes between our look and our apply is theirs, and what
// they put into the place of ours as well: nothing is merged into it.
func TestAppliesToWhatItLookedAt(t *testing.T) {
	for name, test := range map[string]struct {
		ours, theirs, again bool
		code                model.Code
		says                string
	}{
		"made by others meanwhile": {theirs: true, code: model.CodeNotFound, says: "oaictl did not make"},
		"made anew by others":      {ours: true, theirs: true, code: model.CodeNotFound, says: "oaictl did not make"},
		"made by another run":      {again: true, code: model.CodeFailure, says: "just now"},
		"deleted by others":        {ours: true, code: model.CodeFailure, says: "just now"},
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
				if live, err = send(nil, "before"); err != nil {
					t.Fatal(err)
				}
				if err := s.client(kube.ConfigMaps).Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if test.theirs {
				u := object("v1", "ConfigMap", s.namespace, "settings", map[string]any{"data": map[string]any{"b": "theirs"}})
				if _, err := s.client(kube.ConfigMaps).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if test.again {
				if _, err := send(nil, "another run's"); err != nil {
					t.Fatal(err)
				}
			}
			_, err = send(live, "ours")
			if model.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
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
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if writes, _ := s.calls.take(); len(writes) == 1 {
		t.Log("they came one after the other")
	}
}

// A webhook that refuses with a conflict, and a field that another manager owns,
// say nothing of which object it is.
