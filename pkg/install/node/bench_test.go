//go:build e2e

package node_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	benchHosts = 100
	oldOnes    = 5000
)

// BenchmarkApprovals adds 100 hosts at once to a cluster that has 5,000 old requests: how long
// each request waits for its approval, beside a bare call that approves one, how many calls of
// the API server a node costs, and how often all requests are listed.
func BenchmarkApprovals(b *testing.B) {
	kube := server.Start(b)
	oldRequests(b, kube)
	for b.Loop() {
		s := newBenchStage(b, kube)
		bare := s.bareApprovals(20)
		waited, calls, lists := s.addAll()
		slices.Sort(waited)
		median, late := waited[len(waited)/2], waited[len(waited)*99/100]
		b.ReportMetric(milliseconds(bare), "bare-ms")
		b.ReportMetric(milliseconds(median), "median-ms")
		b.ReportMetric(milliseconds(late), "p99-ms")
		b.ReportMetric(float64(late)/float64(bare), "p99/bare")
		b.ReportMetric(float64(calls)/benchHosts, "calls/node")
		b.ReportMetric(float64(lists), "lists")
		if limit := max(time.Second, 10*bare); late > limit {
			b.Errorf("the slowest of a hundred waited %s, more than %s", late, limit)
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkObserve looks at a cluster with 5,000 old requests, with what the plane holds then.
func BenchmarkObserve(b *testing.B) {
	kube := server.Start(b)
	oldRequests(b, kube)
	s := newBenchStage(b, kube)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := s.plane(nil)
	observed, _ := s.Observe(b.Context(), model.Query{}, nil)
	for b.Loop() {
		if seen, err := p.Observe(b.Context(), nil, observed); err != nil || seen.Trouble != "" {
			b.Fatal(seen, err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "held-MB")
	runtime.KeepAlive(p)
}

// benchStage is a service that says that hosts are installed, and kubelets that ask.
type benchStage struct {
	b    *testing.B
	kube *kubetest.Cluster
	api  kubernetes.Interface // the bootstrapper's
	run  string

	mu    sync.Mutex
	calls int
	lists int
}

func newBenchStage(b *testing.B, kube *kubetest.Cluster) *benchStage {
	b.Helper()
	config := rest.CopyConfig(kube.Config)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{
		UserName: bootstrapperUser, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"},
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	lab, err := spoke.New(spoke.Config{Kube: kube.Config, Clock: clock.Real(), Cluster: spoke.Cluster{
		Name: "lab", BaseDomain: "example.com", ID: clusterID, ControlPlane: []spoke.Node{at("cp-0", "192.168.127.10")},
	}})
	if err == nil {
		err = lab.SetUp(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	return &benchStage{b: b, kube: kube, api: api, run: fmt.Sprint(time.Now().UnixNano())}
}

// plane is one whose calls are counted.
func (s *benchStage) plane(log func(install.Call)) *node.Plane {
	data := kubeconfigOf(s.b, s.kube.Config)
	p := node.New(node.Config{Log: log, Kubeconfig: func(context.Context, model.ClusterRef) ([]byte, string, error) { return data, "kubeconfig", nil }})
	s.b.Cleanup(p.Close)
	return p
}

func (s *benchStage) name(i int) string { return fmt.Sprintf("w-%s-%d", s.run, i) }

// Observe is of install.Service.
func (s *benchStage) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	now := clock.Real().Now()
	o := &model.Observed{At: now, Cluster: &model.Cluster{
		ClusterRef: model.ClusterRef{ID: "cluster-1", Name: "lab", BaseDomain: "example.com", Owned: true}, State: model.ClusterAddingHosts, Settings: model.Settings{},
	}}
	for i := range benchHosts {
		o.Hosts = append(o.Hosts, model.Host{
			ID: "id-" + s.name(i), Hostname: s.name(i), Day2: true, State: model.HostAdded, Role: spec.Worker, Rebooted: now.Add(-10 * time.Minute),
			Progress: model.HostProgress{Stage: "Done"}, Settings: model.Settings{}, Inventory: model.Inventory{Known: true, UUID: "uuid-" + s.name(i)},
		})
	}
	return o, nil
}

// Act is of install.Service.
func (s *benchStage) Act(context.Context, *model.Desired, model.Action) error { return nil }

// Credential is of install.Service.
func (s *benchStage) Credential(context.Context, string, string) ([]byte, error) { return nil, nil }

func (s *benchStage) desired() *model.Desired {
	three, workers := 3, benchHosts
	c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}, Spec: spec.ClusterSpec{BaseDomain: "example.com", Import: &spec.Import{}}}
	c.Spec.Topology.ControlPlane, c.Spec.Topology.Workers = &three, &workers
	for i := range benchHosts {
		c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: s.name(i), Hostname: s.name(i), Role: spec.Worker, Match: spec.Match{UUID: "uuid-" + s.name(i)}})
	}
	return &model.Desired{Spec: c, Options: model.Options{AddNodes: true}}
}

// bareApprovals is the median of calls that approve a request.
func (s *benchStage) bareApprovals(times int) time.Duration {
	requests := s.kube.Client.CertificatesV1().CertificateSigningRequests()
	var took []time.Duration
	for i := range times {
		made := s.ask(fmt.Sprintf("bare-%s-%d", s.run, i))
		made.Status.Conditions = append(made.Status.Conditions, certificates.CertificateSigningRequestCondition{
			Type: certificates.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Bench",
		})
		began := time.Now()
		if _, err := requests.UpdateApproval(s.b.Context(), made.Name, made, metav1.UpdateOptions{}); err != nil {
			s.b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// ask makes a request as the kubelet of a machine does.
func (s *benchStage) ask(name string) *certificates.CertificateSigningRequest {
	made, err := s.api.CertificatesV1().CertificateSigningRequests().Create(s.b.Context(), requestOf(s.b, name), metav1.CreateOptions{})
	if err != nil {
		s.b.Fatal(err)
	}
	return made
}

func requestOf(b *testing.B, name string) *certificates.CertificateSigningRequest {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + name},
	}, key)
	if err != nil {
		b.Fatal(err)
	}
	return &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificates.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificates.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth},
		},
	}
}

