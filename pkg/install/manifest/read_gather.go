package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// input is everything that belongs to one cluster, as it lies in files.
type input struct {
	reader *reader
	path   string
	folder bool
	files  []string          // in the order in which they were read
	docs   []*document       // YAML documents
	raw    map[string][]byte // files that are no YAML of ours, by their path below the folder
}

// The files that the agent-based installer reads.
const (
	fileInstallConfig = "install-config.yaml"
	fileAgentConfig   = "agent-config.yaml"
)

// folders that the agent-based installer reads beside its files, and what is in
// them.
const (
	dirManifests  = "cluster-manifests"
	dirMirror     = "mirror"
	dirOpenShift  = "openshift"
	dirHostConfig = "hostconfig"
)

// maxFiles is how many files of a folder are read.
const maxFiles = 10_000

// gather reads what stands at path, and what belongs to it beside it.
func (r *reader) gather(path string) *input {
	in := &input{reader: r, path: path, raw: map[string][]byte{}}
	if r.data != nil {
		in.yaml(path, r.data)
		if path != "-" && path != "" {
			in.companion()
		}
		in.label()
		return in
	}
	if entries, ok := r.dir(path); ok {
		in.folder = true
		in.walk("", entries)
		if len(in.files) == 0 {
			r.problem(path, 0, 0, "", "the folder holds nothing that describes a cluster", "")
		}
	} else if data, err := r.env.ReadFile(path); err != nil {
		r.problem(path, 0, 0, "", "cannot be read: "+reasonOf(err), "")
	} else {
		in.yaml(path, data)
		in.companion()
	}
	in.label()
	return in
}

func (r *reader) dir(path string) ([]fs.DirEntry, bool) {
	if r.env.ReadDir == nil || path == "-" {
		return nil, false
	}
	entries, err := r.env.ReadDir(path)
	return entries, err == nil
}

// reasonOf is why a file could not be read, without its name.
func reasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// walk reads a folder. below is its path as seen from the input's, "" for
// itself.
func (in *input) walk(below string, entries []fs.DirEntry) {
	for _, entry := range entries {
		name := filepath.ToSlash(filepath.Join(below, entry.Name()))
		full := filepath.Join(in.path, name)
		switch {
		case strings.HasPrefix(entry.Name(), "."):
			continue
		case len(in.files) >= maxFiles:
			in.reader.problem(in.path, 0, 0, "", fmt.Sprintf("the folder holds more than %d files", maxFiles), "")
			return
		case entry.IsDir() || isLinkedDir(in.reader, entry, full):
			if !isKnownFolder(name) {
				in.files = append(in.files, full)
				in.reader.loseFile(in, name, "is a folder that is not read")
				continue
			}
			inner, ok := in.reader.dir(full)
			if !ok {
				in.reader.problem(full, 0, 0, "", "the folder cannot be read", "")
				continue
			}
			in.walk(name, inner)
		default:
			in.file(name, full)
		}
	}
}

func isLinkedDir(r *reader, entry fs.DirEntry, full string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	_, ok := r.dir(full)
	return ok
}

// isKnownFolder says whether a folder below the input's is one that formats
// have.
func isKnownFolder(name string) bool {
	first, rest, nested := strings.Cut(name, "/")
	switch first {
	case dirHostConfig:
		return !strings.Contains(rest, "/")
	case dirManifests, dirMirror, dirOpenShift:
		return !nested
	}
	return false
}

// file reads one file of a folder.
func (in *input) file(name, full string) {
	data, err := in.reader.env.ReadFile(full)
	if err != nil {
		in.reader.problem(full, 0, 0, "", "cannot be read: "+reasonOf(err), "")
		return
	}
	top, _, _ := strings.Cut(name, "/")
	isOther := strings.Contains(name, "/") && top != dirManifests
	if isOther || !isYAML(name) {
		in.files = append(in.files, full)
		in.raw[name] = data
		return
	}
	in.yaml(full, data)
}

func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// yaml adds the documents of a file.
func (in *input) yaml(file string, data []byte) {
	in.files = append(in.files, file)
	docs := in.reader.parse(file, data)
	if len(docs) == 0 && len(in.reader.problems) == 0 && !in.folder {
		in.reader.problem(file, 1, 1, "", "is empty", "")
	}
	for _, doc := range docs {
		in.docs = append(in.docs, expand(doc)...)
	}
}

// expand is the objects of a List; the document itself for any other.
func expand(doc *document) []*document {
	if doc.root.child("kind").peek() != "List" || doc.root.child("items") == nil {
		return []*document{doc}
	}
	docs := []*document{doc}
	if doc.root.child("apiVersion").peek() != "v1" {
		return []*document{doc}
	}
	for _, key := range []string{"apiVersion", "kind", "items"} {
		if n := doc.root.child(key); n != nil {
			n.taken = true
		}
	}
	if meta := doc.root.child("metadata"); meta != nil {
		meta.take() // a list has none of its own
	}
	for _, item := range doc.root.child("items").items() {
		inner := &document{file: doc.file, root: item}
		item.walk(func(n *node) { n.in = inner })
		item.parent = nil
		docs = append(docs, inner)
	}
	doc.root.child("items").children = nil
	return docs
}

// companion reads the other one of install-config.yaml and agent-config.yaml.
func (in *input) companion() {
	dir, base := filepath.Dir(in.path), filepath.Base(in.path)
	other := ""
	switch {
	case len(in.docs) != 1:
		return
	case isInstallConfig(in.docs[0].root):
		other = fileAgentConfig
	case isAgentConfig(in.docs[0].root):
		other = fileInstallConfig
	default:
		return
	}
	if strings.HasSuffix(base, ".yml") {
		other = strings.TrimSuffix(other, ".yaml") + ".yml"
	}
	full := filepath.Join(dir, other)
	if data, err := in.reader.env.ReadFile(full); err == nil {
		in.yaml(full, data)
	}
}

// label tells documents apart where there are several, and hands them over to be
// accounted for.
func (in *input) label() {
	perFile := map[string]int{}
	for _, doc := range in.docs {
		perFile[doc.file]++
	}
	for _, doc := range in.docs {
		if len(perFile) > 1 || in.folder {
			doc.label = in.below(doc.file) + ":"
		}
		if perFile[doc.file] > 1 {
			name := doc.root.child("metadata").child("name").peek()
			doc.label += doc.root.child("kind").peek() + "/" + name + ":"
		}
	}
	in.reader.docs = in.docs
}

// below is a file's path as seen from the folder that is read.
func (in *input) below(file string) string {
	base := in.path
	if !in.folder {
		base = filepath.Dir(in.path)
	}
	return relative(base, file)
}

// names are the files in the order in which they were read.
func (in *input) names() []string { return in.files }
