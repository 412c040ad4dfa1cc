//go:build e2e

package hub

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// nodesOf is a file of kind Nodes with one host, completed with its cluster.
func nodesOf(t *testing.T, cluster string, host spec.Host) *spec.Cluster {
	t.Helper()
	n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: cluster, Hosts: []spec.Host{host}}}
	n.Spec.Network.Defaults = spec.NetworkDefaults{Gateway: "192.168.127.1", DNS: []string{"192.168.127.1"}}
	c, err := n.Resolve(t.Context(), ".", spec.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.AddedTo(spec.Target{Name: cluster, BaseDomain: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestNodesLeaveNetworksOfOthers: the networks of machines that a file of kind Nodes does
// not name stay, and one of its own goes when the file has it no more.
func TestNodesLeaveNetworksOfOthers(t *testing.T) {
	s := newStage(t)
	text := strings.Replace(fullText, "name: lab", "name: "+s.namespace, 1)
	text = strings.Replace(text, `, releaseImage: "quay.io/ocp/release:4.20.3-x86_64"`, "", 1)
	s.desired.Spec = parseCluster(t, text)
	s.settle()
	names := func() string {
		t.Helper()
		list, err := s.client(kube.NMStateConfigs).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, u := range list.Items {
			names = append(names, strings.TrimPrefix(u.GetName(), s.namespace+"-"))
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	before := names()
	act := func(net *spec.HostNet) {
		t.Helper()
		s.desired.Spec = nodesOf(t, s.namespace, spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:05:05"}, Net: net})
		update := model.Action{
			Key: "update", Kind: model.UpdateInfraEnv, Name: s.namespace, Target: kube.ID(s.namespace, s.namespace),
			Settings: model.Settings{model.SettingStaticNetworks: model.ValueOf([]string{})},
		}
		if err := s.plane.Act(t.Context(), s.desired, update); err != nil {
			t.Fatal(err)
		}
	}
	act(&spec.HostNet{IP: "192.168.127.55/24"})
	if got := names(); before == "" || got != before+" w-5" {
		t.Errorf("networks %q, before %q", got, before)
	}
	s.observe()
	act(nil)
	if got := names(); got != before {
		t.Errorf("networks %q, before %q", got, before)
	}
}
