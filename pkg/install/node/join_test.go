//go:build e2e

package node_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// server is the API server of all tests of this package.
var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

const (
	speed     = 100
	clusterID = "5a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d11"
)

// stage is an installed cluster to which hosts are added: a service that says that they are
// installed, and an API server that plays the cluster.
type stage struct {
	t     *testing.T
	kube  *kubetest.Cluster
	spoke *spoke.Spoke
	clock clock.Clock
	dir   string

	mu     sync.Mutex
	hosts  []model.Host
	events []model.Event
	calls  []install.Call
	file   []spec.Host
	data   []byte // the kubeconfig
	refuse error  // of reading it
}

func newStage(t *testing.T, change func(*spoke.Config)) *stage {
	t.Helper()
	s := &stage{t: t, kube: server.Start(t), clock: clock.Scaled(speed), dir: t.TempDir()}
	config := spoke.Config{Kube: s.kube.Config, Clock: s.clock, Logf: t.Logf, Cluster: spoke.Cluster{
		Name: "lab", BaseDomain: "example.com", ID: clusterID, MachineNetworks: []string{"192.168.127.0/24"},
		ControlPlane: []spoke.Node{at("cp-0", "192.168.127.10"), at("cp-1", "192.168.127.11"), at("cp-2", "192.168.127.12")},
	}}
	if change != nil {
		change(&config)
	}
	s.spoke = must.Get(spoke.New(config))(t)
	s.clear()
	s.tidy()
	must.Do(t, s.spoke.SetUp(t.Context()))
	s.beside(func(ctx context.Context) { _ = s.spoke.Run(ctx) })
	s.data = kubeconfigOf(t, s.kube.Config)
	return s
}

func at(name, address string) spoke.Node {
	return spoke.Node{Name: name, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
}

// clear removes what an earlier test has left.
func (s *stage) clear() {
	ctx, all := s.t.Context(), metav1.DeleteOptions{}
	for _, err := range []error{
		s.kube.Client.CoreV1().Nodes().DeleteCollection(ctx, all, metav1.ListOptions{}),
		s.kube.Client.CertificatesV1().CertificateSigningRequests().DeleteCollection(ctx, all, metav1.ListOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
	}
}

// tidy takes what an earlier test has left out of the way: the cluster is created again.
func (s *stage) tidy() {
	s.t.Helper()
	ctx, all := s.t.Context(), metav1.ListOptions{}
	now := int64(0)
	at := metav1.DeleteOptions{GracePeriodSeconds: &now}
	for _, space := range []string{"default", "openshift-etcd", "openshift-ingress"} {
		for _, err := range []error{
			s.kube.Client.CoreV1().Pods(space).DeleteCollection(ctx, at, all), s.kube.Client.PolicyV1().PodDisruptionBudgets(space).DeleteCollection(ctx, at, all),
			s.kube.Client.AppsV1().DaemonSets(space).DeleteCollection(ctx, at, all), s.kube.Client.AppsV1().ReplicaSets(space).DeleteCollection(ctx, at, all),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				s.t.Fatal(err)
			}
		}
	}
	objects := must.Get(dynamic.NewForConfig(s.kube.Config))(s.t)
	for _, of := range []schema.GroupVersionResource{
		resource("machine.openshift.io", "v1beta1", "machinesets"), resource("machine.openshift.io", "v1beta1", "machines"),
		resource("metal3.io", "v1alpha1", "baremetalhosts"), resource("config.openshift.io", "v1", "clusterversions"),
	} {
		list, err := objects.Resource(of).List(ctx, all)
		if apierrors.IsNotFound(err) {
			continue // the first test
		}
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			own := objects.Resource(of).Namespace(u.GetNamespace())
			_, err := own.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err := errors.Join(err, own.Delete(ctx, u.GetName(), at)); err != nil && !apierrors.IsNotFound(err) {
				s.t.Fatal(err)
			}
		}
	}
}

// beside does something beside the test, until its end.
func (s *stage) beside(do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	stop = func() { cancel(); running.Wait() }
	s.t.Cleanup(stop)
	return stop
}

// host has the service say that a host was installed, and the file name it.
func (s *stage) host(name, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.hosts = append(s.hosts, model.Host{
		ID: "id-" + name, Hostname: name, Day2: true, State: model.HostAdded, Status: "added-to-existing-cluster", Role: spec.Worker,
		Since: now, Rebooted: now, Progress: model.HostProgress{Stage: "Done"}, Settings: model.Settings{},
		Inventory: model.Inventory{Known: true, Hostname: name, UUID: "uuid-" + name, Interfaces: []model.Interface{{Addresses: []string{address + "/24"}}}},
	})
	s.file = append(s.file, spec.Host{Name: name, Hostname: name, Role: spec.Worker, Match: spec.Match{UUID: "uuid-" + name}})
}

