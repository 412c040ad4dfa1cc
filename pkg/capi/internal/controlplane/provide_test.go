//go:build e2e

package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// service plays a service that shows the cluster in a state, and is asked for nothing else.
type service struct {
	install.Backend
	*site
}

// Observe is of install.Service.
func (s service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &model.Observed{At: s.clock.Now()}
	if s.state != "" {
		o.Cluster = &model.Cluster{
			ClusterRef: model.ClusterRef{ID: "lab-id", Name: "lab", BaseDomain: "example.com", Owned: true}, State: s.state, OpenShiftID: s.id(),
			Kubeconfig: s.state.Installed(), NoIngress: s.serves, Version: version,
		}
	}
	return o, nil
}

// Act is of install.Service.
func (s service) Act(_ context.Context, _ *model.Desired, action model.Action) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if action.Scope == model.ScopeCluster {
		s.acted++
	}
	return nil
}

// Credential is of install.Service.
func (s service) Credential(context.Context, string, string) ([]byte, error) {
	return s.kubeconfig(), nil
}

// ListClusters is of install.Backend.
func (s service) ListClusters(context.Context) ([]model.Cluster, error) { return nil, nil }

// DeleteCluster is of install.Backend.
func (s service) DeleteCluster(context.Context, string, install.DeleteOptions) error { return nil }

// Close is of install.Backend.
func (s service) Close() {}

// provide does what other providers, machines and kubelets do: Machines get a node each, and released machines are
// switched off.
func (x *site) provide(ctx context.Context) {
	for ctx.Err() == nil {
		list := &clusterv1.MachineList{}
		if err := x.client.List(ctx, list, client.InNamespace(x.namespace)); err != nil && ctx.Err() == nil {
			x.t.Errorf("the other providers: %v", err)
		}
		for i := range list.Items {
			if err := x.provideFor(ctx, &list.Items[i]); err != nil && ctx.Err() == nil {
				x.t.Logf("for Machine %s: %v", list.Items[i].Name, err)
			}
		}
		if x.clock.Sleep(ctx, 10*time.Second) != nil {
			return
		}
	}
}

// letGoOfConfigs takes the finalizer of the bootstrap provider off configs that are being deleted.
func (x *site) letGoOfConfigs(ctx context.Context) {
	for x.clock.Sleep(ctx, 10*time.Second) == nil {
		list := &bootstrapv1.OpenshiftAssistedConfigList{}
		err := x.client.List(ctx, list, client.InNamespace(x.namespace))
		for i := range list.Items {
			before := list.Items[i].DeepCopy()
			if !before.DeletionTimestamp.IsZero() && controllerutil.RemoveFinalizer(&list.Items[i], bootstrapv1.ConfigFinalizer) {
				err = errors.Join(err, client.IgnoreNotFound(x.client.Patch(ctx, &list.Items[i], client.MergeFrom(before))))
			}
		}
		if err != nil && ctx.Err() == nil {
			x.t.Logf("let go of configs: %v", err)
		}
	}
}

func (x *site) provideFor(ctx context.Context, m *clusterv1.Machine) error {
	infra := &unstructured.Unstructured{}
	infra.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
	infra.SetKind("Metal3Machine")
	key := client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}
	if err := x.client.Get(ctx, key, infra); err != nil {
		return client.IgnoreNotFound(err)
	}
	x.mu.Lock()
	name, has := x.nodes[m.Name]
	if !has {
		name = x.nodeName(len(x.nodes))
		x.nodes[m.Name] = name
	}
	x.mu.Unlock()
	if !infra.GetDeletionTimestamp().IsZero() {
		return x.letGo(ctx, infra, name)
	}
	if provisioned, _, _ := unstructured.NestedBool(infra.Object, "status", "initialization", "provisioned"); provisioned || !m.DeletionTimestamp.IsZero() {
		return nil
	}
	before := infra.DeepCopy()
	controllerutil.AddFinalizer(infra, "test.example.com/machine")
	id := "metal3://" + name
	if err := unstructured.SetNestedField(infra.Object, id, "spec", "providerID"); err != nil {
		return err
	}
	if err := x.client.Patch(ctx, infra, client.MergeFrom(before)); err != nil {
		return err
	}
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	if err := x.client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Bootstrap.ConfigRef.Name}, config); err != nil {
		return err
	}
	ready := config.DeepCopy()
	ready.Status.Initialization.DataSecretCreated, ready.Status.DataSecretName = ptr.To(true), config.Name
	if err := x.client.Status().Patch(ctx, ready, client.MergeFrom(config)); err != nil {
		return err
	}
	if err := x.node(ctx, name, id); err != nil {
		return err
	}
	before = infra.DeepCopy()
	infra.Object["status"] = map[string]any{
		"initialization": map[string]any{"provisioned": true},
		"addresses":      []any{map[string]any{"type": "InternalIP", "address": addressOf(numberOf(name)).String()}},
	}
	return x.client.Status().Patch(ctx, infra, client.MergeFrom(before))
}

func numberOf(name string) int {
	n, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:]) // names are ours
	return n
}

