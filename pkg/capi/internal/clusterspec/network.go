package clusterspec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// networkOf is the static network of a Machine: that of the NMStateConfig which its config selects, nil where it
// selects by nothing. Its InfraEnv is its own, so that there is to be one.
func (s *Source) networkOf(ctx context.Context, m Machine) (*spec.HostNet, error) {
	wanted := m.Config.Spec.NMStateConfigLabelSelector
	if len(wanted.MatchLabels)+len(wanted.MatchExpressions) == 0 {
		return nil, nil
	}
	refuse := func(format string, arguments ...any) error {
		text := fmt.Sprintf("OpenshiftAssistedConfig %s: spec.nmStateConfigLabelSelector ", m.Config.Name) + fmt.Sprintf(format, arguments...)
		return &clusterloop.Refusal{Problems: []string{text}}
	}
	selector, err := metav1.LabelSelectorAsSelector(&wanted)
	if err != nil {
		return nil, refuse("is no selector: %v", err)
	}
	list := &unstructured.UnstructuredList{}
	kind := hubapi.GroupVersionKind(hubapi.KindNMStateConfig)
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	switch err := s.Client.List(ctx, list, client.InNamespace(m.Namespace), client.MatchingLabelsSelector{Selector: selector}); {
	case meta.IsNoMatchError(err):
		return nil, refuse("selects NMStateConfigs, a kind that this cluster does not have")
	case err != nil:
		return nil, fmt.Errorf("list the NMStateConfigs of config %s: %w", m.Config.Name, err)
	}
	found := slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool { return !isTheirs(&u) })
	if len(found) != 1 {
		var names []string
		for i := range found {
			names = append(names, found[i].GetName())
		}
		return nil, refuse("selects %d NMStateConfigs (%s), but each machine has its own InfraEnv: select only one", len(found),
			strings.Join(names, ", "))
	}
	return hostNet(&found[0]), nil
}

// isTheirs reports whether a person has made an NMStateConfig. Those that oaictl makes for an InfraEnv may have
// labels that are selected, too.
func isTheirs(u *unstructured.Unstructured) bool {
	_, own := u.GetLabels()[hubapi.LabelCluster]
	return !own
}

// hostNet is a network in the words of cluster.yaml.
func hostNet(u *unstructured.Unstructured) *spec.HostNet {
	config, _, _ := unstructured.NestedMap(u.Object, "spec", "config")
	interfaces, _, _ := unstructured.NestedSlice(u.Object, "spec", "interfaces")
	net := &spec.HostNet{NMState: &spec.Document{Inline: config}}
	for _, each := range interfaces {
		fields, _ := each.(map[string]any)
		name, _ := fields["name"].(string)
		mac, _ := fields["macAddress"].(string)
		net.Interfaces = append(net.Interfaces, spec.NIC{Name: name, MAC: mac})
	}
	return net
}
