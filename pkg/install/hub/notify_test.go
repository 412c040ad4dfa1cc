package hub

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// bound is a reference to a cluster of a namespace.
func bound(namespace, cluster string) map[string]any {
	return map[string]any{"name": cluster, "namespace": namespace}
}

// deployed are the objects of a cluster.
func deployed(namespace, name string) []*unstructured.Unstructured {
	cd := object("hive.openshift.io/v1", hubapi.KindClusterDeployment, namespace, name, map[string]any{"spec": map[string]any{
		"clusterName": name, "baseDomain": "example.com",
		"clusterInstallRef": map[string]any{"group": hubapi.GroupHiveExtension, "kind": hubapi.KindAgentClusterInstall, "name": name, "version": "v1beta1"},
	}})
	cd.SetLabels(map[string]string{hubapi.LabelCluster: name})
	aci := object("extensions.hive.openshift.io/v1beta1", hubapi.KindAgentClusterInstall, namespace, name, map[string]any{"spec": map[string]any{
		"clusterDeploymentRef": map[string]any{"name": name},
	}})
	env := object("agent-install.openshift.io/v1beta1", hubapi.KindInfraEnv, namespace, name, map[string]any{"spec": map[string]any{"clusterRef": bound(namespace, name)}})
	all := []*unstructured.Unstructured{cd, aci, env}
	for _, u := range all {
		u.SetResourceVersion("1")
		u.SetUID("1")
	}
	return all
}

// A cluster's objects tell of themselves once they are other than was observed, and so does what
// belongs to nobody; those of other clusters, and what was seen already, do not.
func TestChangedIsTold(t *testing.T) {
	version := 10
	newer := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		version++
		u.SetResourceVersion(strconv.Itoa(version))
		return u
	}
	agent := func(spec map[string]any) *unstructured.Unstructured {
		u := object("agent-install.openshift.io/v1beta1", hubapi.KindAgent, "ns", "a-1", map[string]any{"spec": spec})
		u.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: "lab"})
		return u
	}
	manifests := func(cluster string) *unstructured.Unstructured {
		u := object("v1", hubapi.KindConfigMap, "ns", cluster+"-manifests", map[string]any{})
		u.SetLabels(map[string]string{hubapi.LabelCluster: cluster})
		return u
	}
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		tells  bool
	}{
		"its Agent":                          {agent(map[string]any{"clusterDeploymentName": bound("ns", "lab")}), true},
		"an Agent of nobody":                 {agent(map[string]any{}), true},
		"an Agent of another cluster":        {agent(map[string]any{"clusterDeploymentName": bound("ns", "other")}), false},
		"an Agent of one of another place":   {agent(map[string]any{"clusterDeploymentName": bound("else", "lab")}), false},
		"its AgentClusterInstall":            {deployed("ns", "lab")[1], true},
		"another's AgentClusterInstall":      {deployed("ns", "other")[1], false},
		"its InfraEnv":                       {deployed("ns", "lab")[2], true},
		"another's InfraEnv":                 {deployed("ns", "other")[2], false},
		"a ClusterDeployment, of which name": {deployed("ns", "other")[0], true},
		"its manifests":                      {manifests("lab"), true},
		"another's manifests":                {manifests("other"), false},
	} {
		p, at := filledPlane(t, "ns")
		put(t, at, deployed("ns", "lab")...)
		query := model.Query{Name: "lab", ID: "ns/lab"}
		told := func() bool {
			select {
			case <-p.Changed(query):
				return true
			default:
				return false
			}
		}
		look := func() {
			t.Helper()
			if _, err := p.Observe(t.Context(), query, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !told() {
			t.Errorf("%s: nothing was observed, and all of it is known", name)
		}
		look()
		put(t, at, deployed("ns", "lab")...) // as they are
		if told() {
			t.Errorf("%s: nothing is other than it was observed", name)
		}
		changed := p.Changed(query)
		put(t, at, newer(test.object))
		if got := told(); got != test.tells {
			t.Errorf("%s: told %v", name, got)
		}
		select {
		case <-changed:
			if !test.tells {
				t.Errorf("%s: who waits already is told", name)
			}
		default:
			if test.tells {
				t.Errorf("%s: who waits already is not told", name)
			}
		}
		if look(); told() {
			t.Errorf("%s: told again, though it was observed", name)
		}
	}
}