// addAll has all hosts ask while the loop runs, and says how long each was without an answer.
func (s *benchStage) addAll() (waited []time.Duration, calls, lists int) {
	ctx, stop := context.WithCancel(s.b.Context())
	defer stop()
	events, err := s.kube.Client.CertificatesV1().CertificateSigningRequests().Watch(ctx, metav1.ListOptions{FieldSelector: "spec.signerName=" + certificates.KubeAPIServerClientKubeletSignerName})
	if err != nil {
		s.b.Fatal(err)
	}
	approved := map[string]time.Time{}
	answered := make(chan struct{})
	go func() {
		for e := range events.ResultChan() {
			r, is := e.Object.(*certificates.CertificateSigningRequest)
			if !is || len(r.Status.Conditions) == 0 {
				continue
			}
			s.mu.Lock()
			if _, known := approved[r.Name]; !known && strings.Contains(r.Status.Conditions[0].Reason, "Oaictl") {
				if approved[r.Name] = time.Now(); len(approved) == benchHosts {
					close(answered)
				}
			}
			s.mu.Unlock()
		}
	}()
	var counting bool
	plane := s.plane(func(c install.Call) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if counting {
			s.calls++
		}
		if c.Method == "GET" && strings.HasSuffix(c.URL, "/certificatesigningrequests") {
			s.lists++
		}
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = install.New(s, install.Config{Nodes: plane, Timeout: -1, UserTimeout: -1}).Run(ctx, s.desired())
	}()
	time.Sleep(3 * time.Second) // it waits for hosts to ask
	s.mu.Lock()
	counting = true
	s.mu.Unlock()
	made := map[string]time.Time{}
	var asking sync.WaitGroup
	for i := range benchHosts {
		asking.Go(func() {
			time.Sleep(time.Duration(i) * 30 * time.Millisecond)
			at := time.Now()
			name := s.ask(s.name(i)).Name
			s.mu.Lock()
			made[name] = at
			s.mu.Unlock()
		})
	}
	asking.Wait()
	select {
	case <-answered:
	case <-time.After(time.Minute):
		s.b.Fatalf("only %d of %d were approved", len(approved), benchHosts)
	}
	stop()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, at := range made {
		waited = append(waited, approved[name].Sub(at))
	}
	return waited, s.calls, s.lists
}

// oldRequests are those that a cluster keeps for a while, and is not cleaned of.
func oldRequests(b *testing.B, kube *kubetest.Cluster) {
	b.Helper()
	config := rest.CopyConfig(kube.Config)
	config.QPS = -1
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	requests := api.CertificatesV1().CertificateSigningRequests()
	have, err := requests.List(b.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		b.Fatal(err)
	}
	var making sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := len(have.Items); i < oldOnes; i++ {
		slots <- struct{}{}
		making.Go(func() {
			defer func() { <-slots }()
			made, err := requests.Create(b.Context(), requestOf(b, fmt.Sprintf("old-%d", i)), metav1.CreateOptions{})
			if err != nil {
				b.Error(err)
				return
			}
			made.Status.Conditions = append(made.Status.Conditions, certificates.CertificateSigningRequestCondition{Type: certificates.CertificateDenied, Status: corev1.ConditionTrue, Reason: "Old"})
			if _, err := requests.UpdateApproval(b.Context(), made.Name, made, metav1.UpdateOptions{}); err != nil {
				b.Error(err)
			}
		})
	}
	making.Wait()
}
