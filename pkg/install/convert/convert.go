// Package convert turns the formats in which clusters are described elsewhere into
// cluster.yaml, and cluster.yaml into them: [Read], [Write]. What a format cannot
// say is never dropped: each value is listed as a [Loss].
package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/agent"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/aicli"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/capi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/clusterinstance"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/output"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/ztp"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Options say how an input is read and an output is written.
type Options struct {
	// Secrets says that [Write] writes secrets; otherwise each is listed as a Loss. The other fields are for reading.
	Secrets bool
	// Format of the input; "" to find out.
	Format Format
	// Data is the input's text where it was read already, from standard input for
	// one; path then only names it, and what else belongs to it is looked for
	// beside that path. nil to read the path.
	Data []byte
	// Version of OpenShift, for formats that do not say which one is installed
	// ("4.20"). It wins over one that the input says, which is told as a Loss, but not
	// over a release that the input names by its image or by its ClusterImageSet.
	Version string
	// Name of the cluster, for aicli's parameters, which need not say it, and of the
	// cluster that the machines of a nodes-config.yaml are added to.
	Name string
	// AcceptUnknownHosts says that machines which the input does not name may be
	// installed, and so wiped. Without it an input that names fewer machines than
	// the cluster has is refused, though its own format may take any.
	AcceptUnknownHosts bool
	// PullSecret names a file with the pull secret, for an input without one; a relative path
	// begins in the current folder, wherever the input is.
	PullSecret string
	// Find says that a cluster is looked for, and not made: what is only needed to
	// install one, its version and its pull secret, may be missing. The Document of
	// such an input is none that spec.Load takes; Converted.Cluster is what it says.
	Find bool
	// Env is how files are reached; the process's own for the zero Env.
	Env spec.Env
}

func (o Options) env() spec.Env {
	if o.Env.ReadFile == nil && o.Env.ReadDir == nil {
		return spec.OSEnv()
	}
	return o.Env
}

// Converted is what was read.
type Converted struct {
	// Document is the text of cluster.yaml. Beside Files it is one that spec.Load
	// takes, or with [spec.Env] Nodes where the format only adds machines (FormatNodes). Equal
	// inputs make equal bytes.
	Document []byte
	// Cluster is what Document says, read and checked already.
	Cluster *spec.Cluster
	// Files are what the document refers to, by their slash-separated paths
	// relative to it. They hold secrets: write them so that only the user may read
	// them (0600).
	Files map[string][]byte
	// Losses are what is in the input and not in the document, in the input's
	// order.
	Losses []Loss
	// Idle are what the format has to have, or repeats, and what says nothing of
	// the cluster: each is accounted for, and nothing is lost with it.
	Idle []Loss
	// Notes are what has to be known of the document, each one sentence.
	Notes []string
	// Format that the input is in.
	Format Format
	// Origins are where the input says the fields of Document: for
	// spec.Cluster.SetOrigins. Cluster has them already.
	Origins map[string]spec.Origin
}

// ErrIsCluster says that an input is cluster.yaml already.
var ErrIsCluster = errors.New("is a cluster.yaml already, which needs no conversion")

type conversion struct {
	*fields.Reader
	options Options
}

func newConversion(env spec.Env, data []byte, o Options) *conversion {
	return &conversion{Reader: &fields.Reader{Account: input.New(env, data)}, options: o}
}

// Read reads the cluster at path, a file or a folder, in any format but
// cluster.yaml itself (ErrIsCluster). What is wrong with the input is a
// *spec.Problems with all of it; what the document has no place for is no error,
// but stands in Losses.
func Read(ctx context.Context, path string, o Options) (*Converted, error) {
	r := newConversion(o.env(), o.Data, o)
	in := r.Gather(path)
	if err := r.Err(); err != nil {
		return nil, err
	}
	format := cmp.Or(o.Format, formatOf(in))
	switch format {
	case FormatAgent:
		agent.Read(r.Reader, in)
	case FormatZTP:
		ztp.Read(r.Reader, in)
	case FormatClusterInstance:
		clusterinstance.Read(r.Reader, in)
	case FormatAICLI:
		aicli.Read(r.Reader, in, o.Name)
	case FormatCAPI:
		capi.Read(r.Reader, in)
	case FormatNodes:
		agent.ReadNodes(r.Reader, in, o.Name)
	case FormatCluster:
		return nil, fmt.Errorf("%s %w", path, ErrIsCluster)
	default:
		r.unknown(path, in)
	}
	return r.finish(ctx, format, in)
}

// Loss is one thing that a format has no place for, or that a reader or a writer of it leaves behind. Nothing is dropped
// without one.
type Loss struct {
	// Path of the value in the document that it was read from, such as spec.hosts[2].disk.keep; behind a file's name and a
	// colon where the source is several files.
	Path string `json:"path"`
	// Value that is left behind, as encoding/json decodes it, with a number as a json.Number where it is written as JSON has
	// it. A secret is the text "[redacted]".
	Value any `json:"value"`
	// Why it is left behind, and what to do about it.
	Why string `json:"why"`
}

