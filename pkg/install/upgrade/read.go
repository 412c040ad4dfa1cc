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

	"github.com/oaictl/oaictl/pkg/install/model"
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

// Read says how an installed cluster stands at a moment, as far as that matters to what is wanted.
func Read(ctx context.Context, c dynamic.Interface, at time.Time, want *Want) (*State, error) {
	s := &State{At: at}
	u, err := c.Resource(clusterVersions).Get(ctx, clusterVersionName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("read the ClusterVersion: %w", err)
	}
	if id := fields(u.Object).text("spec", "clusterID"); want.ClusterID != "" && !strings.EqualFold(id, want.ClusterID) {
		return nil, &model.Fault{
			Code: model.CodeInput, Permanent: true, Next: "give the kubeconfig of this cluster",
			Err: fmt.Errorf("the kubeconfig is for another cluster: it reaches %s, expected %s", cmp.Or(oneLine(id), "nothing"),
				want.ClusterID),
		}
	}
	s.version = readVersion(u)
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

func (f fields) release(path ...string) payload {
	return payload{Version: f.text(append(slices.Clone(path), "version")...), Image: f.text(append(slices.Clone(path), "image")...)}
}

func (f fields) conditions(path ...string) map[string]condition {
	found := map[string]condition{}
	for _, c := range f.list(path...) {
		found[c.text("type")] = condition{Status: c.text("status"), Reason: c.text("reason"), Message: c.text("message"),
			Since: c.moment("lastTransitionTime")}
	}
	return found
}

func readVersion(u *unstructured.Unstructured) *clusterVersion {
	f := fields(u.Object)
	v := &clusterVersion{
		ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(), Observed: f.number("status", "observedGeneration"),
		Channel: f.text("spec", "channel"), Target: f.release("status", "desired"), Conditions: f.conditions("status", "conditions"),
	}
	if asked, is, _ := unstructured.NestedMap(f, "spec", "desiredUpdate"); is && len(asked) > 0 {
		a := fields(asked)
		v.Asked = &desiredUpdate{Version: a.text("version"), Image: a.text("image"), Architecture: a.text("architecture"), Mode: a.text("mode"),
			Force: a.flag("force")}
	}
	for _, h := range f.list("status", "history") {
		v.History = append(v.History, historyEntry{payload: h.release(), Completed: h.text("state") == "Completed",
			Started: h.moment("startedTime")})
	}
	for _, a := range f.list("status", "availableUpdates") {
		v.Available = append(v.Available, a.release())
	}
	for _, entry := range f.list("status", "conditionalUpdates") {
		recommended := entry.conditions("conditions")["Recommended"]
		c := conditional{payload: entry.release("release"), Recommended: recommended.Status == isTrue, Reason: recommended.Reason,
			Message: recommended.Message}
		for _, r := range entry.list("risks") {
			if len(r.list("conditions")) > 0 && r.conditions("conditions")["Applies"].Status == isFalse {
				continue // it is no risk of this cluster
			}
			c.Risks = append(c.Risks, conditionalRisk{Name: r.text("name"), Message: r.text("message"), URL: r.text("url")})
		}
		v.Conditional = append(v.Conditional, c)
	}
	return v
}

// readPools reads the pools and the nodes.
func (s *State) readPools(ctx context.Context, c dynamic.Interface) error {
	pools, err := c.Resource(configPools).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		pools, err = &unstructured.UnstructuredList{}, nil
	}
	if err != nil {
		return fmt.Errorf("list the MachineConfigPools: %w", err)
	}
	for i := range pools.Items {
		f := fields(pools.Items[i].Object)
		degraded := f.conditions("status", "conditions")["Degraded"]
		p := model.Pool{
			Name: pools.Items[i].GetName(), Paused: f.flag("spec", "paused"), Degraded: degraded.Status == isTrue,
			Message: cmp.Or(degraded.Message, degraded.Reason), Config: f.text("spec", "configuration", "name"),
			Machines: f.number("status", "machineCount"), Updated: f.number("status", "updatedMachineCount"),
		}
		p.Labels, _, _ = unstructured.NestedStringMap(f, "spec", "nodeSelector", "matchLabels")
		s.Pools = append(s.Pools, p)
	}
	slices.SortFunc(s.Pools, func(a, b model.Pool) int { return strings.Compare(a.Name, b.Name) })
	list, err := c.Resource(clusterNodes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range list.Items {
		s.Nodes = append(s.Nodes, readNode(&list.Items[i]))
	}
	slices.SortFunc(s.Nodes, func(a, b model.Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

const configPrefix = "machineconfiguration.openshift.io/"

const rolePrefix = "node-role.kubernetes.io/"

func readNode(n *unstructured.Unstructured) model.Node {
	a := n.GetAnnotations()
	node := model.Node{
		Name: n.GetName(), Version: fields(n.Object).text("status", "nodeInfo", "kubeletVersion"), Labels: n.GetLabels(),
		Config: model.NodeConfig{
			Current: a[configPrefix+"currentConfig"], Desired: a[configPrefix+"desiredConfig"],
			State: a[configPrefix+"state"], Reason: a[configPrefix+"reason"],
		},
	}
	for label := range node.Labels {
		if role, is := strings.CutPrefix(label, rolePrefix); is && role != "" {
			node.Roles = append(node.Roles, role)
		}
	}
	slices.Sort(node.Roles)
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

// gateText is the name of a gate, with the minor version that it is passed on the way out of. It goes into a command.
var gateText = regexp.MustCompile(`^ack-(\d+\.\d+)-[A-Za-z0-9._][A-Za-z0-9._-]*$`)

// readGates reads the gates that lead out of the minor version that the cluster is at, where another
// one is wanted.
func (s *State) readGates(ctx context.Context, c dynamic.Interface, want *Want) error {
	out, leads := leavesMinor(cmp.Or(s.version.Target.Version, s.Current()), want.Version)
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
			s.gates = append(s.gates, adminGate{Name: name, Message: cmp.Or(message, name), Acknowledged: acks[name] == isAcknowledged})
		}
	}
	slices.SortFunc(s.gates, func(a, b adminGate) int { return strings.Compare(a.Name, b.Name) })
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
