//go:build e2e

package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// grown is a cluster that something else has installed, on an API server of its own, to which
// hosts are added through a service.
type grown struct {
	*site
	kube       *kubetest.Cluster
	played     *spoke.Spoke
	kubeconfig []byte
}

const grownText = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: old}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {kubeconfig: {env: ADMIN}, clusterID: 11111111-2222-3333-4444-555555555555}
  discovery: {osVersion: "4.20"}
  hosts:
  - {name: w-0, role: worker, match: {mac: "52:54:00:00:01:00"}, labels: {rack: a}}
  - {name: cp-3, role: control-plane, match: {mac: "52:54:00:00:01:03"}}
`

func (b backend) grow(t *testing.T) *grown {
	t.Helper()
	g := &grown{kube: kubetest.Start(t)}
	g.kubeconfig = kubeconfigOf(t, g.kube)
	env := spec.OSEnv()
	before := env.LookupEnv
	env.LookupEnv = func(name string) (string, bool) {
		switch name {
		case "PULL":
			return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true
		case "ADMIN":
			return string(g.kubeconfig), true
		}
		return before(name)
	}
	cluster, err := spec.Parse(t.Context(), "cluster.yaml", []byte(grownText), env)
	if err != nil {
		t.Fatal(err)
	}
	config := spoke.Config{Kube: g.kube.Config, Clock: clock.Scaled(speed), Logf: t.Logf}
	if config.Cluster, err = simulator.SpokeOf(cluster, 1); err != nil {
		t.Fatal(err)
	}
	if g.played, err = spoke.New(config); err != nil {
		t.Fatal(err)
	}
	if err := g.played.SetUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	playing.Go(func() { _ = g.played.Run(ctx) })
	t.Cleanup(func() { stop(); playing.Wait() })
	g.site = b.open(t, setup{cluster: cluster, joins: simulator.JoinSpoke(g.played)})
	return g
}

func kubeconfigOf(t *testing.T, c *kubetest.Cluster) []byte {
	t.Helper()
	out := clientcmdapi.NewConfig()
	out.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	out.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.Config.CertData, ClientKeyData: c.Config.KeyData}
	out.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	out.CurrentContext = "x"
	data, err := clientcmd.Write(*out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// runs is one run of a new process. When it asks for a member to be removed from etcd, the test does that.
func (g *grown) runs(t *testing.T, options model.Options) (install.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	plane := node.New(node.Config{Clock: g.time, Kubeconfig: func(context.Context, model.ClusterRef) ([]byte, string, error) {
		return g.kubeconfig, "kubeconfig", nil
	}})
	defer plane.Close()
	client := install.New(g.plane(t), install.Config{Nodes: plane, Clock: g.time, Timeout: -1, UserTimeout: -1, Events: func(e model.Event) {
		t.Logf("%s %s %s %s", e.Type, e.Key, e.State, e.Message)
		_, of, _ := strings.Cut(e.Key, "node/")
		name, _, _ := strings.Cut(of, "/")
		if e.Reason == "Waiting" && strings.Contains(e.Next.String(), "etcdctl member remove") {
			if _, err := g.played.RemoveMember(ctx, name); err != nil {
				t.Error(err)
			}
		}
	}})
	return client.Run(ctx, &model.Desired{Spec: g.cluster, Options: options})
}

func (g *grown) has(t *testing.T, name string) bool {
	t.Helper()
	_, err := g.kube.Client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func (g *grown) members(t *testing.T) int {
	t.Helper()
	m, err := g.kube.Client.CoreV1().ConfigMaps("openshift-etcd").Get(t.Context(), "etcd-endpoints", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(m.Data)
}

// hosts are those that the service, and on a hub the hub, know by their names.
func (g *grown) hosts(t *testing.T) []string {
	t.Helper()
	var all []string
	if g.hub {
		list, err := g.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(g.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			status, _ := list.Items[i].Object["spec"].(map[string]any)
			all = append(all, fmt.Sprint(status["hostname"]))
		}
		slices.Sort(all)
		return all
	}
	for _, env := range g.named(t, "/v2/infra-envs", g.cluster.Metadata.Name) {
		hosts, err := fetch[[]map[string]any](t.Context(), g.service.URL(), fmt.Sprintf("/v2/infra-envs/%v/hosts", env["id"]))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			all = append(all, fmt.Sprint(h["requested_hostname"]))
		}
	}
	slices.Sort(all)
	return all
}

// TestDay2 imports a cluster, adds a worker and a control plane host to it until their nodes take
// work, takes the worker out again, and an old control plane node, which the new one replaces, and
// then one that is dead: through each backend, against real API servers.
func TestDay2(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			g := b.grow(t)
			result, err := g.runs(t, model.Options{AddNodes: true, AcceptControlPlane: true, Unattended: true})
			if err != nil || !slices.Equal(slices.Sorted(slices.Values(result.Plan.Ready)), []string{"cp-3", "w-0"}) || g.members(t) != 4 {
				t.Fatalf("%v; ready %v, %d members; %+v %+v", err, result.Plan.Ready, g.members(t), result.Plan.Waits, result.Plan.Blockers)
			}
			w, err := g.kube.Client.CoreV1().Nodes().Get(t.Context(), "w-0", metav1.GetOptions{})
			if err != nil || w.Labels["rack"] != "a" {
				t.Errorf("%v, labels %v", err, w.Labels)
			}
			if got := g.hosts(t); !slices.Equal(got, []string{"cp-3", "w-0"}) {
				t.Errorf("hosts %q", got)
			}
			remove := func(name string) model.Options {
				return model.Options{Remove: &model.Removal{Nodes: []string{name}, Drain: model.DrainOptions{Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true, GracePeriod: -1}}}
			}
			if result, err = g.runs(t, remove("w-0")); err != nil || g.has(t, "w-0") {
				t.Fatalf("%v; %+v %+v", err, result.Plan.Waits, result.Plan.Blockers)
			}
			if got := g.hosts(t); !slices.Equal(got, []string{"cp-3"}) {
				t.Errorf("hosts %q", got)
			}
			if _, err = g.runs(t, remove("w-0")); model.FaultOf(err).Code != model.CodeNotFound {
				t.Errorf("again: %v", err)
			}
			if result, err = g.runs(t, remove("control-plane-1")); err != nil || g.has(t, "control-plane-1") || g.members(t) != 3 {
				t.Fatalf("%v; %d members; %+v %+v", err, g.members(t), result.Plan.Waits, result.Plan.Blockers)
			}
			if _, err = g.runs(t, remove("control-plane-2")); model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "etcd would have 2 members") {
				t.Errorf("one of three: %v", err)
			}
			g.played.PowerOff("control-plane-2")
			options := remove("control-plane-2")
			options.Remove.ReplacedBy, options.Remove.Backup = "cp-4", true
			for range 100 { // until etcd misses it
				if result, err = g.runs(t, options); model.FaultOf(err).Code != model.CodeInput {
					break
				}
				if err := g.time.Sleep(t.Context(), 10*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil || g.has(t, "control-plane-2") || g.members(t) != 2 {
				t.Errorf("a dead one: %v; %d members; %+v %+v", err, g.members(t), result.Plan.Waits, result.Plan.Blockers)
			}
		})
	}
}

// TestInterruptedAddNode: a run that ends once a host has rebooted, and before a request of it is approved, is finished
// by the next one; and the command that the first has printed approves, too.
func TestInterruptedAddNode(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			g := b.grow(t)
			g.cluster.Spec.Hosts = g.cluster.Spec.Hosts[:1]
			ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
			defer stop()
			plane := node.New(node.Config{Clock: g.time, Kubeconfig: func(context.Context, model.ClusterRef) ([]byte, string, error) {
				return g.kubeconfig, "kubeconfig", nil
			}})
			defer plane.Close()
			told := false
			client := install.New(g.plane(t), install.Config{Nodes: plane, Clock: g.time, Timeout: -1, UserTimeout: -1,
				Events: func(e model.Event) {
					if strings.Contains(e.Next.String(), "oaictl approve w-0") {
						told = true
						stop()
					}
				}})
			desired := &model.Desired{Spec: g.cluster, Options: model.Options{AddNodes: true, Unattended: true, Approve: model.ApproveOff}}
			if result, err := client.Run(ctx, desired); !told {
				t.Fatalf("no person is asked to approve: %v; %+v", err, result.Plan.Waits)
			}
			found, err := client.Inspect(t.Context(), install.Target{Spec: g.cluster})
			if err != nil {
				t.Fatal(err)
			}
			verdicts, _, err := client.Requests(t.Context(), found.Desired(), found.Observed, []string{"w-0"})
			if err != nil || !slices.ContainsFunc(verdicts, func(v model.RequestVerdict) bool { return v.Node == "w-0" && v.Decision == model.RequestApprove }) {
				t.Errorf("approve finds %+v, %v", verdicts, err)
			}
			result, err := g.runs(t, model.Options{AddNodes: true, Unattended: true})
			if err != nil || !slices.Equal(result.Plan.Ready, []string{"w-0"}) {
				t.Errorf("%v; ready %v; %+v %+v", err, result.Plan.Ready, result.Plan.Waits, result.Plan.Blockers)
			}
		})
	}
}
