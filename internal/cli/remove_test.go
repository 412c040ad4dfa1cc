//go:build e2e

package cli

import (
	"context"
	"encoding/json"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// shrinking is a service with an installed cluster, which forgets hosts, and an API server that plays
// the cluster itself.
type shrinking struct {
	*fake
	clock      clock.Clock
	kubeconfig string
	kube       *kubetest.Cluster
	played     *spoke.Spoke
}

func (s *shrinking) Act(ctx context.Context, d *model.Desired, a model.Action) error {
	if a.Kind == model.RemoveHost {
		s.mu.Lock()
		s.hosts = slices.DeleteFunc(slices.Clone(s.hosts), func(h model.Host) bool { return h.ID == a.Target })
		s.mu.Unlock()
	}
	return s.fake.Act(ctx, d, a)
}

func newShrinking(t *testing.T, edits ...func(*spoke.Cluster)) *shrinking {
	t.Helper()
	const id = "5a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d11"
	s := &shrinking{fake: &fake{}, clock: clock.Scaled(100), kube: kubetest.Start(t), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	at := func(name, address string) spoke.Node {
		return spoke.Node{Name: name, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
	}
	cluster := spoke.Cluster{
		Name: "lab", BaseDomain: "example.com", ID: id, MachineNetworks: []string{"192.168.127.0/24"},
		ControlPlane: []spoke.Node{at("cp-0", "192.168.127.10"), at("cp-1", "192.168.127.11"), at("cp-2", "192.168.127.12")},
		Workers:      []spoke.Node{at("w-0", "192.168.127.20"), at("w-1", "192.168.127.21")},
	}
	for _, edit := range edits {
		edit(&cluster)
	}
	played := must.Get(spoke.New(spoke.Config{Kube: s.kube.Config, Clock: s.clock, Cluster: cluster}))(t)
	s.played = played
	must.Do(t, played.SetUp(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	playing.Go(func() { _ = played.Run(ctx) })
	t.Cleanup(func() { stop(); playing.Wait() })
	out := clientcmdapi.NewConfig()
	out.Clusters["c"] = &clientcmdapi.Cluster{Server: s.kube.Config.Host, CertificateAuthorityData: s.kube.Config.CAData}
	out.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: s.kube.Config.CertData, ClientKeyData: s.kube.Config.KeyData}
	out.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	out.CurrentContext = "x"
	must.Do(t, clientcmd.WriteToFile(*out, s.kubeconfig))
	t.Chdir(t.TempDir()) // what is removed is written down there
	c := model.Cluster{ClusterRef: model.ClusterRef{ID: "c1", Name: "lab", BaseDomain: "example.com", Status: "installed", Owned: true}, State: model.ClusterInstalled, OpenShiftID: id}
	s.clusters = []model.Cluster{c}
	s.infraEnvs = []model.InfraEnv{{ID: "e1", Name: "lab", ClusterID: "c1"}}
	for _, name := range []string{"cp-0", "cp-1", "cp-2", "w-0", "w-1"} {
		s.hosts = append(s.hosts, model.Host{ID: "id-" + name, InfraEnvID: "e1", ClusterID: "c1", Hostname: name, State: model.HostInstalled, Role: spec.Worker})
	}
	return s
}

// run runs a command line; input is what a person types.
func (s *shrinking) run(t *testing.T, input string, line string) outcome {
	t.Helper()
	var out, problems strings.Builder
	io := streams.Streams{In: strings.NewReader(input), Out: &out, Err: &problems, InTTY: input != "", ErrTTY: input != ""}
	a := app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(line)...)), io, streams.Env{"OAICTL_SERVICE_URL": "http://fake", "TERM": "dumb", "HOME": t.TempDir()})
	a.Clock = s.clock
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return s, nil }
	code := execute(t.Context(), a)
	return outcome{code, out.String(), problems.String()}
}

