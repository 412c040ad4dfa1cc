//go:build e2e

package hub

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
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

// The InfraEnv that a host has to itself has what that says of it, its pull secret in a Secret of
// its own; a change goes to its field, and the pull secret again only if it is asked for.
func TestInfraEnvOfOneHost(t *testing.T) {
	const ownSecret, another = `{"auths":{"rack-a":{"auth":"YTpi"}}}`, `{"auths":{"rack-a":{"auth":"Yzpk"}}}`
	s := newStage(t)
	hosts := s.desired.Spec.Spec.Hosts
	hosts[0].Match = spec.Match{InfraEnv: "own-env"}
	hosts[0].Discovery = &spec.HostDiscovery{
		PullSecret: spec.NewSecret(ownSecret).Source(), KernelArgs: []string{"rack=a"}, Proxy: &spec.Proxy{HTTP: "http://rack-a:3128"}, NTP: []string{"rack-a"}, Image: spec.ImageMinimal,
	}
	hosts[1].Match = spec.Match{InfraEnv: "theirs-env"}
	hosts[1].Discovery = &spec.HostDiscovery{PullSecret: spec.Source{SecretRef: &spec.SecretRef{Name: "theirs"}}}
	s.settle()
	secret := s.namespace + "-" + hosts[0].Name + "-pull-secret"
	if text, err := kube.SecretValue(s.get(kube.Secrets, secret), hubapi.KeyPullSecret); err != nil || string(text) != ownSecret {
		t.Errorf("pull secret %q, %v", text, err)
	}
	for env, want := range map[string]struct{ secret, proxy, image string }{
		s.namespace:  {s.namespace + "-pull-secret", "http://proxy.example.com:3128", ""},
		"own-env":    {secret, "http://rack-a:3128", "minimal-iso"},
		"theirs-env": {"theirs", "http://proxy.example.com:3128", ""},
	} {
		u := s.get(kube.InfraEnvs, env)
		at := func(path ...string) string {
			text, _, _ := unstructured.NestedString(u.Object, append([]string{"spec"}, path...)...)
			return text
		}
		if at("pullSecretRef", "name") != want.secret || at("proxy", "httpProxy") != want.proxy || at("imageType") != want.image {
			t.Errorf("%s: %v", env, u.Object["spec"])
		}
	}
	if again := s.settle(); len(again) > 0 {
		t.Errorf("a second run does %v", again)
	}
	s.calls.take()
	hosts[0].Discovery.KernelArgs = []string{"rack=b"}
	s.settle()
	s.wantWrites("infraenvs/own-env")
	hosts[0].Discovery.PullSecret = spec.NewSecret(another).Source()
	if again := s.settle(); len(again) > 0 {
		t.Errorf("a pull secret that nobody asked to send again: %v", again)
	}
	resend := model.Action{Kind: model.UpdateInfraEnv, Name: "own-env", Settings: model.Settings{model.SettingPullSecret: model.ValueOf("resend")}}
	if err := s.plane.Act(t.Context(), s.desired, resend); err != nil {
		t.Fatal(err)
	}
	s.wantWrites("secrets/" + "C-" + hosts[0].Name + "-pull-secret")
}
