package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// ReadOptions say how an input is read.
type ReadOptions struct {
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
	// Name of the cluster, for aicli's parameters, which need not say it.
	Name string
	// AcceptUnknownHosts says that machines which the input does not name may be
	// installed, and so wiped. Without it an input that names fewer machines than
	// the cluster has is refused, though its own format may take any.
	AcceptUnknownHosts bool
	// PullSecret names a file with the pull secret, for an input without one.
	PullSecret string
	// Look says that a cluster is looked for, and not made: what is only needed to
	// install one, its version and its pull secret, may be missing. The Document of
	// such an input is none that spec.Load takes; Converted.Cluster is what it says.
	Look bool
	// Env is how files are reached; the process's own for the zero Env.
	Env spec.Env
}

func (o ReadOptions) env() spec.Env {
	if o.Env.ReadFile == nil && o.Env.ReadDir == nil {
		return spec.OSEnv()
	}
	return o.Env
}

// Converted is what was read.
type Converted struct {
	// Document is the text of cluster.yaml. Beside Files it is one that spec.Load
	// takes. Equal inputs make equal bytes.
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
}

// Env is base with the files of c as if they stood beside the document, which is
// called name. With it spec.Parse takes the document before anything is written.
func (c *Converted) Env(name string, base spec.Env) spec.Env {
	overlay := base
	dir := filepath.Dir(name)
	overlay.ReadFile = func(file string) ([]byte, error) {
		if data, ok := c.Files[relative(dir, file)]; ok {
			return data, nil
		}
		if base.ReadFile == nil {
			return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
		}
		return base.ReadFile(file)
	}
	overlay.ReadDir = func(folder string) ([]fs.DirEntry, error) {
		if entries := listed(c.Files, relative(dir, folder)); len(entries) > 0 {
			return entries, nil
		}
		if base.ReadDir == nil {
			return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrNotExist}
		}
		return base.ReadDir(folder)
	}
	return overlay
}

// relative is file as seen from dir, with slashes; file itself where it does not
// lie below.
func relative(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(file)
}

// listed are the files of a folder, in the order of their names.
func listed(files map[string][]byte, folder string) []fs.DirEntry {
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Dir(name) == folder {
			entries = append(entries, listedFile{path.Base(name)})
		}
	}
	return entries
}

// listedFile is a file that is kept in memory.
type listedFile struct{ name string }

func (f listedFile) Name() string               { return f.name }
func (f listedFile) IsDir() bool                { return false }
func (f listedFile) Type() fs.FileMode          { return 0 }
func (f listedFile) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// ErrIsCluster says that an input is cluster.yaml already.
var ErrIsCluster = errors.New("is a cluster.yaml already, which needs no conversion")

// Read reads the cluster at path, a file or a folder, in any format but
// cluster.yaml itself (ErrIsCluster). What is wrong with the input is a
// *spec.Problems with all of it; what the document has no place for is no error,
// but stands in Losses.
func Read(ctx context.Context, path string, o ReadOptions) (*Converted, error) {
	r := newReader(o)
	in := r.gather(path)
	if err := r.err(); err != nil {
		return nil, err
	}
	format := cmp.Or(o.Format, in.format())
	switch format {
	case FormatAgent:
		r.agent(in)
	case FormatZTP:
		r.ztp(in)
	case FormatClusterInstance:
		r.clusterInstances(in)
	case FormatAICLI:
		r.aicli(in)
	case FormatCAPI:
		r.capi(in)
	case FormatCluster:
		return nil, fmt.Errorf("%s %w", path, ErrIsCluster)
	default:
		r.unknown(path, in)
	}
	return r.finish(ctx, format, in)
}

// Detect tells the format of what stands at path. data is its text where it was
// read already, nil to read it. The error says what was found instead.
func Detect(path string, data []byte) (Format, error) {
	r := newReader(ReadOptions{Data: data})
	in := r.gather(path)
	if format := in.format(); format != "" {
		return format, nil
	}
	if r.err() == nil {
		r.unknown(path, in)
	}
	if r.foreign {
		return "", &Foreign{r.err()}
	}
	return "", r.err()
}

// Foreign is that an input cannot be used which is no cluster.yaml either: its
// words are those of another format.
type Foreign struct{ Err error }

func (e *Foreign) Error() string { return e.Err.Error() }
func (e *Foreign) Unwrap() error { return e.Err }

// err is every problem so far as a *spec.Problems in the order of the files, or
// nil.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &spec.Problems{List: slices.Compact(r.problems)}
}