// node gives the node of a machine its provider id, and boots the machine first where it has none yet.
func (x *site) node(ctx context.Context, name, id string) error {
	node := &corev1.Node{}
	err := x.client.Get(ctx, client.ObjectKey{Name: name}, node)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if _, on := x.off[name]; !on {
			life, off := context.WithCancel(x.life)
			x.off[name] = off
			machine := spoke.Machine{Hostname: name, UUID: "uuid-" + name, Role: spoke.RoleControlPlane, Addresses: []netip.Addr{addressOf(numberOf(name))}}
			x.running.Go(func() { _ = x.spoke.Join(life, machine) })
		}
		return fmt.Errorf("its node %s has not joined yet", name)
	}
	before := node.DeepCopy()
	node.Spec.ProviderID = id
	return x.client.Patch(ctx, node, client.MergeFrom(before))
}

// letGo switches a machine off, and removes the finalizers of its object.
func (x *site) letGo(ctx context.Context, infra *unstructured.Unstructured, name string) error {
	x.switchOff(name)
	before := infra.DeepCopy()
	if !controllerutil.RemoveFinalizer(infra, "test.example.com/machine") {
		return nil
	}
	return client.IgnoreNotFound(x.client.Patch(ctx, infra, client.MergeFrom(before)))
}

// switchOff switches the machine of a node off.
func (x *site) switchOff(name string) {
	x.mu.Lock()
	off := x.off[name]
	x.mu.Unlock()
	if off != nil {
		off()
	}
	x.spoke.PowerOff(name)
}

// lab are the objects of the cluster, of so many Machines.
func (x *site) lab(replicas int, change ...func(plane map[string]any)) {
	x.t.Helper()
	for _, document := range strings.Split(templates, "\n---\n") {
		x.create(raw(x.t, document))
	}
	x.cluster("lab", replicas, change...)
}

// templates are those of Machines.
const templates = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: first}
spec: {template: {spec: {image: {url: "http://a", checksum: "http://a.sum", checksumType: sha256, diskFormat: qcow2}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: second}
spec: {template: {spec: {image: {url: "http://b", checksum: "http://b.sum", checksumType: sha256, diskFormat: qcow2}}}}
`

// domains are where the machines of a cluster can be.
const domains = `[{name: a, controlPlane: true}, {name: b, controlPlane: true}, {name: c, controlPlane: true}, {name: workers, controlPlane: false}]`

// cluster are the objects of a cluster, without its templates.
func (x *site) cluster(name string, replicas int, change ...func(plane map[string]any)) {
	x.t.Helper()
	text := strings.NewReplacer("REPLICAS", fmt.Sprint(replicas), "name: lab", "name: "+name).Replace(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: lab}
spec:
  controlPlaneEndpoint: {host: 192.168.127.100, port: 6443}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: OpenshiftAssistedControlPlane
metadata: {name: lab, annotations: {own: "not passed on"}, labels: {own: "not-passed-on"}}
spec:
  replicas: REPLICAS
  distributionVersion: ` + version + `
  config: {baseDomain: example.com}
  openshiftAssistedConfigSpec: {sshAuthorizedKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFX/z0ah+fbuI7LXW5tFC4gxw1DoQCnu9xhS4IRmywpu}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: first}
      deletion: {nodeDrainTimeoutSeconds: 15}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: lab}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: OpenshiftAssistedControlPlane, name: lab}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: lab}
`)
	for document := range strings.SplitSeq(text, "\n---\n") {
		u := raw(x.t, document)
		if u.GetKind() == "OpenshiftAssistedControlPlane" {
			for _, c := range change {
				c(u.Object)
			}
		}
		x.create(u)
		if u.GetKind() == "Metal3Cluster" {
			u.Object["status"] = raw(x.t, "{initialization: {provisioned: true}, failureDomains: "+domains+"}").Object
			if err := x.client.Status().Update(x.t.Context(), u); err != nil {
				x.t.Fatal(err)
			}
		}
	}
}

// run waits until Machines are made and have become the nodes of the cluster.
func (x *site) run(replicas int, change ...func(plane map[string]any)) {
	x.t.Helper()
	x.beside(x.provide)
	// The kubeconfig is there, as of a Cluster that was moved: if Cluster API does not reach a cluster at first, it
	// tries again after half a minute.
	kubeconfig := capikubeconfig.GenerateSecretWithOwner(client.ObjectKey{Namespace: x.namespace, Name: "lab"}, x.kubeconfig(), metav1.OwnerReference{})
	kubeconfig.OwnerReferences = nil
	x.create(kubeconfig)
	x.lab(replicas, change...)
	x.joined(replicas)
}

// joined waits for so many Machines with nodes.
func (x *site) joined(count int) {
	x.t.Helper()
	x.eventually(fmt.Sprintf("%d Machines with nodes", count), func() (bool, string) {
		have, all := 0, x.machines()
		for _, m := range all {
			if m.Status.NodeRef.Name != "" {
				have++
			}
		}
		return have == count && len(all) == count, fmt.Sprintf("%d Machines, %d nodes; %s", len(all), have, conditions.GetMessage(x.plane(), clusterv1.ScalingUpCondition))
	})
}
