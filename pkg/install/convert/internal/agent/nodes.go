package agent

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ReadNodes reads nodes-config.yaml, the input of oc adm node-image, which takes the cluster
// from a kubeconfig: cluster is what it is called here.
func ReadNodes(s *fields.Reader, in *input.Input, cluster string) {
	r := &reader{s}
	r.Nowhere = "a document of kind Nodes has no place for it, and oc adm node-image knows no such key"
	r.AgentBased = true
	r.Nodes = &spec.Nodes{APIVersion: spec.APIVersion, Kind: spec.KindNodes, Spec: spec.NodesSpec{Cluster: cluster}}
	if len(in.Docs) > 1 {
		r.Problem(in.Path, 0, 0, "", fmt.Sprintf("there are %d documents, and nodes-config.yaml is one", len(in.Docs)), "name the file alone")
		return
	}
	n := in.Docs[0].Root
	if cluster == "" {
		r.Problem(n.In.File, n.Line, n.Col, "", "does not say which cluster the machines are added to",
			"add it to the command: --name lab.example.com")
	}
	r.Fields(n, fields.NodesConfig, fields.NoHost)
	r.Keys(n, "nodes-config")
	for i, item := range r.ListOf(n.Get("hosts")) {
		r.agentHost(item)
		if i < len(r.Cluster.Spec.Hosts) && r.Host(i).Role == "" {
			r.Host(i).Role = spec.Worker // which is all that oc adm node-image adds unasked
		}
	}
	if arch := n.Get("cpuArchitecture"); arch != nil {
		word := clustersettings.CanonicalWord[spec.Arch](r.Text(arch))
		for i := range r.Cluster.Spec.Hosts {
			r.Host(i).Arch = word
			r.From(fields.HostField(i, "arch"), arch)
		}
	}
	for i := range r.Cluster.Spec.Hosts {
		r.NameHost(i)
	}
	r.RestOfFiles(in)
}
