package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// The marks that oaictl leaves while it removes a node: on the node, its Machine and its BareMetalHost the name of the
// node, and on a MachineSet the uids of the Machines for which it was lowered. The uids are written in the same request
// as the number, so that it is not lowered a second time.
const (
	removesNode = "oaictl.io/removes-node"
	returnsHost = "oaictl.io/returns-host"
	loweredFor  = "oaictl.io/lowered-for"
)

// How often is looked while nodes are removed, and at what does not decide how to go on.
const (
	freshForRemoval = 2 * time.Second
	freshForChecks  = 2 * time.Minute
)

// labelRouter is the ingress controller of a router's pod.
const labelRouter = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"

// leaving is what is read of nodes that are to be removed.
type leaving struct {
	drains  []model.NodeDrain
	secrets []string
	volumes []model.LocalVolume
	routers []model.Router
	checked time.Time // when the last two were read
}

// readLeaving reads what the removal of nodes needs to know.
func (c *connection) readLeaving(ctx context.Context, removal *model.Removal) error {
	ctx = withoutLogging(ctx)
	next := leaving{volumes: c.leaving.volumes, routers: c.leaving.routers, checked: c.leaving.checked}
	within, cancel := context.WithTimeout(ctx, callTimeout)
	budgets, err := c.Policy.PodDisruptionBudgets("").List(within, metav1.ListOptions{})
	cancel()
	if err != nil {
		return listFault("disruption budgets", err)
	}
	nodes := c.nodesOf(removal)
	for _, node := range nodes {
		within, cancel := context.WithTimeout(ctx, callTimeout) // which grows with the pods
		drain, err := c.readDrain(within, node, removal.Drain, budgets.Items)
		cancel()
		if err != nil {
			return err
		}
		next.drains = append(next.drains, drain)
	}
	ctx, cancel = context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if removal.ReplacedBy != "" {
		if next.secrets, err = c.readSecrets(ctx, removal.Nodes); err != nil {
			return err
		}
	}
	if now := c.clock.Now(); next.checked.IsZero() || now.Sub(next.checked) >= freshForChecks {
		if err := c.readChecks(ctx, nodes, &next); err != nil {
			return err
		}
		next.checked = now
	}
	c.leaving = next
	return nil
}

// nodesOf are the nodes that are to be removed and are there: those that were asked for, and those
// whose hosts have gone back before them, which may be asked for as these.
func (c *connection) nodesOf(removal *model.Removal) []string {
	var all []string
	for _, n := range c.nodes.All() {
		if n.Returns != "" || slices.ContainsFunc(removal.Nodes, func(name string) bool { return model.NodeName(name) == n.Name }) {
			all = append(all, n.Name)
		}
	}
	return all
}

// readChecks reads what a person should know before nodes are removed.
func (c *connection) readChecks(ctx context.Context, nodes []string, into *leaving) error {
	volumes, err := c.Core.PersistentVolumes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return listFault("volumes", err)
	}
	into.volumes = readVolumes(volumes.Items, nodes)
	pods, err := c.Core.Pods("openshift-ingress").List(ctx, metav1.ListOptions{LabelSelector: labelRouter})
	if err != nil {
		return listFault("routers", err)
	}
	into.routers = nil
	for i := range pods.Items {
		pod := &pods.Items[i]
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		into.routers = append(into.routers, model.Router{Controller: pod.Labels[labelRouter], Node: pod.Spec.NodeName,
			Ready: ready && pod.DeletionTimestamp == nil})
	}
	return nil
}

// into adds to what is seen of a cluster what is known of nodes that are removed. ago puts times
// on the clock of the observation.
func (l *leaving) into(spoke *model.Spoke, ago func(time.Time) time.Time) {
	spoke.Volumes, spoke.Routers = l.volumes, l.routers
	if spoke.Etcd != nil {
		spoke.Etcd.Secrets = l.secrets
	}
	for _, d := range l.drains {
		d.Pods = slices.Clone(d.Pods)
		for i := range d.Pods {
			p := &d.Pods[i]
			p.Deleting, p.Refused, p.Held = ago(p.Deleting), ago(p.Refused), ago(p.Held)
		}
		spoke.Drains = append(spoke.Drains, d)
	}
}