func lossesOf(list []losses.Loss) []Loss {
	out := slices.Grow([]Loss(nil), len(list))
	for _, l := range list {
		out = append(out, Loss(l))
	}
	return out
}

// File is a file of a format.
type File struct {
	// Path is relative to the folder, with slashes.
	Path string
	// Content of the file.
	Content []byte
	// Secret says that only its owner may read the file.
	Secret bool
}

// Write makes the files that describe a cluster in another format, and what of
// the cluster they have no place for: [FormatAgent] and [FormatZTP] for the
// agent-based installer, and [FormatClusterInstance], which is one file. The
// error is about a document in the cluster that cannot be read, about manifests
// that the format does not take, or about a format that is not written.
func Write(c *spec.Cluster, format Format, o Options) ([]File, []Loss, error) {
	var write func(*spec.Cluster, bool) ([]output.File, []losses.Loss, error)
	switch format {
	case FormatAgent:
		write = agent.Write
	case FormatZTP:
		write = ztp.Write
	case FormatClusterInstance:
		write = clusterinstance.Write
	default:
		return nil, nil, fmt.Errorf("the format %s is not written", format)
	}
	written, left, err := write(c, o.Secrets)
	var files []File
	for _, f := range written {
		files = append(files, File(f))
	}
	return files, lossesOf(left), err
}

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
	// FormatClusterInstance is SiteConfig's ClusterInstance, or the SiteConfig of before it.
	FormatClusterInstance Format = "clusterinstance"
	// FormatAICLI is aicli's parameters.
	FormatAICLI Format = "aicli"
	// FormatCAPI is the Cluster API objects of OpenShift's assisted providers.
	FormatCAPI Format = "capi"
	// FormatNodes is nodes-config.yaml of oc adm node-image, which adds machines to a
	// cluster that is installed: it becomes a document of kind Nodes.
	FormatNodes Format = "nodes-config"
)

// Formats lists the formats that Read converts.
func Formats() []Format {
	return []Format{FormatAgent, FormatZTP, FormatClusterInstance, FormatAICLI, FormatCAPI, FormatNodes}
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

func formatOf(in *input.Input) Format {
	found := map[Format]bool{}
	for _, doc := range in.Docs {
		if format := formatOfDocument(doc); format != "" {
			found[format] = true
		}
	}
	for name := range in.Raw {
		if strings.HasPrefix(name, input.DirHostConfig+"/") || strings.HasPrefix(name, input.DirMirror+"/") {
			if !found[FormatAgent] {
				found[FormatZTP] = true
			}
		}
	}
	// An object of a hub stands beside a ClusterInstance, or beside Cluster API's.
	for _, format := range []Format{FormatCluster, FormatAgent, FormatClusterInstance, FormatCAPI, FormatZTP, FormatAICLI, FormatNodes} {
		if found[format] {
			return format
		}
	}
	return ""
}

func formatOfDocument(doc *input.Document) Format {
	if doc.Root.Kind != input.MapNode {
		return ""
	}
	group, kind := input.KindOfDoc(doc)
	switch {
	case group == "oaictl.io":
		return FormatCluster
	case input.IsAgentConfig(doc.Root) || input.IsInstallConfig(doc.Root):
		return FormatAgent
	case kind == "ClusterInstance" || kind == "SiteConfig":
		return FormatClusterInstance
	case strings.HasSuffix(group, "cluster.x-k8s.io"):
		return FormatCAPI
	case input.IsHubObject(doc):
		return FormatZTP
	case kind == "" && doc.Root.Child("apiVersion") == nil && input.IsAICLI(doc.Root):
		return FormatAICLI
	case kind == "" && doc.Root.Child("apiVersion") == nil && input.IsNodesConfig(doc.Root):
		return FormatNodes
	}
	return ""
}

func (r *conversion) unknown(path string, in *input.Input) {
	const remedy = "oaictl reads cluster.yaml, install-config.yaml with agent-config.yaml, the manifests of a hub or of the agent-based " +
		"installer, ClusterInstance, aicli's parameters, nodes-config.yaml, and Cluster API objects of OpenShift's assisted control plane"
	for _, doc := range in.Docs {
		_, kind := input.KindOfDoc(doc)
		message := "has none of the keys by which a description of a cluster is known"
		switch {
		case doc.Root.Kind != input.MapNode:
			message = fmt.Sprintf("has to be a map, but is %s", doc.Root.Kind)
		case kind != "":
			message = fmt.Sprintf("the kind %q does not describe a cluster", kind)
		}
		if input.IsHosted(doc) {
			message, remedy := input.Hosted(kind)
			r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "kind", message, remedy)
			continue
		}
		r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", message, remedy)
	}
	if len(in.Docs) == 0 && len(r.Problems) == 0 {
		r.Problem(path, 0, 0, "", "holds nothing that describes a cluster", remedy)
	}
}
