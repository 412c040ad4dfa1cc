package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The kinds and names of OpenShift that an upgrade has to do with.
const (
	clusterVersionName = "version"

	ackNamespace  = "openshift-config"
	ackName       = "admin-acks"
	gateNamespace = "openshift-config-managed"
	gateName      = "admin-gates"
	// isAcknowledged is the value of a gate in admin-acks.
	isAcknowledged = "true"
)

func clusterVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "ClusterVersion"}
}

func poolKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "MachineConfigPool"}
}

func listOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	kind.Kind += "List"
	return kind
}

// Mapper knows the kinds that are read and written here. A client that has it asks no workload cluster for all
// of its kinds, which are hundreds, nor keeps them.
func Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{clusterVersionKind(), poolKind(), corev1.SchemeGroupVersion.WithKind("Node")} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return mapper
}

// Read says how a workload cluster stands at a moment, as far as that matters to what is wanted. The
// reader is to ask the API server itself: a cache would show what was before the last write.
func Read(ctx context.Context, c client.Reader, at time.Time, want *Want) (*State, error) {
	s := &State{At: at}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(clusterVersionKind())
	switch err := c.Get(ctx, types.NamespacedName{Name: clusterVersionName}, u); {
	case absent(err):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("read the ClusterVersion: %w", err)
	}
	s.Version = readVersion(u)
	if err := s.readPools(ctx, c); err != nil {
		return nil, err
	}
	return s, s.readGates(ctx, c, want)
}

// absent reports whether an object, or its kind, is not there.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// fields are those of an object that is read without its types.
type fields map[string]any

func (f fields) text(path ...string) string {
	value, _, _ := unstructured.NestedString(f, path...)
	return value
}

func (f fields) number(path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(f, path...)
	return value
}

func (f fields) flag(path ...string) bool {
	value, _, _ := unstructured.NestedBool(f, path...)
	return value
}

func (f fields) moment(path ...string) time.Time {
	value, _ := time.Parse(time.RFC3339, f.text(path...))
	return value
}

func (f fields) list(path ...string) []fields {
	value, _, _ := unstructured.NestedFieldNoCopy(f, path...)
	entries, _ := value.([]any)
	var list []fields
	for _, entry := range entries {
		if each, is := entry.(map[string]any); is {
			list = append(list, each)
		}
	}
	return list
}

func (f fields) release(path ...string) Release {
	return Release{Version: f.text(append(slices.Clone(path), "version")...), Image: f.text(append(slices.Clone(path), "image")...)}
}

func (f fields) conditions(path ...string) map[string]Condition {
	found := map[string]Condition{}
	for _, c := range f.list(path...) {
		found[c.text("type")] = Condition{Status: c.text("status"), Reason: c.text("reason"), Message: c.text("message"), Since: c.moment("lastTransitionTime")}
	}
	return found
}

func readVersion(u *unstructured.Unstructured) *ClusterVersion {
	f := fields(u.Object)
	v := &ClusterVersion{
		ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(), Observed: f.number("status", "observedGeneration"),
		Channel: f.text("spec", "channel"), Target: f.release("status", "desired"), Conditions: f.conditions("status", "conditions"),
	}
	if asked, is, _ := unstructured.NestedMap(f, "spec", "desiredUpdate"); is && len(asked) > 0 {
		a := fields(asked)
		v.Asked = &Asked{Version: a.text("version"), Image: a.text("image"), Architecture: a.text("architecture"), Mode: a.text("mode"), Force: a.flag("force")}
	}
	for _, h := range f.list("status", "history") {
		v.History = append(v.History, Update{Release: h.release(), Completed: h.text("state") == "Completed", Started: h.moment("startedTime")})
	}
	for _, a := range f.list("status", "availableUpdates") {
		v.Available = append(v.Available, a.release())
	}
	for _, entry := range f.list("status", "conditionalUpdates") {
		recommended := entry.conditions("conditions")["Recommended"]
		c := Conditional{Release: entry.release("release"), Recommended: recommended.Status == isTrue, Reason: recommended.Reason, Message: recommended.Message}
		for _, r := range entry.list("risks") {
			if len(r.list("conditions")) > 0 && r.conditions("conditions")["Applies"].Status == isFalse {
				continue // it is no risk of this cluster
			}
			c.Risks = append(c.Risks, Risk{Name: r.text("name"), Message: r.text("message"), URL: r.text("url")})
		}
		v.Conditional = append(v.Conditional, c)
	}
	return v
}