// remove carries out an action by which a node is removed.
func (c *connection) remove(ctx context.Context, a model.Action, removal *model.Removal, observed *model.Observed) error {
	defer c.stale.Store(true)
	switch a.Kind {
	case model.CordonNode:
		return c.cordon(ctx, a)
	case model.MarkNode:
		return c.markNode(ctx, a)
	case model.EvictPods:
		return c.evict(ctx, a, removal.Drain)
	case model.MarkMetalHost:
		return c.mark(ctx, bareMetalHosts, a, map[string]any{removesNode: a.Node})
	case model.MarkMachine:
		return c.mark(ctx, machines, a, map[string]any{removesNode: a.Node, deleteMachine: "true"})
	case model.LowerMachineSet:
		return c.lower(ctx, a, observed)
	case model.DeleteMachine:
		return c.delete(ctx, machines, a)
	case model.DeleteMetalHost:
		return c.delete(ctx, bareMetalHosts, a)
	case model.DeleteNode:
		uid := types.UID(a.Target)
		err := c.Core.Nodes().Delete(ctx, a.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		return c.failed("delete the node", a.Name, gone(err))
	case model.DeleteSecret:
		err := c.Core.Secrets(etcdSpace).Delete(ctx, a.Name, metav1.DeleteOptions{})
		return c.failed("delete the Secret "+etcdSpace+"/", a.Name, gone(err))
	}
	return errors.ErrUnsupported
}

// gone takes what is not there any more for deleted.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *connection) cordon(ctx context.Context, a model.Action) error {
	return c.failed("cordon the node", a.Name, c.patchNode(ctx, a, map[string]any{removesNode: a.Name},
		map[string]any{"unschedulable": true}))
}

// markNode notes on a Node which host it is: nothing else says so once that has gone back.
func (c *connection) markNode(ctx context.Context, a model.Action) error {
	return c.failed("mark the node", a.Name, c.patchNode(ctx, a, map[string]any{returnsHost: a.Host}, map[string]any{}))
}

func (c *connection) patchNode(ctx context.Context, a model.Action, annotations, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": a.Target, "annotations": annotations}, "spec": spec})
	if err != nil {
		return err
	}
	written, err := c.Core.Nodes().Patch(ctx, a.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "oaictl"})
	if err == nil {
		c.nodes.Write(written)
	}
	return err
}

// mark gives an object of the Machine API annotations.
func (c *connection) mark(ctx context.Context, kind schema.GroupVersionResource, a model.Action, annotations map[string]any) error {
	return c.patch(ctx, kind, "mark", a.Name, map[string]any{"metadata": map[string]any{"uid": a.Target, "annotations": annotations}})
}

func (c *connection) patch(ctx context.Context, kind schema.GroupVersionResource, op, name string, patch map[string]any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(kind).Namespace(machineSpace).Patch(ctx, name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: "oaictl"})
	return c.failed(op+" the "+singular(kind), name, err)
}

// lower lowers a MachineSet by one, for one Machine, in the version that was observed: if it was changed since, it is
// read first.
func (c *connection) lower(ctx context.Context, a model.Action, observed *model.Observed) error {
	set := observed.Spoke.MachineSet(a.Name)
	if set == nil || set.Replicas < 1 || slices.Contains(set.Lowered, a.Target) {
		return c.failed("lower the MachineSet", a.Name, errors.New("it has changed"))
	}
	uids := []string{a.Target}
	for _, m := range observed.Spoke.Machines { // those of others that are still there
		if slices.Contains(set.Lowered, m.UID) {
			uids = append(uids, m.UID)
		}
	}
	return c.patch(ctx, machineSets, "lower", a.Name, map[string]any{
		"metadata": map[string]any{"uid": set.UID, "resourceVersion": set.Version,
			"annotations": map[string]any{loweredFor: strings.Join(uids, ",")}},
		"spec": map[string]any{"replicas": set.Replicas - 1},
	})
}

func (c *connection) delete(ctx context.Context, kind schema.GroupVersionResource, a model.Action) error {
	uid := types.UID(a.Target)
	err := c.Dynamic.Resource(kind).Namespace(machineSpace).Delete(ctx, a.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return c.failed("delete the "+singular(kind), a.Name, gone(err))
}

func singular(kind schema.GroupVersionResource) string {
	switch kind {
	case machineSets:
		return "MachineSet"
	case machines:
		return "Machine"
	}
	return "BareMetalHost"
}

// failed says what could not be done to what; nil for nil. An object that was changed meanwhile is read again.
func (c *connection) failed(op, on string, err error) error {
	if err == nil {
		return nil
	}
	f := &model.Fault{Code: model.CodeFailure, Op: op, On: on, Err: err, Next: "run the same command again, which continues from here"}
	switch {
	case c.isDenied(f):
	case apierrors.IsConflict(err):
		f.Err = fmt.Errorf("it has changed in the meantime: %w", err)
	}
	return f
}