// finish accounts for every key, writes the document, and has it checked as
// spec.Load will check it.
func (r *reader) finish(ctx context.Context, format Format, in *input) (*Converted, error) {
	out := &Converted{Format: format, Files: r.files, Notes: r.notes}
	if len(r.problems) == 0 {
		r.complete(out, in)
	}
	for _, doc := range r.docs {
		r.rest(doc.root, cmp.Or(r.nowhere, "cluster.yaml has no place for it"))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	r.moveDocuments()
	out.Document = emit(r.cluster, r.present, r.written)
	out.Cluster = r.cluster
	out.Losses = sortLosses(r.losses, in.names())
	out.Idle = sortLosses(r.idle, in.names())
	if err := r.check(ctx, out, in); err != nil {
		return nil, err
	}
	return out, nil
}

// complete fills in what the options say and what the input means by saying
// nothing.
func (r *reader) complete(out *Converted, in *input) {
	s := &r.cluster.Spec
	r.wantedVersion()
	if s.PullSecret.IsZero() && r.options.PullSecret != "" {
		s.PullSecret = spec.Source{File: r.options.PullSecret}
	}
	hosts := 0
	for i := range s.Hosts {
		r.nameHost(i)
		hosts++
	}
	wanted := 0
	for _, n := range []*int{s.Topology.ControlPlane, s.Topology.Workers, s.Topology.Arbiters} {
		if n != nil {
			wanted += *n
		}
	}
	if hosts == 0 || hosts < wanted {
		r.missingHosts(out, in, hosts, max(wanted, hosts))
	}
}

// wantedVersion puts the version of the options in the place of the input's. A
// release that the input names by its image, or by its set, would be installed all
// the same.
func (r *reader) wantedVersion() {
	o, wanted := &r.cluster.Spec.OpenShift, r.options.Version
	if wanted == "" || wanted == o.Version {
		return
	}
	at := r.origins["spec.openshift.version"]
	release := cmp.Or(r.origins["spec.openshift.releaseImage"], r.origins["spec.openshift.imageSet"])
	switch {
	case at == nil:
	case o.ReleaseImage != "" || o.ImageSet != "":
		r.wrong(release, fmt.Sprintf("says which release is installed, %s, and --openshift-version %s does not change that", o.Version, wanted), "take --openshift-version away, or change the release here")
		return
	default:
		r.losses = append(r.losses, lost{at: at, loss: Loss{Path: at.path(), Value: shown(at), Why: "--openshift-version says " + wanted}})
	}
	o.Version = wanted
}

// missingHosts has any machine taken for those that the input does not name, if
// that is asked for.
func (r *reader) missingHosts(out *Converted, in *input, hosts, wanted int) {
	if !r.options.AcceptUnknownHosts {
		message := fmt.Sprintf("names %s, but the cluster has %s: any machine that boots the image would be taken for the others, and its disk wiped", counted(hosts, "host"), counted(wanted, "machine"))
		if wanted == 0 {
			message = "names no hosts: any machine that boots the image would be taken, and its disk wiped"
		}
		r.problem(in.path, 0, 0, "", message, "name the missing hosts, or ask for it beside the input: --accept-unknown-hosts")
		return
	}
	r.cluster.Spec.AcceptUnknownHosts = true
	out.Notes = append(out.Notes, fmt.Sprintf("the input names %s: any other machine that boots the image is taken for one of the cluster and its disk is wiped", counted(hosts, "host")))
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// check has the cluster checked as spec.Load does, and tells what is wrong where
// it stands in the input.
func (r *reader) check(ctx context.Context, out *Converted, in *input) error {
	err := r.cluster.Resolve(ctx, ".", out.Env("cluster.yaml", r.env))
	var wrong *spec.Problems
	if !errors.As(err, &wrong) {
		return err
	}
	for _, p := range wrong.List {
		if r.options.Look && r.neededToInstall(p) {
			continue
		}
		p.File, p.Line, p.Column = in.path, 0, 0
		if at := r.origin(p.Field); at != nil {
			p.File = at.in.file
			p.Line, p.Column = at.place()
		}
		r.problems = append(r.problems, r.explained(p))
	}
	return r.err()
}

// neededToInstall says whether a problem is that the input does not say what only
// an install needs.
func (r *reader) neededToInstall(p spec.Problem) bool {
	return p.Field == "spec.openshift.version" && r.cluster.Spec.OpenShift.Version == "" || p.Field == "spec.pullSecret" && r.cluster.Spec.PullSecret.IsZero()
}

// origin is what a field, or the nearest one around it, came from.
func (r *reader) origin(field string) *node {
	for {
		if n := r.origins[field]; n != nil {
			return n
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return nil
		}
		field = field[:cut]
	}
}

// explained says what to do about a field that the input has no place for.
func (r *reader) explained(p spec.Problem) spec.Problem {
	switch {
	case p.Field == "spec.openshift.version" && p.Line == 0:
		p.Message, p.Remedy = "the input does not say which OpenShift is installed", "say it beside the input: --openshift-version 4.20"
	case p.Field == "metadata.name" && p.Line == 0:
		p.Message, p.Remedy = "the input does not say what the cluster is called", "say it beside the input: --name NAME"
	case p.Field == "spec.pullSecret" && p.Line == 0:
		p.Message, p.Remedy = "the input has no pull secret", "name its file beside the input: --pull-secret PATH"
	}
	return p
}
