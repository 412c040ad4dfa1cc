//go:build e2e

package hub

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Labels that are passed on to nodes are not in the image, and no machine has to
// boot anew for them. What is applied later neither loses them nor brings back
// those that went, and a label that is another's as well stays.
func TestNodeLabels(t *testing.T) {
	s := newStage(t)
	hub := &s.desired.Spec.Spec.Hub
	hub.NodeLabels = map[string]string{"example.com/site": "north", "example.com/row": "1", "example.com/hall": "a"}
	s.settle()
	s.imageReady()
	for i := range 4 {
		s.boots(i)
	}
	s.says("insufficient")
	o := s.until("hosts", func(o *model.Observed) bool { return len(o.Hosts) == 4 && o.Cluster.Status == "insufficient" })
	s.settle()
	s.another(kube.InfraEnvs, `{"metadata":{"labels":{"example.com/hall":"b"}}}`)
	s.until("the other's label", func(o *model.Observed) bool {
		return strings.Contains(string(o.InfraEnvs[0].Settings[model.SettingNodeLabels]), `"b"`)
	})
	last := slices.MaxFunc(o.Hosts, func(a, b model.Host) int { return a.Registered.Compare(b.Registered) })
	s.eventually("the next second: times on a hub have no parts of it", func() bool { return time.Now().Unix() > last.Registered.Unix() })
	labels := func(want, keys string) {
		t.Helper()
		live := s.get(kube.InfraEnvs, s.namespace)
		var got []string
		for key, value := range live.GetLabels() {
			if name, is := strings.CutPrefix(key, "example.com/"); is {
				got = append(got, name+"="+value)
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want || live.GetAnnotations()[hubapi.AnnotationPropagateNodeLabels] != keys || live.GetLabels()[hubapi.LabelCluster] != s.namespace {
			t.Errorf("labels %v, annotations %v, want %q and %q", live.GetLabels(), live.GetAnnotations(), want, keys)
		}
	}
	update := func(want ...string) {
		t.Helper()
		if done := s.settle(); !slices.Equal(done, want) {
			t.Errorf("done %v, want %v", done, want)
		}
	}
	hub.NodeLabels = map[string]string{"example.com/site": "south"}
	update("UpdateInfraEnv")
	labels("hall=b site=south", "example.com/site")
	o = s.observe()
	for _, wait := range install.Decide(s.desired, o, model.Memory{}, o.At).Waits {
		if strings.HasSuffix(wait.Key, "/new-image") {
			t.Errorf("waits for %s", wait.For)
		}
	}
	s.desired.Options.Reimage = true
	s.desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS1"}
	update("UpdateInfraEnv")
	labels("hall=b site=south", "example.com/site")
	s.desired.Spec.Spec.Discovery.KernelArgs, hub.NodeLabels = []string{}, map[string]string{"example.com/site": "west", "example.com/row": ""}
	update("UpdateInfraEnv")
	labels("hall=b row= site=west", "example.com/row,example.com/site")
	hub.NodeLabels = map[string]string{}
	update("UpdateInfraEnv")
	labels("hall=b", "")
	s.desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	update("UpdateInfraEnv")
	labels("hall=b", "")
}

// What a node inherits from an InfraEnv, whoever made that, is neither taken away
// nor written as the host's own.
func TestInheritedNodeLabels(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	name := s.boots(0)
	s.says("insufficient")
	s.until("the host", func(o *model.Observed) bool { return len(o.Hosts) == 1 && o.Cluster.Status == "insufficient" })
	s.settle()
	inherits := `{"metadata":{"annotations":{"agent.agent-install.openshift.io/inherited-node-labels":"example.com/row,example.com/site"}},"spec":{"nodeLabels":{"example.com/site":"north","example.com/row":"1"}}}`
	if _, err := s.client(kube.Agents).Patch(t.Context(), name, types.MergePatchType, []byte(inherits), metav1.PatchOptions{FieldManager: "assisted-service"}); err != nil {
		t.Fatal(err)
	}
	s.until("its labels", func(o *model.Observed) bool { return o.Hosts[0].Inherited["example.com/site"] == "north" })
	for _, test := range []struct {
		labels map[string]string // of the host in the file
		writes int
		want   map[string]string
	}{
		{map[string]string{"rack": "a"}, 0, map[string]string{"rack": "a", "example.com/site": "north", "example.com/row": "1"}},
		{map[string]string{"store": "2"}, 1, map[string]string{"store": "2", "example.com/site": "north", "example.com/row": "1"}},
		{map[string]string{"store": "2", "example.com/site": "north"}, 0, map[string]string{"store": "2", "example.com/site": "north", "example.com/row": "1"}},
		{map[string]string{}, 1, map[string]string{"example.com/site": "north", "example.com/row": "1"}},
	} {
		s.calls.take()
		s.desired.Spec.Spec.Hosts[0].Labels = test.labels
		s.settle()
		if writes, _ := s.calls.take(); len(writes) != test.writes {
			t.Errorf("for %v it writes %v", test.labels, writes)
		}
		got, _, _ := unstructured.NestedStringMap(s.get(kube.Agents, name).Object, "spec", "nodeLabels")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("for %v (-want +got):\n%s", test.labels, diff)
		}
	}
}

// A role or a name that somebody else gives a host is not taken back in silence: it is
// named, with who set it, and stays. What the service filled in, and what oaictl wrote
// itself, is nobody else's.
func TestContestedAgent(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	name := s.boots(0)
	s.says("insufficient")
	s.until("the host", func(o *model.Observed) bool { return len(o.Hosts) == 1 && o.Cluster.Status == "insufficient" })
	s.settle()
	if hostname, _, _ := unstructured.NestedString(s.get(kube.Agents, name).Object, "spec", "hostname"); hostname != "cp-0" {
		t.Fatalf("the host is named %q", hostname)
	}
	if _, err := s.client(kube.Agents).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"hostname":"theirs"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	o := s.until("their name", func(o *model.Observed) bool { return o.Hosts[0].Settings[model.SettingHostname].Text() == "theirs" })
	var refused error
	for _, action := range install.Decide(s.desired, o, model.Memory{}, o.At).Actions {
		if action.Kind == model.UpdateHost {
			refused = s.plane.Act(t.Context(), s.desired, action)
		}
	}
	if model.CodeOf(refused) != model.CodeNotFound || !strings.Contains(refused.Error(), `spec.hostname (theirs) is owned by kubectl-edit`) {
		t.Errorf("their name: %v", refused)
	}
	if hostname, _, _ := unstructured.NestedString(s.get(kube.Agents, name).Object, "spec", "hostname"); hostname != "theirs" {
		t.Errorf("their name was overwritten with %q", hostname)
	}
	if err := checkFieldOwners(s.get(kube.Agents, name), map[string]any{"role": "worker", "approved": true}); err != nil {
		t.Errorf("our own fields: %v", err)
	}
}
