package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/check"
)

// TestClusterOf: an object whose cluster is known wakes that one alone.
func TestClusterOf(t *testing.T) {
	type fields = map[string]any
	for name, test := range map[string]struct {
		kind   Kind
		labels map[string]string
		spec   fields
		wants  string
	}{
		"a ClusterDeployment, whose name others may have": {ClusterDeployments, nil, fields{"clusterName": "lab"}, ""},
		"an AgentClusterInstall":                          {AgentClusterInstalls, nil, fields{"clusterDeploymentRef": fields{"name": "lab"}}, "ns/lab"},
		"an Agent":                                        {Agents, nil, fields{"clusterDeploymentName": fields{"name": "lab", "namespace": "other"}}, "other/lab"},
		"an Agent of a pool":                              {Agents, nil, fields{}, ""},
		"an InfraEnv":                                     {InfraEnvs, nil, fields{"clusterRef": fields{"name": "lab", "namespace": "ns"}}, "ns/lab"},
		"a BareMetalHost that a Cluster has taken":        {BareMetalHosts, map[string]string{"cluster.x-k8s.io/cluster-name": "lab"}, fields{}, "ns/lab"},
		"a BareMetalHost of ours":                         {BareMetalHosts, map[string]string{"oaictl.io/cluster": "lab"}, fields{}, "ns/lab"},
		"a BareMetalHost that nobody has":                 {BareMetalHosts, nil, fields{}, ""},
	} {
		u := &unstructured.Unstructured{Object: fields{"kind": string(test.kind), "spec": test.spec}}
		u.SetNamespace("ns")
		u.SetLabels(test.labels)
		check.Equal(t, ClusterOf(u), test.wants, name)
	}
}
