package machines

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// groupOfInfrastructure is the API group of infrastructure providers. All managers may list each kind of it.
const groupOfInfrastructure = "infrastructure.cluster.x-k8s.io"

// CheckInfrastructure refuses a Machine whose infrastructureRef names a kind that is no infrastructure. Nothing of such a
// kind is read: the manager may not list it, and a cached read would wait for that.
func CheckInfrastructure(machine *clusterv1.Machine) error {
	if err := checkKind(machine.Spec.InfrastructureRef, KindAgentMachine); err != nil {
		return fmt.Errorf("spec.infrastructureRef: %w; delete Machine %s, and make another one", err, machine.Name)
	}
	return nil
}

// CheckTemplate is CheckInfrastructure for the infrastructureRef of a control plane's machine template.
func CheckTemplate(ref clusterv1.ContractVersionedObjectReference) error {
	if err := checkKind(ref, agentv1.MachineTemplateKind); err != nil {
		return fmt.Errorf("spec.machineTemplate.spec.infrastructureRef: %w", err)
	}
	return nil
}

// checkKind refuses a kind of a group of Cluster API that is not the one of infrastructure, and a kind of our own
// infrastructure other than own. A role may be added that allows kinds of any other group.
func checkKind(ref clusterv1.ContractVersionedObjectReference, own string) error {
	group := ref.APIGroup
	isClusterAPI := group == clusterv1.GroupVersion.Group || strings.HasSuffix(group, "."+clusterv1.GroupVersion.Group)
	isKnown := group == groupOfInfrastructure || group == agentv1.Group && ref.Kind == own
	if ref.Name == "" || isKnown || !isClusterAPI && group != agentv1.Group {
		return nil
	}
	return fmt.Errorf("%s of the API group %s is not read as infrastructure: name a kind of the group %s, or %s of the group %s",
		ref.Kind, group, groupOfInfrastructure, own, agentv1.Group)
}

const (
	// listedWithin is how long, in real time, a read waits for the cache to list a kind.
	listedWithin = 5 * time.Second
	// listedMeanwhile is how long it waits for a kind that was not listed in that time.
	listedMeanwhile = 100 * time.Millisecond
)

// boundedReads is a client whose cached reads of kinds that objects name do not wait long.
type boundedReads struct {
	client.Client

	mu       sync.Mutex
	unlisted map[schema.GroupVersionKind]struct{}
}

// BoundReads makes a client, which reads unstructured objects from a cache, give up reads of a kind that the cache does not
// list within seconds. Without a bound, a read of a kind that the manager may not list waits until its context ends. A kind
// that was not listed is hardly waited for again. It is read as usual once the cache has listed it. AgentMachines, which a
// reconciler watches by their type, are read by it here, too: the cache would hold unstructured ones beside these.
func BoundReads(c client.Client) client.Client {
	return &boundedReads{Client: c, unlisted: map[schema.GroupVersionKind]struct{}{}}
}

// Get reads an object.
func (b *boundedReads) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	u, is := into.(*unstructured.Unstructured)
	switch {
	case !is:
		return b.Client.Get(ctx, key, into, options...)
	case u.GroupVersionKind() == agentv1.GroupVersion().WithKind(KindAgentMachine):
		machine := &agentv1.AgentMachine{}
		if err := b.bounded(ctx, u.GroupVersionKind(), key, machine, options...); err != nil {
			return err
		}
		return unstructuredOf(machine, u)
	}
	return b.bounded(ctx, u.GroupVersionKind(), key, into, options...)
}

// unstructuredOf puts an AgentMachine into an unstructured one.
func unstructuredOf(machine *agentv1.AgentMachine, into *unstructured.Unstructured) error {
	kind := into.GroupVersionKind()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(machine)
	if err != nil {
		return fmt.Errorf("read AgentMachine %s: %w", machine.Name, err)
	}
	into.Object = fields
	into.SetGroupVersionKind(kind)
	return nil
}

// bounded reads an object of a kind.
func (b *boundedReads) bounded(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, into client.Object,
	options ...client.GetOption) error {
	within, cancel := context.WithTimeout(ctx, b.waitFor(kind))
	defer cancel()
	err := b.Client.Get(within, key, into, options...)
	if err == nil || within.Err() == nil {
		b.note(kind, true)
		return err
	}
	if ctx.Err() != nil { // not for this bound
		return err
	}
	b.note(kind, false)
	return fmt.Errorf("the manager has not been able to list the kind %s of the API group %s: "+
		"have an administrator label a ClusterRole that allows get, list and watch of it with oaictl.io/aggregate-to-bootstrap-manager: "+
		"\"true\" and "+
		"oaictl.io/aggregate-to-control-plane-manager: \"true\"; it is tried again by itself", kind.Kind, kind.Group)
}

func (b *boundedReads) waitFor(kind schema.GroupVersionKind) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, is := b.unlisted[kind]; is {
		return listedMeanwhile
	}
	return listedWithin
}

func (b *boundedReads) note(kind schema.GroupVersionKind, listed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if listed {
		delete(b.unlisted, kind)
		return
	}
	b.unlisted[kind] = struct{}{}
}
