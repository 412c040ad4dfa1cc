package clusterspec

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestReservedHostsAreOfTheNamespaceOfAgents: no matter what an AgentMachine says, only Agents are read that it may
// have. Over REST the AgentMachine names ids of the service, and the host has to be of a pool that is opened to the
// namespace, or of the Cluster's own cluster.
func TestReservedHostsAreOfTheNamespaceOfAgents(t *testing.T) {
	for name, of := range map[string]struct {
		note, agents string
		rest         bool
		pools        machines.Pools
		cluster      string // that the service's host-1 belongs to
		want         string
	}{
		"its own":                           {note: "ns/host-1", want: "ns/host-1"},
		"of another namespace":              {note: "other/host-1"},
		"nothing noted":                     {want: "ns/host-1"},
		"of that of Agents":                 {note: "pool/host-1", agents: "pool", want: "pool/host-1"},
		"its own, and Agents are elsewhere": {note: "ns/host-1", agents: "pool"},
		"of a pool over REST":               {note: "env-1/host-1", rest: true, pools: machines.Pools{"ns": {"env-1"}}, want: "env-1/host-1"},
		"of another namespace's pool":       {note: "env-1/host-1", rest: true, pools: machines.Pools{"other": {"env-1"}}},
		"of no pool":                        {note: "env-1/host-1", rest: true},
		"of its cluster over REST":          {note: "env-1/host-1", rest: true, cluster: "own", want: "env-1/host-1"},
		"of another cluster over REST":      {note: "env-1/host-1", rest: true, cluster: "foreign"},
	} {
		t.Run(name, func(t *testing.T) {
			infra := map[string]any{"name": "cp-0", "namespace": "ns"}
			if of.note != "" {
				infra["annotations"] = map[string]any{machines.AnnotationReservedHost: of.note}
			}
			list := append(objects(t),
				&unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
					"metadata": map[string]any{"name": "agentmachines." + agentv1.Group, "labels": map[string]any{"cluster.x-k8s.io/v1beta2": "v1beta2"}},
				}},
				&unstructured.Unstructured{Object: map[string]any{
					"apiVersion": agentv1.Group + "/v1beta2", "kind": machines.KindAgentMachine, "metadata": infra, "spec": map[string]any{"providerID": "agent://host-1"},
				}},
			)
			for _, o := range list {
				if m, is := o.(*clusterv1.Machine); is && m.Name == "cp-0" {
					m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: machines.KindAgentMachine, Name: "cp-0"}
				}
			}
			s := sourceOf(t, list)
			s.Hub, s.Agents, s.Pools = !of.rest, of.agents, of.pools
			c, err := s.Read(t.Context(), lab)
			if err != nil {
				t.Fatal(err)
			}
			observed := &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "own"}}, Hosts: []model.Host{{ID: "host-1", ClusterID: of.cluster}}}
			for i := range c.Machines {
				c.Machines[i].reserved = s.reservation(&c.Machines[i], observed)
			}
			known := ""
			if of.want != "" {
				known = "host-1"
			}
			if m := c.Machines[0]; m.Name != "cp-0" || reservedHost(m) != of.want || metadataOf(m).Name != known || metadataOf(m).UUID != known {
				t.Errorf("%s has %q, of which is known %+v", m.Name, reservedHost(m), metadataOf(m))
			}
		})
	}
}
