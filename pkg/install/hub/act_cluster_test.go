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

// Whatever of the objects to be made somebody else has made already: it is found out
// before anything is written.
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
			if _, err := s.client(test.kind).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
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
				if asked := twice(reads); asked != "" {
					t.Errorf("asks twice for %s", asked)
				}
				return
			}
			if model.CodeOf(err) != model.CodeNotFound || !strings.Contains(err.Error(), string(test.kind)) || !strings.Contains(err.Error(), hubapi.LabelCluster) {
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
