package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
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

var (
	clusterVersions = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}
	configPools     = schema.GroupVersionResource{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigpools"}
	clusterNodes    = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// Read says how a workload cluster stands at a moment, as far as that matters to what is wanted.
func Read(ctx context.Context, c dynamic.Interface, at time.Time, want *Want) (*State, error) {
	s := &State{At: at}
	u, err := c.Resource(clusterVersions).Get(ctx, clusterVersionName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
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
func (s *State) readPools(ctx context.Context, c dynamic.Interface) error {
	pools, err := c.Resource(configPools).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		pools, err = &unstructured.UnstructuredList{}, nil
	}
	if err != nil {
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
	list, err := c.Resource(clusterNodes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range list.Items {
		s.Nodes = append(s.Nodes, s.readNode(&list.Items[i], selectors))
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

const configPrefix = "machineconfiguration.openshift.io/"

// controlPlaneLabels are on the nodes of a control plane.
var controlPlaneLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func (s *State) readNode(n *unstructured.Unstructured, selectors map[string]map[string]string) Node {
	a, labels := n.GetAnnotations(), n.GetLabels()
	node := Node{
		Name: n.GetName(), Kubelet: fields(n.Object).text("status", "nodeInfo", "kubeletVersion"),
		Config: NodeConfig{Current: a[configPrefix+"currentConfig"], Desired: a[configPrefix+"desiredConfig"], State: a[configPrefix+"state"], Reason: a[configPrefix+"reason"]},
	}
	node.ControlPlane = slices.ContainsFunc(controlPlaneLabels, func(label string) bool { _, is := labels[label]; return is })
	if node.ControlPlane {
		node.Pool = controlPlanePool
		return node
	}
	const workers = "worker"
	for i := range s.Pools { // a custom pool goes before that of the workers, whose label its nodes have too
		name := s.Pools[i].Name
		selector := selectors[name]
		if name == controlPlanePool || len(selector) == 0 || !contains(labels, selector) {
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
func (s *State) readGates(ctx context.Context, c dynamic.Interface, want *Want) error {
	out, leads := leavesMinor(s.Version.Target.Version, want.Version)
	if !leads {
		return nil
	}
	gates, err := readData(ctx, c, gateNamespace, gateName)
	if err != nil {
		return fmt.Errorf("read the gates of ConfigMap %s/%s: %w", gateNamespace, gateName, err)
	}
	if len(gates) == 0 {
		return nil
	}
	acks, err := readData(ctx, c, ackNamespace, ackName)
	if err != nil {
		return fmt.Errorf("read the acknowledged gates of ConfigMap %s/%s: %w", ackNamespace, ackName, err)
	}
	for name, message := range gates {
		if found := gateText.FindStringSubmatch(name); found != nil && found[1] == out {
			s.Gates = append(s.Gates, Gate{Name: name, Message: cmp.Or(message, name), Acknowledged: acks[name] == isAcknowledged})
		}
	}
	slices.SortFunc(s.Gates, func(a, b Gate) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// readData is what a ConfigMap has, nothing where there is none.
func readData(ctx context.Context, c dynamic.Interface, namespace, name string) (map[string]string, error) {
	u, err := c.Resource(configMaps).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	return data, err
}
