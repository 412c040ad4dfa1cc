package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// maxInline is how large a document may grow before the networks of its hosts
// stand in files of their own, in bytes: spec.Load takes 1 MiB.
const maxInline = 640 << 10

// moveDocuments moves documents with secrets, and the networks of many hosts, into files.
func (r *conversion) moveDocuments() {
	s := &r.Cluster.Spec
	r.moveSecret(&s.Discovery.Ignition, "ignition/discovery.yaml")
	size := 0
	for i := range s.Hosts {
		h := r.Host(i)
		r.moveSecret(&h.Ignition, "ignition/"+input.FileName(h.Name)+".yaml")
		size += 400
		if h.Net != nil && h.Net.NMState != nil && h.Net.NMState.Inline != nil {
			r.moveSecret(&h.Net.NMState, networkFile(h))
			size += len(r.TextOf(h.Net.NMState)) * 3 / 2
		}
	}
	if size < maxInline {
		return
	}
	for i := range s.Hosts {
		if h := r.Host(i); h.Net != nil && h.Net.NMState != nil && h.Net.NMState.Inline != nil {
			r.move(&h.Net.NMState, networkFile(h))
		}
	}
}

func networkFile(h *spec.Host) string { return "nmstate/" + input.FileName(h.Name) + ".yaml" }

// moveSecret moves a document with a secret, which must not be in cluster.yaml itself.
func (r *conversion) moveSecret(d **spec.Document, name string) {
	if n := r.Written[*d]; n != nil && input.HoldsSecret(n) {
		r.move(d, name)
	}
}

func (r *conversion) move(d **spec.Document, name string) {
	*d = &spec.Document{File: r.File(name, []byte(r.TextOf(*d)))}
}

