package convert

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Format is a format in which clusters are described.
type Format string

// The formats that are read.
const (
	// FormatCluster is cluster.yaml itself, which is not converted.
	FormatCluster Format = "cluster"
	// FormatAgent is install-config.yaml and agent-config.yaml, the input of the
	// agent-based installer.
	FormatAgent Format = "agent"
	// FormatZTP is the objects of a hub: as the agent-based installer has them in
	// a folder, or as they are applied to a hub.
	FormatZTP Format = "ztp"
	// FormatClusterInstance is SiteConfig's ClusterInstance.
	FormatClusterInstance Format = "clusterinstance"
	// FormatAICLI is aicli's parameters.
	FormatAICLI Format = "aicli"
	// FormatCAPI is the Cluster API objects of OpenShift's assisted providers.
	FormatCAPI Format = "capi"
)

// Formats lists the formats that Read converts.
func Formats() []Format {
	return []Format{FormatAgent, FormatZTP, FormatClusterInstance, FormatAICLI, FormatCAPI}
}

// Detect tells the format of what stands at path. data is its text where it was
// read already, nil to read it. The error says what was found instead.
func Detect(path string, data []byte) (Format, error) {
	r := newConversion(spec.OSEnv(), data, Options{})
	in := r.Gather(path)
	if format := formatOf(in); format != "" {
		return format, nil
	}
	if r.Err() == nil {
		r.unknown(path, in)
	}
	if r.Account.Foreign {
		return "", &Foreign{r.Err()}
	}
	return "", r.Err()
}

// Foreign is that an input cannot be used which is no cluster.yaml either: its
// words are those of another format.
type Foreign struct{ Err error }

func (e *Foreign) Error() string { return e.Err.Error() }

func (e *Foreign) Unwrap() error { return e.Err }

// formatOf is what the documents are in; "" where that cannot be told.
func formatOf(in *source.Input) Format {
	found := map[Format]bool{}
	for _, doc := range in.Docs {
		if format := formatOfDocument(doc); format != "" {
			found[format] = true
		}
	}
	for name := range in.Raw {
		if strings.HasPrefix(name, source.DirHostConfig+"/") || strings.HasPrefix(name, source.DirMirror+"/") {
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

func formatOfDocument(doc *source.Document) Format {
	if doc.Root.Kind != source.MapNode {
		return ""
	}
	group, kind := source.KindOfDoc(doc)
	switch {
	case group == "oaictl.io":
		return FormatCluster
	case source.IsAgentConfig(doc.Root) || source.IsInstallConfig(doc.Root):
		return FormatAgent
	case kind == "ClusterInstance":
		return FormatClusterInstance
	case strings.HasSuffix(group, "cluster.x-k8s.io"):
		return FormatCAPI
	case source.IsHubObject(doc):
		return FormatZTP
	case kind == "" && doc.Root.Child("apiVersion") == nil && source.IsAICLI(doc.Root):
		return FormatAICLI
	}
	return ""
}

// unknown tells what was found where no format fits.
func (r *conversion) unknown(path string, in *source.Input) {
	const remedy = "oaictl reads cluster.yaml, install-config.yaml with agent-config.yaml, the manifests of a hub or of the agent-based installer, ClusterInstance, aicli's parameters, and Cluster API objects of OpenShift's assisted control plane"
	for _, doc := range in.Docs {
		_, kind := source.KindOfDoc(doc)
		message := "has none of the keys by which a description of a cluster is known"
		switch {
		case doc.Root.Kind != source.MapNode:
			message = fmt.Sprintf("has to be a map, but is %s", doc.Root.Kind)
		case kind != "":
			message = fmt.Sprintf("the kind %q does not describe a cluster", kind)
		}
		if kind == "SiteConfig" {
			r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", "SiteConfig is not read", "write it as a ClusterInstance, which has taken its place")
			continue
		}
		r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", message, remedy)
	}
	if len(in.Docs) == 0 && len(r.Problems) == 0 {
		r.Problem(path, 0, 0, "", "holds nothing that describes a cluster", remedy)
	}
}