func (s *shrinking) nodes(t *testing.T) string {
	t.Helper()
	list := must.Get(s.kube.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	var all []string
	for _, n := range list.Items {
		name := n.Name
		if n.Spec.Unschedulable {
			name += " (cordoned)"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// TestRemoveNode is what the command says and does, before and after the user has said yes.
func TestRemoveNode(t *testing.T) {
	s := newShrinking(t)
	const all = "cp-0, cp-1, cp-2, w-0, w-1"
	to := " --cluster-kubeconfig " + s.kubeconfig
	for name, test := range map[string]struct {
		line, input string
		code        int
		says        []string
	}{
		"no name":          {"remove-node" + to, "", 2, []string{"needs the NAME of a node"}},
		"two clusters":     {"remove-node w-1 --cluster lab -f x.yaml", "", 2, []string{"--cluster or -f FILE, not both"}},
		"yes to which":     {"remove-node w-1 --yes" + to, "", 2, []string{"--yes needs --cluster NAME or -f FILE"}},
		"selector":         {"remove-node w-1 --pod-selector a==b==c", "", 2, []string{"--pod-selector"}},
		"negative":         {"remove-node w-1 --drain-timeout -1s", "", 2, []string{"never negative"}},
		"nobody to ask":    {"remove-node w-1" + to, "", 2, []string{"DESTRUCTIVE: w-1 leaves lab.example.com:\n  - cordon w-1", "- delete the node w-1", "- delete the service's record of w-1", "becomes a node again", "needs --yes"}},
		"no":               {"remove-node w-1" + to, "n\n", 1, []string{"remove w-1 from lab.example.com? [y/N]", "not confirmed; nothing was done"}},
		"control plane":    {"remove-node cp-1 --yes --cluster lab" + to, "", 3, []string{"etcd would have 2 members, but it needs 3", "replace-node cp-1"}},
		"unknown":          {"remove-node w-7" + to, "", 5, []string{"none of that name", "remove-node w-7 --cluster NAME"}},
		"unknown, named":   {"remove-node w-7 --yes --cluster lab" + to, "", 5, []string{"neither the cluster nor the service has a node or a host w-7"}},
		"no such cluster":  {"remove-node w-1 --yes --cluster other" + to, "", 5, []string{"the service has none of that name or id"}},
		"no kubeconfig":    {"remove-node w-1 --yes --cluster lab --cluster-kubeconfig none", "", 3, []string{"none"}},
		"unreachable":      {"remove-node w-1 --yes --cluster lab --cluster-kubeconfig " + kubeconfigFor(t, "https://127.0.0.1:1"), "", 1, []string{"connection refused"}},
		"dry run":          {"remove-node w-1 --dry-run" + to, "", 0, nil},
		"dry run, refused": {"remove-node cp-1 --dry-run" + to, "", 0, nil},
	} {
		got := s.run(t, test.input, test.line)
		if got.code != test.code {
			t.Errorf("%s: code %d\n%s%s", name, got.code, got.out, got.errors)
		}
		for _, words := range test.says {
			if !strings.Contains(got.errors, words) {
				t.Errorf("%s: %q is not in\n%s", name, words, got.errors)
			}
		}
	}
	if got := s.run(t, "", "remove-node w-1 --dry-run"+to); !strings.Contains(got.out, "DESTRUCTIVE: w-1 leaves lab.example.com:\n  - cordon w-1") {
		t.Errorf("dry run: %s", got.out)
	}
	if got := s.run(t, "", "remove-node cp-1 --dry-run"+to); !strings.Contains(got.out, "In the way:\n  ! without cp-1, etcd would have 2 members") {
		t.Errorf("dry run: %s", got.out)
	}
	var plan output.Plan
	if got := s.run(t, "", "remove-node w-1 --dry-run -o json"+to); json.Unmarshal([]byte(got.out), &plan) != nil || plan.Actions[0].Kind != model.CordonNode || plan.Then[len(plan.Then)-1].Kind != model.RemoveHost {
		t.Errorf("as JSON: %s", got.out)
	}
	s.clusters[0].OpenShiftID = "another"
	if got := s.run(t, "", "remove-node w-1 --yes --cluster lab"+to); got.code != 3 || !strings.Contains(got.errors, "is for another cluster") {
		t.Errorf("another cluster: %d %s", got.code, got.errors)
	}
	s.clusters[0].OpenShiftID = ""
	if is := s.nodes(t); is != all || len(s.calls) > 0 {
		t.Fatalf("nodes %s, calls %v", is, s.calls)
	}
	got := s.run(t, "y\n", "remove-node w-1"+to)
	if is := s.nodes(t); got.code != 0 || is != "cp-0, cp-1, cp-2, w-0" || !slices.Equal(s.calls, []string{"act RemoveHost"}) || !strings.Contains(got.out, "node w-1 removed") {
		t.Errorf("code %d, nodes %s, calls %v\n%s%s", got.code, is, s.calls, got.out, got.errors)
	}
	for _, words := range []string{"cordon the node w-1", "Next: switch w-1 off, or wipe the disk"} {
		if !strings.Contains(got.errors, words) {
			t.Errorf("%q is not in\n%s", words, got.errors)
		}
	}
	s.hosts = s.hosts[:4] // the service has forgotten it
	for line, says := range map[string]string{"w-1": "node w-1 gone already", "w-1 w-0 --dry-run": "w-1 is already removed from lab.example.com"} {
		if got := s.run(t, "", "remove-node --yes --cluster lab "+line+to); got.code != 0 || !strings.Contains(got.out, says) {
			t.Errorf("once more, %s: code %d\n%s%s", line, got.code, got.out, got.errors)
		}
	}
	s.hosts = s.hosts[:3]
	if got := s.run(t, "", "remove-node w-0 --cluster lab --yes --progress json"+to); got.code != 0 || s.nodes(t) != "cp-0, cp-1, cp-2" || !strings.Contains(got.out, `"key":"run/end","state":"installed","severity":"info","message":"removed: w-0`) {
		t.Errorf("code %d, nodes %s\n%s%s", got.code, s.nodes(t), got.out, got.errors)
	}
}