// readPools reads the pools, and the nodes with the pool that each is of.
func (s *State) readPools(ctx context.Context, c client.Reader) error {
	pools := &unstructured.UnstructuredList{}
	pools.SetGroupVersionKind(listOf(poolKind()))
	if err := c.List(ctx, pools); err != nil && !absent(err) {
		return fmt.Errorf("list the MachineConfigPools: %w", err)
	}
	selectors := map[string]map[string]string{}
	for i := range pools.Items {
		f := fields(pools.Items[i].Object)
		degraded := f.conditions("status", "conditions")["Degraded"]
		p := Pool{
			Name: pools.Items[i].GetName(), Paused: f.flag("spec", "paused"), Degraded: degraded.Status == isTrue, Message: cmp.Or(degraded.Message, degraded.Reason),
			Config: f.text("spec", "configuration", "name"), Machines: f.number("status", "machineCount"), Updated: f.number("status", "updatedMachineCount"),
		}
		s.Pools = append(s.Pools, p)
		selectors[p.Name], _, _ = unstructured.NestedStringMap(f, "spec", "nodeSelector", "matchLabels")
	}
	slices.SortFunc(s.Pools, func(a, b Pool) int { return strings.Compare(a.Name, b.Name) })
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range nodes.Items {
		s.Nodes = append(s.Nodes, s.readNode(&nodes.Items[i], selectors))
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

const configPrefix = "machineconfiguration.openshift.io/"

// controlPlaneLabels are on the nodes of a control plane.
var controlPlaneLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func (s *State) readNode(n *corev1.Node, selectors map[string]map[string]string) Node {
	a := n.Annotations
	node := Node{
		Name: n.Name, Kubelet: n.Status.NodeInfo.KubeletVersion,
		Config: NodeConfig{Current: a[configPrefix+"currentConfig"], Desired: a[configPrefix+"desiredConfig"], State: a[configPrefix+"state"], Reason: a[configPrefix+"reason"]},
	}
	node.ControlPlane = slices.ContainsFunc(controlPlaneLabels, func(label string) bool { _, is := n.Labels[label]; return is })
	if node.ControlPlane {
		node.Pool = controlPlanePool
		return node
	}
	const workers = "worker"
	for i := range s.Pools { // a custom pool goes before that of the workers, whose label its nodes have too
		name := s.Pools[i].Name
		selector := selectors[name]
		if name == controlPlanePool || len(selector) == 0 || !contains(n.Labels, selector) {
			continue
		}
		if node.Pool == "" || node.Pool == workers {
			node.Pool = name
		}
	}
	return node
}

// contains reports whether labels have all of the selector.
func contains(labels, selector map[string]string) bool {
	for name, value := range selector {
		if has, is := labels[name]; !is || has != value {
			return false
		}
	}
	return true
}

// gateText is the name of a gate, with the minor version that it is passed on the way out of.
var gateText = regexp.MustCompile(`^ack-(\d+\.\d+)-[^-]`)

// readGates reads the gates that lead out of the minor version that the cluster is at, where another
// one is wanted.
func (s *State) readGates(ctx context.Context, c client.Reader, want *Want) error {
	out, leads := leavesMinor(s.Version.Target.Version, want.Version)
	if !leads {
		return nil
	}
	gates, acks := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: gateNamespace, Name: gateName}, gates); err != nil && !absent(err) {
		return fmt.Errorf("read the gates of ConfigMap %s/%s: %w", gateNamespace, gateName, err)
	}
	if len(gates.Data) == 0 {
		return nil
	}
	if err := c.Get(ctx, types.NamespacedName{Namespace: ackNamespace, Name: ackName}, acks); err != nil && !absent(err) {
		return fmt.Errorf("read the acknowledged gates of ConfigMap %s/%s: %w", ackNamespace, ackName, err)
	}
	for name, message := range gates.Data {
		if found := gateText.FindStringSubmatch(name); found != nil && found[1] == out {
			s.Gates = append(s.Gates, Gate{Name: name, Message: cmp.Or(message, name), Acknowledged: acks.Data[name] == isAcknowledged})
		}
	}
	slices.SortFunc(s.Gates, func(a, b Gate) int { return strings.Compare(a.Name, b.Name) })
	return nil
}