// boot is the host's machine booting its disk.
func (s *stage) boot(name, address string) (off func()) {
	m := spoke.Machine{Hostname: name, UUID: "uuid-" + name, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
	return s.beside(func(ctx context.Context) { _ = s.spoke.Join(ctx, m) })
}

// Observe is of install.Service: the hosts are installed, and nothing else is to be done.
func (s *stage) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &model.Observed{
		At: s.clock.Now(), Hosts: slices.Clone(s.hosts),
		Cluster: &model.Cluster{
			ClusterRef: model.ClusterRef{ID: "cluster-1", Name: "lab", BaseDomain: "example.com", Owned: true},
			State:      model.ClusterAddingHosts, OpenShiftID: clusterID, Settings: model.Settings{},
		},
	}, nil
}

// Act is of install.Service.
func (s *stage) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	return errors.New("the service is asked to " + string(a.Kind))
}

// Credential is of install.Service.
func (s *stage) Credential(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("the service has no credentials")
}

func (s *stage) desired(change func(*model.Desired)) *model.Desired {
	s.mu.Lock()
	defer s.mu.Unlock()
	three, workers := 3, len(s.file)
	c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}, Spec: spec.ClusterSpec{BaseDomain: "example.com", Hosts: s.file, Import: &spec.Import{ClusterID: clusterID}}}
	c.Spec.Topology.ControlPlane, c.Spec.Topology.Workers = &three, &workers
	d := &model.Desired{Spec: c, Options: model.Options{AddNodes: true, Unattended: true}}
	if change != nil {
		change(d)
	}
	return d
}

func (s *stage) plane() *node.Plane {
	p := node.New(node.Config{
		Clock: s.clock,
		Kubeconfig: func(context.Context, model.ClusterRef) ([]byte, string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.data, "kubeconfig", s.refuse
		},
		Log: func(c install.Call) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls = append(s.calls, c)
		},
	})
	s.t.Cleanup(p.Close)
	return p
}

// run adds the hosts, for some real time at most.
func (s *stage) run(desired *model.Desired, within time.Duration, options ...install.Config) (install.Result, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	options = append([]install.Config{
		{Nodes: s.plane(), Clock: s.clock, Files: install.Directory(s.dir), Timeout: -1, UserTimeout: -1,
			Events: func(e model.Event) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.events = append(s.events, e)
				s.t.Logf("%s %s %s %s", e.Type, e.Key, e.State, e.Message)
			}},
	}, options...)
	return install.New(s, options...).Run(ctx, desired)
}

// auditLine is what the tests look at in a line of the record of decisions.
type auditLine struct {
	Cluster, Request, Node, Host, Decision, By, Reason, Message, UID, Key string

	Kind model.RequestKind
	Time time.Time
}

func (s *stage) audit() []auditLine {
	s.t.Helper()
	file, err := os.Open(filepath.Join(s.dir, "lab", "csr-audit.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		s.t.Errorf("the audit is %v, %v", info.Mode(), err)
	}
	var lines []auditLine
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var line auditLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			s.t.Fatalf("%s: %v", scanner.Text(), err)
		}
		lines = append(lines, line)
	}
	return lines
}

func kubeconfigOf(t testing.TB, config *rest.Config) []byte {
	t.Helper()
	out := clientcmdapi.NewConfig()
	out.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}
	out.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	out.CurrentContext = "x"
	return must.Get(clientcmd.Write(*out))(t)
}

// TestJoins: hosts become nodes that take work, by two approvals each, which are written down.
func TestJoins(t *testing.T) {
	s := newStage(t, nil)
	s.host("w-0", "192.168.127.20")
	s.host("w-1", "192.168.127.21")
	s.boot("w-0", "192.168.127.20")
	s.boot("w-1", "192.168.127.21")
	result, err := s.run(s.desired(func(d *model.Desired) {
		d.Spec.Spec.Hosts[0].Labels = map[string]string{"rack": "7"}
		d.Spec.Spec.Hosts[0].Taints = []spec.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}}
		d.Spec.Spec.Hosts[0].ProviderID = "metal3://lab/w-0"
	}), time.Minute)
	if err != nil {
		t.Fatalf("%v; %+v", err, result.Plan.Waits)
	}
	check.Slice(t, result.Plan.Ready, []string{"w-0", "w-1"}, "ready")
	w0 := must.Get(s.kube.Client.CoreV1().Nodes().Get(t.Context(), "w-0", metav1.GetOptions{}))(t)
	tainted := slices.ContainsFunc(w0.Spec.Taints, func(x corev1.Taint) bool { return x.Key == "gpu" && x.Value == "yes" })
	if w0.Labels["rack"] != "7" || !tainted || w0.Spec.ProviderID != "metal3://lab/w-0" {
		t.Errorf("labels %v, taints %v, provider id %s", w0.Labels, w0.Spec.Taints, w0.Spec.ProviderID)
	}
	approved := map[string]int{}
	for _, line := range s.audit() {
		if line.Decision != "approve" || line.By != "oaictl" || line.Cluster != "lab" || line.Time.IsZero() || line.Key == "" {
			t.Errorf("%+v", line)
		}
		approved[line.Host+" "+string(line.Kind)]++
	}
	for _, want := range []string{"w-0 client", "w-0 serving", "w-1 client", "w-1 serving"} {
		if approved[want] != 1 || len(approved) != 4 {
			t.Errorf("approved %v", approved)
		}
	}
}

