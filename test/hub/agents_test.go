package hub

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/hubapi"
)

// approvedStrangers says whether an Agent was approved whose MAC addresses the
// file does not name. Over REST there is nothing to approve.
func (x *site) approvedStrangers(t testing.TB) bool {
	t.Helper()
	if !x.hub {
		return false
	}
	known := map[string]bool{}
	for i := range x.cluster.Spec.Hosts {
		known[strings.ToLower(x.cluster.Spec.Hosts[i].Match.MAC)] = true
	}
	list, err := x.client.Resource(hubapi.Agents()).Namespace(x.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	strangers := 0
	for _, agent := range list.Items {
		named := false
		interfaces, _, _ := unstructured.NestedSlice(agent.Object, "status", "inventory", "interfaces")
		for _, i := range interfaces {
			fields, _ := i.(map[string]any)
			mac, _ := fields["macAddress"].(string)
			named = named || known[strings.ToLower(mac)]
		}
		if named {
			continue
		}
		strangers++
		if approved, _, _ := unstructured.NestedBool(agent.Object, "spec", "approved"); approved {
			return true
		}
	}
	if strangers == 0 {
		t.Error("no stranger has come")
	}
	return false
}