// finish accounts for every key, writes the document, and checks it as spec.Load does.
func (r *conversion) finish(ctx context.Context, format Format, in *input.Input) (*Converted, error) {
	out := &Converted{Format: format, Files: r.Files}
	if len(r.Problems) == 0 && r.Nodes == nil {
		r.complete(out, in)
	}
	for _, doc := range r.Docs {
		r.Rest(doc.Root, cmp.Or(r.Nowhere, "cluster.yaml has no place for it"))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	r.moveDocuments()
	out.Cluster = r.Cluster
	if r.Nodes != nil {
		r.Nodes.Spec.Hosts, r.Nodes.Spec.SSHKeys = r.Cluster.Spec.Hosts, r.Cluster.Spec.SSHKeys
		out.Document = input.Emit(r.Nodes, r.Present, r.Written)
	} else {
		out.Document = input.Emit(r.Cluster, r.Present, r.Written)
	}
	out.Notes = append(r.Notes, out.Notes...)
	out.Origins = r.origins()
	out.Losses = lossesOf(r.Losses(in))
	out.Idle = lossesOf(r.Idle(in))
	if err := r.check(ctx, out, in); err != nil {
		return nil, err
	}
	out.Cluster.SetOrigins(out.Origins)
	return out, nil
}

func (r *conversion) complete(out *Converted, in *input.Input) {
	s := &r.Cluster.Spec
	r.wantedVersion()
	r.InstallerManifests()
	if s.PullSecret.IsZero() && r.options.PullSecret != "" {
		r.givenPullSecret(r.options.PullSecret)
	}
	hosts := len(s.Hosts)
	for i := range hosts {
		r.NameHost(i)
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

// givenPullSecret takes the pull secret from a file that the options name.
func (r *conversion) givenPullSecret(name string) {
	text, err := r.Env.ReadFile(name)
	if err != nil {
		r.Problem("", 0, 0, "spec.pullSecret", "cannot be read: "+err.Error(), "give --pull-secret a path that begins in the current folder")
		return
	}
	r.Cluster.Spec.PullSecret = spec.Source{File: r.File("pull-secret.json", text)}
}

// wantedVersion puts the version of the options in the place of the input's. A
// release that the input names by its image, or by its set, would be installed all
// the same.
func (r *conversion) wantedVersion() {
	o, wanted := &r.Cluster.Spec.OpenShift, r.options.Version
	if wanted == "" || wanted == o.Version {
		return
	}
	at := r.Origins["spec.openshift.version"]
	release := cmp.Or(r.Origins["spec.openshift.releaseImage"], r.Origins["spec.openshift.imageSet"])
	switch {
	case at == nil:
	case o.ReleaseImage != "" || o.ImageSet != "":
		r.Wrong(release, fmt.Sprintf("says which release is installed, %s, and --openshift-version %s does not change that", o.Version, wanted),
			"take --openshift-version away, or change the release here")
		return
	default:
		r.LoseAs(at, input.Shown(at), "--openshift-version says "+wanted)
	}
	o.Version = wanted
}

// missingHosts allows any machine for those that the input does not name, if asked.
func (r *conversion) missingHosts(out *Converted, in *input.Input, hosts, wanted int) {
	if !r.options.AcceptUnknownHosts {
		message := fmt.Sprintf("names %s, but the cluster has %s: any machine that boots the image would be taken for the others, "+
			"and its disk wiped", listtext.CountText(hosts, "host"), listtext.CountText(wanted, "machine"))
		if wanted == 0 {
			message = "names no hosts: any machine that boots the image would be taken, and its disk wiped"
		}
		r.Problem(in.Path, 0, 0, "", message, "name the missing hosts, or allow it in the command: --accept-unknown-hosts")
		return
	}
	r.Cluster.Spec.AcceptUnknownHosts = true
	out.Notes = append(out.Notes,
		fmt.Sprintf("the input names %s: any other machine that boots the image is taken for one of the cluster and its disk is wiped",
			listtext.CountText(hosts, "host")))
}

// check has the cluster checked, and tells what is wrong by its line in the input.
func (r *conversion) check(ctx context.Context, out *Converted, in *input.Input) error {
	var err error
	if env := out.Env("cluster.yaml", r.Env); r.Nodes != nil {
		out.Cluster, err = r.Nodes.Resolve(ctx, ".", env, nil)
	} else {
		err = r.Cluster.Resolve(ctx, ".", env)
	}
	var wrong *spec.Problems
	if !errors.As(err, &wrong) {
		return err
	}
	for _, p := range wrong.List {
		noVersion := p.Field == "spec.openshift.version" && r.Cluster.Spec.OpenShift.Version == ""
		noSecret := p.Field == "spec.pullSecret" && r.Cluster.Spec.PullSecret.IsZero()
		if r.options.Find && (noVersion || noSecret) { // which only an install needs
			continue
		}
		p.File, p.Line, p.Column = in.Path, 0, 0
		if at := r.origin(p.Field); at != nil {
			p.File = at.In.File
			p.Line, p.Column = at.Position()
		}
		p.Word = out.Origins[p.Field].Key
		r.Problems = append(r.Problems, r.explained(p))
	}
	return r.Err()
}

// origins are the places of the input by the fields that came from them.
func (r *conversion) origins() map[string]spec.Origin {
	all := make(map[string]spec.Origin, len(r.Origins))
	for field, at := range r.Origins {
		line, column := at.Position()
		all[field] = spec.Origin{File: at.In.File, Line: line, Column: column, Key: strings.TrimPrefix(at.Path(), at.In.Label)}
	}
	return all
}

func (r *conversion) origin(field string) *input.Node {
	for {
		if n := r.Origins[field]; n != nil {
			return n
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return nil
		}
		field = field[:cut]
	}
}

func (r *conversion) explained(p spec.Problem) spec.Problem {
	if p.Line > 0 {
		return p
	}
	switch p.Field {
	case "spec.openshift.version":
		p.Message, p.Remedy = "the input does not say which OpenShift is installed", "add it to the command: --openshift-version 4.20"
	case "metadata.name":
		p.Message, p.Remedy = "the input does not say what the cluster is called", "add it to the command: --name NAME"
	case "spec.pullSecret":
		p.Message, p.Remedy = "the input has no pull secret", "add its file to the command: --pull-secret PATH"
	}
	return p
}

// WriteFiles writes files below dir, which is made if need be. Each file is
// there whole or not at all; one with secrets can be read by its owner alone. A
// dir that holds anything is refused, for a file that was left there would be
// taken for a part of the whole. Where one cannot be written, none of them is left.
func WriteFiles(dir string, files []File) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look into the folder %s: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("the folder %s is not empty: name another one, or empty it", dir)
	}
	for i, file := range files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(file.Path)), file); err != nil {
			for _, written := range files[:i] { // a part would be taken for the whole
				_ = os.Remove(filepath.Join(dir, filepath.FromSlash(written.Path)))
			}
			return fmt.Errorf("write %s: %w", filepath.Join(dir, file.Path), err)
		}
	}
	return nil
}

// writeFile writes a temporary file, and renames it when it is whole.
func writeFile(path string, file File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(file.Content)
	if err == nil && !file.Secret { // made with 0600
		err = temporary.Chmod(0o644)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// Env is base with the files of c as if they stood beside the document, which is
// called name. With it spec.Parse takes the document before anything is written.
func (c *Converted) Env(name string, base spec.Env) spec.Env {
	overlay := base
	dir := filepath.Dir(name)
	overlay.ReadFile = func(file string) ([]byte, error) {
		if data, ok := c.Files[input.Relative(dir, file)]; ok {
			return data, nil
		}
		if base.ReadFile == nil {
			return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
		}
		return base.ReadFile(file)
	}
	overlay.ReadDir = func(folder string) ([]fs.DirEntry, error) {
		if entries := listed(c.Files, input.Relative(dir, folder)); len(entries) > 0 {
			return entries, nil
		}
		if base.ReadDir == nil {
			return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrNotExist}
		}
		return base.ReadDir(folder)
	}
	return overlay
}

func listed(files map[string][]byte, folder string) []fs.DirEntry {
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Dir(name) == folder {
			entries = append(entries, listedFile{path.Base(name)})
		}
	}
	return entries
}

type listedFile struct{ name string }

func (f listedFile) Name() string { return f.name }

func (f listedFile) IsDir() bool { return false }

func (f listedFile) Type() fs.FileMode { return 0 }

func (f listedFile) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
