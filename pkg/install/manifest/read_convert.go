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

// conversion is a reader with what the caller asks for.
type conversion struct {
	*reader
	options ReadOptions
}

// Read reads the cluster at path, a file or a folder, in any format but
// cluster.yaml itself (ErrIsCluster). What is wrong with the input is a
// *spec.Problems with all of it; what the document has no place for is no error,
// but stands in Losses.
func Read(ctx context.Context, path string, o ReadOptions) (*Converted, error) {
	r := &conversion{reader: newReader(o.env(), o.Data), options: o}
	in := r.gather(path)
	if err := r.err(); err != nil {
		return nil, err
	}
	format := cmp.Or(o.Format, formatOfInput(in))
	switch format {
	case FormatAgent:
		r.agent(in)
	case FormatZTP:
		r.ztp(in)
	case FormatClusterInstance:
		r.clusterInstances(in)
	case FormatAICLI:
		r.aicli(in, o.Name)
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
	r := &conversion{reader: newReader(spec.OSEnv(), data)}
	in := r.gather(path)
	if format := formatOfInput(in); format != "" {
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