// TestOtherCluster: with another cluster's kubeconfig nothing is approved, and the run says
// whose it is.
func TestOtherCluster(t *testing.T) {
	s := newStage(t, func(c *spoke.Config) { c.Cluster.ID = "00000000-0000-4000-8000-000000000000" })
	s.host("w-0", "192.168.127.20")
	s.boot("w-0", "192.168.127.20")
	_, err := s.run(s.desired(nil), time.Minute)
	if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "is for another cluster") {
		t.Errorf("got %v", err)
	}
	if audit := s.audit(); len(audit) > 0 {
		t.Errorf("audit %+v", audit)
	}
}

// polls is how often it was read what is not watched.
func (s *stage) polls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := 0
	for _, c := range s.calls {
		if strings.Contains(c.URL, "/clusterversions/") {
			asked++
		}
	}
	return asked
}

// TestAway: an API server that is away is waited for, and what was seen before stays.
func TestAway(t *testing.T) {
	s := newStage(t, nil)
	s.host("w-0", "192.168.127.20")
	p := s.plane()
	observed := must.Get(s.Observe(t.Context(), model.Query{}, nil))(t)
	seen, err := p.Observe(t.Context(), nil, observed)
	if err != nil || seen.Trouble != "" || len(seen.Nodes) != 3 || seen.ID != clusterID || len(seen.Pools) == 0 || len(seen.Operators) == 0 || seen.Version == "" {
		t.Fatalf("%+v, %v", seen, err)
	}
	s.kube.Down(t)
	for range 50 {
		must.Do(t, s.clock.Sleep(t.Context(), 15*time.Second))
		if seen, err = p.Observe(t.Context(), nil, observed); err != nil || seen.Trouble != "" {
			break
		}
	}
	if err != nil || seen.TroubleKind != model.TroubleUnreachable || len(seen.Nodes) != 3 || seen.Since.IsZero() {
		t.Errorf("away: %+v, %v", seen, err)
	}
	asked := s.polls()
	for range 3 { // as many do at once that share what is seen
		check.Equal(t, must.Get(p.Observe(t.Context(), nil, observed))(t).Trouble, seen.Trouble, "at once")
	}
	if now := s.polls(); now != asked {
		t.Errorf("it is asked %d times at once although it is away", now-asked)
	}
	s.kube.Up(t)
	for range 200 {
		if seen, err = p.Observe(t.Context(), nil, observed); err != nil || seen.Trouble == "" {
			break
		}
		must.Do(t, s.clock.Sleep(t.Context(), 15*time.Second))
	}
	if err != nil || seen.Trouble != "" || len(seen.Nodes) != 3 {
		t.Errorf("back: %+v, %v", seen, err)
	}
}

// TestNoAccess is what is said where the cluster cannot be read for good.
func TestNoAccess(t *testing.T) {
	s := newStage(t, nil)
	observed := must.Get(s.Observe(t.Context(), model.Query{}, nil))(t)
	good := s.data
	for name, test := range map[string]struct {
		data   []byte
		refuse error
		kind   model.TroubleKind
	}{
		"none":        {nil, errors.New("no file"), model.TroubleNoKubeconfig},
		"junk":        {[]byte("\x00junk"), nil, model.TroubleNoKubeconfig},
		"empty":       {[]byte("{}"), nil, model.TroubleNoKubeconfig},
		"credentials": {kubeconfigOf(t, &rest.Config{Host: s.kube.Config.Host, BearerToken: "wrong", TLSClientConfig: rest.TLSClientConfig{CAData: s.kube.Config.CAData}}), nil, model.TroubleCredentials},
		"other CA":    {kubeconfigOf(t, &rest.Config{Host: s.kube.Config.Host, BearerToken: "x"}), nil, model.TroubleCredentials},
	} {
		t.Run(name, func(t *testing.T) {
			s.data, s.refuse = test.data, test.refuse
			p := s.plane()
			seen, err := p.Observe(t.Context(), nil, observed)
			if err != nil || seen.TroubleKind != test.kind || seen.Trouble == "" {
				t.Errorf("got %+v, %v", seen, err)
			}
			if strings.Contains(seen.Trouble, "wrong") {
				t.Errorf("the token is in %s", seen.Trouble)
			}
			s.data, s.refuse = good, nil
			for range 20 {
				if seen, err = p.Observe(t.Context(), nil, observed); err != nil || seen.Trouble == "" {
					break
				}
				must.Do(t, s.clock.Sleep(t.Context(), 10*time.Second))
			}
			if err != nil || seen.Trouble != "" {
				t.Errorf("with a good one: %+v, %v", seen, err)
			}
		})
	}
}
