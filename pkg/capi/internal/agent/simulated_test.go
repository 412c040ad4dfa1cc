//go:build e2e

package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// speed is how much faster than life service and machines run.
const speed = 100

// poolText is a cluster with machines of a pool. AgentMachines say which machine is which.
const poolText = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  infraEnv: {ref: pool, bind: late}
  network:
    machine: [192.168.127.0/24]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
  hosts:
`

// poolCluster is that cluster with hosts, as they are to be recognised.
func poolCluster(ctx context.Context, t *testing.T, hosts ...string) *spec.Cluster {
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }
	cluster, err := spec.Parse(ctx, "cluster.yaml", []byte(poolText+strings.Join(hosts, "")), env)
	if err != nil {
		t.Error(err)
	}
	return cluster
}

// pooled is a whole installation from a pool, on a simulated hub with machines.
type pooled struct {
	*site
	time clock.Clock
}

func openPooled(t *testing.T) *pooled {
	t.Helper()
	p := &pooled{time: clock.Scaled(speed)}
	var desiring sync.Mutex
	wanted := map[string]*spec.Cluster{} // by what makes it, since reading one takes a while
	p.site = open(t, setup{
		clock: p.time,
		connect: func(namespace string) (install.Backend, error) {
			return hubplane.New(hubplane.Config{Kube: p.Config, Namespace: namespace, Clock: p.time})
		},
		desire: func(ctx context.Context, key clusterloop.Key, observed *model.Observed) (*model.Desired, error) {
			list := &agentv1.AgentMachineList{}
			if err := p.client.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
				return nil, err
			}
			var hosts []string
			for i := range list.Items {
				if _, name := machines.ReservedHostOf(&list.Items[i]); name != "" {
					role := "control-plane"
					if strings.HasPrefix(list.Items[i].Name, "w") {
						role = "worker"
					}
					hosts = append(hosts, fmt.Sprintf("  - {name: %s, role: %s, match: {uuid: %s}}\n", list.Items[i].Name, role, name))
				}
			}
			if len(hosts) < 3 {
				return nil, clusterloop.ErrNotYet
			}
			desiring.Lock()
			defer desiring.Unlock()
			text := strings.Join(hosts, "")
			if wanted[text] == nil {
				wanted[text] = poolCluster(ctx, t, hosts...)
			}
			isInstalled := observed != nil && observed.Cluster != nil && observed.Cluster.State.Installed()
			return &model.Desired{Spec: wanted[text], Options: model.Options{AddNodes: isInstalled, Unattended: true}}, nil
		},
	})
	objects, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	fixture.OfferReleases(t, objects)
	hosts := make([]string, 4)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("  - {name: machine-%d, role: control-plane, match: {mac: \"52:54:00:00:07:%02d\"}}\n", i, i)
	}
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: p.time, Seed: 1, Cluster: poolCluster(t.Context(), t, hosts...), KubeAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := service.Close(); err != nil {
			t.Errorf("the simulator: %v", err)
		}
	})
	running.Go(func() {
		if err := hubsim.Run(ctx, hubsim.Config{Kube: p.Config, Namespace: p.namespace, Service: service.URL(), Clock: p.time, Hive: true}); err != nil && ctx.Err() == nil {
			t.Errorf("the simulated operator: %v", err)
		}
	})
	running.Go(func() { p.approve(ctx, t) })
	p.create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "pool-pull-secret"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{hubapi.KeyPullSecret: []byte(`{"auths":{"quay.io":{"auth":"dTpw"}}}`)},
	})
	p.create(t, objectOf(t, `{apiVersion: agent-install.openshift.io/v1beta1, kind: InfraEnv, metadata: {name: pool, namespace: `+p.namespace+`}, spec: {pullSecretRef: {name: pool-pull-secret}}}`))
	return p
}

// approve is a person who approves every Agent that comes.
func (p *pooled) approve(ctx context.Context, t *testing.T) {
	for p.time.Sleep(ctx, 5*time.Second) == nil {
		list := &unstructured.UnstructuredList{}
		gvk := hubapi.GroupVersionKind(hubapi.KindAgent)
		gvk.Kind += "List"
		list.SetGroupVersionKind(gvk)
		if err := p.client.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
			return
		}
		for i := range list.Items {
			if approved, _, _ := unstructured.NestedBool(list.Items[i].Object, "spec", "approved"); !approved {
				if err := p.client.Patch(ctx, &list.Items[i], client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"approved": true}}`))); err != nil && ctx.Err() == nil {
					t.Logf("approving %s: %v", list.Items[i].GetName(), err)
				}
			}
		}
	}
}

// drive carries out what concerns the cluster as a whole, as the control plane's reconciler does, until the
// test's end.
func (p *pooled) drive(ctx context.Context, key clusterloop.Key) {
	for p.time.Sleep(ctx, 10*time.Second) == nil {
		_, _, _ = p.sets[0].Act(ctx, key, model.ScopeCluster, model.ScopeInfraEnv.Of("pool")) // it shows by how far it gets
	}
}

// TestMachinesOfAPool installs a control plane of machines that have booted already, adds a worker, and gives that
// back. The test does not play the agent on the node that would boot it into the discovery image.
func TestMachinesOfAPool(t *testing.T) {
	t.Parallel()
	p := openPooled(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p.addCluster(t, p.namespace, "c")
	var driving sync.WaitGroup
	driving.Go(func() { p.drive(ctx, clusterloop.Key{Namespace: p.namespace, Name: "c"}) })
	defer driving.Wait()
	defer stop()
	for i := range 3 {
		p.addMachine(t, p.namespace, "c", fmt.Sprintf("cp-%d", i), func(m *clusterv1.Machine, _ *agentv1.AgentMachine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" })
	}
	p.ready(t, "cp-0", "cp-1", "cp-2")
	p.addMachine(t, p.namespace, "c", "w-0")
	p.ready(t, "w-0")
	first := strings.TrimPrefix(p.machine(t, p.namespace, "w-0").Spec.ProviderID, agentv1.ProviderIDPrefix)
	machine := &clusterv1.Machine{}
	eventually(t, "the worker's Machine to know its host", func() (bool, string) {
		p.get(t, machine, p.namespace, "w-0")
		return machine.Spec.ProviderID == agentv1.ProviderIDPrefix+first && len(machine.Status.Addresses) >= 3, fmt.Sprint(machine.Spec.ProviderID, machine.Status.Addresses)
	})
	p.deleteMachine(t, "w-0")
	p.gone(t, "w-0")
	p.agents = p.namespace
	agent, _ := p.agent(t, first)
	if agent == nil || reservedFor(agent) != "" || agent.Spec.ClusterDeploymentName != nil {
		t.Errorf("the worker's Agent is %+v", agent)
	}
}

// ready waits until machines are.
func (p *pooled) ready(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		provisioned := false
		eventually(t, name+" to be ready", func() (bool, string) {
			m := p.machine(t, p.namespace, name)
			now := ptr.Deref(m.Status.Initialization.Provisioned, false)
			if provisioned && !now {
				t.Errorf("%s is not handed over any more", name)
			}
			provisioned = now
			return conditionOf(m, clusterv1.ReadyCondition).Status == metav1.ConditionTrue && now, describe(m)
		})
	}
}
