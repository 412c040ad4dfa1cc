package node

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/pkg/install/model"
)

var etcds = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "etcds"}

// etcdSpace is where the etcd operator keeps what it makes.
const etcdSpace = "openshift-etcd"

// readSecrets reads which certificates there are of members on these nodes. Their contents are not
// read.
func (c *connection) readSecrets(ctx context.Context, nodes []string) ([]string, error) {
	list, err := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(etcdSpace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, listFault("Secrets in "+etcdSpace, err)
	}
	var out []string
	for i := range list.Items {
		name := list.Items[i].Name
		if slices.ContainsFunc(nodes, func(n string) bool {
			return strings.HasPrefix(name, "etcd-") && strings.HasSuffix(name, "-"+strings.ToLower(n))
		}) {
			out = append(out, name)
		}
	}
	return out, nil
}

// readEtcd reads what the etcd operator says of etcd's members; nothing, on a cluster without it.
func (c *connection) readEtcd(ctx context.Context) (*model.Etcd, error) {
	ctx, cancel := context.WithTimeout(withoutLogging(ctx), callTimeout)
	defer cancel()
	operator, err := c.object(ctx, etcds, etcdName)
	if err != nil || operator == nil {
		return nil, err
	}
	endpoints, err := c.configMap(ctx, etcdSpace, etcdEndpoints)
	if err != nil {
		return nil, err
	}
	if err := c.readInstalled(ctx); err != nil {
		return nil, err
	}
	return c.etcdOf(etcdConditions(&unstructured.Unstructured{Object: operator}), endpoints), nil
}

// etcdOf is what the etcd operator's conditions and its list of members say.
func (c *connection) etcdOf(operator map[string]condition, endpoints map[string]string) *model.Etcd {
	etcd := &model.Etcd{Desired: c.etcdInstalled}
	for _, m := range c.polls.machines {
		etcd.ByMachines = etcd.ByMachines || m.ControlPlane && m.Phase == "Running"
	}
	etcd.Members, etcd.Trouble = readMembers(endpoints, func(name string) bool { return c.nodes.Get(name).Name != "" })
	etcd.Message = operator[etcdAvailable].message
	unhealthy, trouble := readHealth(etcd.Message)
	etcd.Unhealthy, etcd.Trouble = unhealthy, cmp.Or(etcd.Trouble, trouble)
	if unsure := operator[etcdUnsure]; unsure.status == "True" {
		etcd.Trouble = cmp.Or(etcd.Trouble, unsure.message, "the etcd operator cannot tell")
	}
	if rolling := operator[etcdRolling]; rolling.status == "True" {
		etcd.Rolling = rolling.message
	}
	return etcd
}

func (c *connection) configMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	m, err := c.Core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its ConfigMap %s/%s: %w", namespace, name, err)
	}
	return m.Data, nil
}

// readMembers reads the members out of the operator's list of endpoints: addresses by the ids of
// the members in hexadecimal. By names of nodes it says that etcd has not answered.
func readMembers(endpoints map[string]string, isNode func(string) bool) (members []model.EtcdMember, trouble string) {
	for id, text := range endpoints {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Sprintf("the address %q of the member %q is not valid", text, id)
		}
		if _, err := strconv.ParseUint(id, 16, 64); err != nil || isNode(id) {
			return nil, fmt.Sprintf("the etcd operator does not know the members of etcd yet, and lists %q instead", id)
		}
		members = append(members, model.EtcdMember{ID: id, Address: address.Unmap()})
	}
	if len(members) == 0 {
		return nil, "the etcd operator lists no members"
	}
	slices.SortFunc(members, func(a, b model.EtcdMember) int { return cmp.Compare(a.ID, b.ID) })
	return members, ""
}

// readHealth reads which members are not well out of what the operator says: "3 members are
// available", or "2 of 3 members are available, cp-1 is unhealthy, 192.0.2.7 has not started".
func readHealth(message string) (unhealthy []string, trouble string) {
	parts := strings.Split(message, ", ")
	counts, is := strings.CutSuffix(parts[0], " members are available")
	if !is {
		return nil, fmt.Sprintf("the etcd operator reports about its members: %q", message)
	}
	first, second, some := strings.Cut(counts, " of ")
	healthy, err := strconv.Atoi(first)
	all, failed := healthy, error(nil)
	if some {
		all, failed = strconv.Atoi(second)
	}
	for _, part := range parts[1:] {
		name, ill := strings.CutSuffix(part, " is unhealthy")
		if !ill {
			name, ill = strings.CutSuffix(part, " has not started")
		}
		if !ill || name == "" {
			return nil, fmt.Sprintf("the etcd operator reports about its members: %q", message)
		}
		unhealthy = append(unhealthy, name)
	}
	if err != nil || failed != nil || healthy < 0 || healthy+len(unhealthy) != all {
		return nil, fmt.Sprintf("the etcd operator reports about its members: %q", message)
	}
	return unhealthy, ""
}

// membersInstalled is how many members the cluster was installed to have, 0 where its
// install-config does not say.
func membersInstalled(text string) int {
	type machines struct {
		Replicas *int `json:"replicas"`
	}
	var config struct {
		ControlPlane machines  `json:"controlPlane"`
		Arbiter      *machines `json:"arbiter"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil || config.ControlPlane.Replicas == nil {
		return 0
	}
	count := *config.ControlPlane.Replicas
	if config.Arbiter != nil && config.Arbiter.Replicas != nil {
		count += *config.Arbiter.Replicas
	}
	return count
}

// readVolumes reads the volumes whose data are on one node.
func readVolumes(all []corev1.PersistentVolume, nodes []string) []model.LocalVolume {
	var out []model.LocalVolume
	for i := range all {
		v := &all[i]
		node := nodeOfVolume(v, nodes)
		if node == "" {
			continue
		}
		local := model.LocalVolume{Name: v.Name, Node: node}
		if ref := v.Spec.ClaimRef; ref != nil && v.Status.Phase == corev1.VolumeBound {
			local.Claim = ref.Namespace + "/" + ref.Name
		}
		out = append(out, local)
	}
	return out
}

// nodeOfVolume is the one node that a volume can be used on, "" for one that several can.
func nodeOfVolume(v *corev1.PersistentVolume, nodes []string) string {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return ""
	}
	for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			ofNode := e.Key == corev1.LabelHostname || e.Key == "topology.topolvm.io/node"
			if ofNode && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 && slices.Contains(nodes, e.Values[0]) {
				return e.Values[0]
			}
		}
	}
	return ""
}
