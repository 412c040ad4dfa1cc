package manifest

import (
	"fmt"
	"strings"
)

// formatOfInput is what the documents are in; "" where that cannot be told.
func formatOfInput(in *input) Format {
	found := map[Format]bool{}
	for _, doc := range in.docs {
		if format := formatOfDocument(doc); format != "" {
			found[format] = true
		}
	}
	for name := range in.raw {
		if strings.HasPrefix(name, dirHostConfig+"/") || strings.HasPrefix(name, dirMirror+"/") {
			if !found[FormatAgent] {
				found[FormatZTP] = true
			}
		}
	}
	// An object of a hub stands beside a ClusterInstance, or beside Cluster API's.
	for _, format := range []Format{FormatCluster, FormatAgent, FormatClusterInstance, FormatCAPI, FormatZTP, FormatAICLI} {
		if found[format] {
			return format
		}
	}
	return ""
}

func formatOfDocument(doc *document) Format {
	if doc.root.kind != mapNode {
		return ""
	}
	group, kind := kindOfDoc(doc)
	switch {
	case group == "oaictl.io":
		return FormatCluster
	case isAgentConfig(doc.root) || isInstallConfig(doc.root):
		return FormatAgent
	case kind == "ClusterInstance":
		return FormatClusterInstance
	case strings.HasSuffix(group, "cluster.x-k8s.io"):
		return FormatCAPI
	case isHubObject(doc):
		return FormatZTP
	case kind == "" && doc.root.child("apiVersion") == nil && isAICLI(doc.root):
		return FormatAICLI
	}
	return ""
}

// unknown tells what was found where no format fits.
func (r *conversion) unknown(path string, in *input) {
	const remedy = "oaictl reads cluster.yaml, install-config.yaml with agent-config.yaml, the manifests of a hub or of the agent-based installer, ClusterInstance, aicli's parameters, and Cluster API objects of OpenShift's assisted control plane"
	for _, doc := range in.docs {
		_, kind := kindOfDoc(doc)
		message := "has none of the keys by which a description of a cluster is known"
		switch {
		case doc.root.kind != mapNode:
			message = fmt.Sprintf("has to be a map, but is %s", doc.root.kind)
		case kind != "":
			message = fmt.Sprintf("the kind %q does not describe a cluster", kind)
		}
		if kind == "SiteConfig" {
			r.problem(doc.file, doc.root.line, doc.root.col, "", "SiteConfig is not read", "write it as a ClusterInstance, which has taken its place")
			continue
		}
		r.problem(doc.file, doc.root.line, doc.root.col, "", message, remedy)
	}
	if len(in.docs) == 0 && len(r.problems) == 0 {
		r.problem(path, 0, 0, "", "holds nothing that describes a cluster", remedy)
	}
}
