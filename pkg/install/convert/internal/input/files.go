package input

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// FileName is a name without what a file's name cannot have.
func FileName(name string) string {
	safe := make([]rune, 0, len(name))
	for _, c := range name {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') || c == '.' &&
			len(safe) == 0 {
			c = '-'
		}
		safe = append(safe, c)
	}
	return string(safe)
}

// JoinPath is a file's path by its name with slashes below a folder.
func JoinPath(folder, name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }

// Relative is file as seen from dir, with slashes; file itself where it is not below.
func Relative(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(file)
}

// Input is everything that belongs to one cluster, as it lies in files.
type Input struct {
	reader *Account
	Path   string
	Folder bool
	Root   string            // the folder below which Raw and messages name files
	Files  []string          // in the order in which they were read
	Docs   []*Document       // YAML documents
	Raw    map[string][]byte // files that are no YAML of ours, by their path below the folder
}

// The files that the agent-based installer reads.
const (
	fileInstallConfig = "install-config.yaml"
	fileAgentConfig   = "agent-config.yaml"
)

// The folders that the agent-based installer reads beside its files.
const (
	DirManifests  = "cluster-manifests"
	DirMirror     = "mirror"
	DirOpenShift  = "openshift"
	DirHostConfig = "hostconfig"
)

const maxFiles = 10_000

// Gather reads what stands at path, and what belongs to it beside it.
func (r *Account) Gather(path string) *Input {
	in := &Input{reader: r, Path: path, Root: filepath.Dir(path), Raw: map[string][]byte{}}
	if r.data != nil {
		in.yaml(path, r.data)
		if path != "-" && path != "" {
			in.beside()
		}
		in.label()
		return in
	}
	if entries, ok := r.Dir(path); ok {
		in.Folder, in.Root = true, path
		in.walk("", entries)
		if len(in.Files) == 0 {
			r.Problem(path, 0, 0, "", "the folder holds nothing that describes a cluster", "")
		}
	} else if data, err := r.Env.ReadFile(path); err != nil {
		r.Problem(path, 0, 0, "", "cannot be read: "+ReasonOf(err), "")
	} else {
		in.yaml(path, data)
		in.beside()
	}
	in.label()
	return in
}

// Dir lists a folder; false for what is none.
func (r *Account) Dir(path string) ([]fs.DirEntry, bool) {
	if r.Env.ReadDir == nil || path == "-" {
		return nil, false
	}
	entries, err := r.Env.ReadDir(path)
	return entries, err == nil
}

// ReasonOf is why a file could not be read, without its name.
func ReasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// walk reads a folder. below is its path in the input, "" for the input itself.
func (in *Input) walk(below string, entries []fs.DirEntry) {
	for _, entry := range entries {
		name := filepath.ToSlash(filepath.Join(below, entry.Name()))
		full := filepath.Join(in.Root, name)
		switch {
		case strings.HasPrefix(entry.Name(), "."):
			continue
		case len(in.Files) >= maxFiles:
			in.reader.Problem(in.Path, 0, 0, "", fmt.Sprintf("the folder holds more than %d files", maxFiles), "")
			return
		case entry.IsDir() || isLinkedDir(in.reader, entry, full):
			if !isKnownFolder(name) {
				in.Files = append(in.Files, full)
				in.reader.LoseFile(in, name, "is a folder that is not read")
				continue
			}
			inner, ok := in.reader.Dir(full)
			if !ok {
				in.reader.Problem(full, 0, 0, "", "the folder cannot be read", "")
				continue
			}
			in.walk(name, inner)
		default:
			in.file(name, full)
		}
	}
}

func isLinkedDir(r *Account, entry fs.DirEntry, full string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	_, ok := r.Dir(full)
	return ok
}

// isKnownFolder says whether a folder of the input is one that formats have.
func isKnownFolder(name string) bool {
	first, rest, nested := strings.Cut(name, "/")
	switch first {
	case DirHostConfig:
		return !strings.Contains(rest, "/")
	case DirManifests, DirMirror, DirOpenShift:
		return !nested
	}
	return false
}

func (in *Input) file(name, full string) {
	data, err := in.reader.Env.ReadFile(full)
	if err != nil {
		in.reader.Problem(full, 0, 0, "", "cannot be read: "+ReasonOf(err), "")
		return
	}
	top, _, _ := strings.Cut(name, "/")
	isOther := strings.Contains(name, "/") && top != DirManifests
	if isOther || !IsYAML(name) {
		in.Files = append(in.Files, full)
		in.Raw[name] = data
		return
	}
	in.yaml(full, data)
}

// IsYAML says whether a file holds YAML by its name.
func IsYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func (in *Input) yaml(file string, data []byte) {
	in.Files = append(in.Files, file)
	docs := in.reader.Parse(file, data)
	if len(docs) == 0 && len(in.reader.Problems) == 0 && !in.Folder && filepath.Dir(file) == in.Root {
		in.reader.Problem(file, 1, 1, "", "is empty", "")
	}
	for _, doc := range docs {
		in.Docs = append(in.Docs, expand(doc)...)
	}
}

// expand is the objects of a List; the document itself for any other.
func expand(doc *Document) []*Document {
	docs := []*Document{doc}
	if doc.Root.Child("kind").Peek() != "List" || doc.Root.Child("items") == nil || doc.Root.Child("apiVersion").Peek() != "v1" {
		return docs
	}
	for _, key := range []string{"apiVersion", "kind", "items"} {
		if n := doc.Root.Child(key); n != nil {
			n.Taken = true
		}
	}
	if meta := doc.Root.Child("metadata"); meta != nil {
		meta.Take() // a list has none of its own
	}
	for _, item := range doc.Root.Child("items").Items() {
		inner := &Document{File: doc.File, Root: item}
		item.walk(func(n *Node) { n.In = inner })
		item.Parent = nil
		docs = append(docs, inner)
	}
	doc.Root.Child("items").Children = nil
	return docs
}

// beside reads what belongs to the file that was named: the second file of the
// agent-based installer, and the folders that it reads beside them. A file in the folder
// of a hub's manifests belongs to the whole of them.
func (in *Input) beside() {
	has := func(is func(*Node) bool) bool {
		return slices.ContainsFunc(in.Docs, func(doc *Document) bool { return is(doc.Root) })
	}
	config, hosts := has(IsInstallConfig), has(IsAgentConfig)
	switch {
	case config && !hosts:
		in.companion(fileAgentConfig)
	case hosts && !config:
		in.companion(fileInstallConfig)
	case !config && !hosts:
		if filepath.Base(in.Root) != DirManifests || !slices.ContainsFunc(in.Docs, IsHubObject) {
			return
		}
		whole := filepath.Dir(in.Root)
		if entries, ok := in.reader.Dir(whole); ok {
			in.Root, in.Files, in.Docs = whole, nil, nil
			in.walk("", entries)
		}
		return
	}
	for _, name := range []string{DirManifests, DirMirror, DirOpenShift, DirHostConfig} {
		in.folder(name)
	}
}

// folder reads one of the folders beside the file that was named, if it is there.
func (in *Input) folder(name string) {
	if in.reader.Env.ReadDir == nil {
		return
	}
	full := filepath.Join(in.Root, name)
	switch entries, err := in.reader.Env.ReadDir(full); {
	case err == nil:
		in.walk(name, entries)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	default:
		in.reader.Problem(full, 0, 0, "", "cannot be read: "+ReasonOf(err), "")
	}
}

// companion reads the second file of the agent-based installer, if it is there.
func (in *Input) companion(other string) {
	if strings.HasSuffix(in.Path, ".yml") {
		other = strings.TrimSuffix(other, ".yaml") + ".yml"
	}
	full := filepath.Join(in.Root, other)
	switch data, err := in.reader.Env.ReadFile(full); {
	case err == nil:
		in.yaml(full, data)
	case !errors.Is(err, fs.ErrNotExist):
		in.reader.Problem(full, 0, 0, "", "cannot be read: "+ReasonOf(err), "")
	}
}

// label tells documents apart where there are several, and hands them over.
func (in *Input) label() {
	perFile := map[string]int{}
	for _, doc := range in.Docs {
		perFile[doc.File]++
	}
	for _, doc := range in.Docs {
		if len(perFile) > 1 || in.Folder {
			doc.Label = in.Below(doc.File) + ":"
		}
		if perFile[doc.File] > 1 {
			name := doc.Root.Child("metadata").Child("name").Peek()
			doc.Label += doc.Root.Child("kind").Peek() + "/" + name + ":"
		}
	}
	in.reader.Docs = in.Docs
}

// Below is a file's path as seen from the input's folder.
func (in *Input) Below(file string) string { return Relative(in.Root, file) }

// KindOfDoc is the kind and the group of an object.
func KindOfDoc(doc *Document) (group, kind string) {
	version := doc.Root.Child("apiVersion").Peek()
	group, _, qualified := strings.Cut(version, "/")
	if !qualified {
		group = ""
	}
	return group, doc.Root.Child("kind").Peek()
}

// IsAgentConfig says whether a document is an agent-config.
func IsAgentConfig(root *Node) bool { return root.Child("kind").Peek() == "AgentConfig" }

// IsInstallConfig says whether a document is an install-config.
func IsInstallConfig(root *Node) bool {
	return root.Kind == MapNode && root.Child("kind") == nil && root.Child("baseDomain") != nil &&
		(root.Child("metadata") != nil || root.Child("platform") != nil || root.Child("networking") != nil)
}

// IsHubObject says whether a document is one of the objects of a hub.
func IsHubObject(doc *Document) bool {
	group, kind := KindOfDoc(doc)
	return group == "agent-install.openshift.io" || strings.HasSuffix(group, "hive.openshift.io") || kind == "BareMetalHost"
}

// IsHosted says whether a document is one of HyperShift's objects.
func IsHosted(doc *Document) bool {
	group, _ := KindOfDoc(doc)
	return group == "hypershift.openshift.io"
}

// Hosted is why an object of HyperShift is not read, and what to do about it.
func Hosted(kind string) (message, remedy string) {
	return fmt.Sprintf("the kind %q is of a hosted cluster, whose control plane runs on its hub: the Assisted Installer does not install one",
			kind),
		"create it with HyperShift; its machines boot an InfraEnv of the hub, and its NodePool takes them"
}

// aicliKeys are keys that tell aicli's parameters, which have neither version nor kind.
func aicliKeys() []string {
	return []string{
		"api_ip", "api_vip", "api_vips", "base_dns_domain", "domain", "download_iso_path", "ingress_ip", "ingress_vip", "ingress_vips", "iso_url",
		"machine_networks", "minimal", "ocp_release_image", "olm_operators", "openshift_version", "pull_secret", "sno", "ssh_public_key",
		"static_network_config",
	}
}

// IsAICLI says whether a document is aicli's parameters.
func IsAICLI(n *Node) bool {
	return slices.ContainsFunc(aicliKeys(), func(key string) bool { return n.Child(key) != nil })
}

// IsNodesConfig says whether a document is the nodes-config of oc adm node-image, which has
// neither version nor kind: hosts as agent-config.yaml has them, and no cluster.
func IsNodesConfig(n *Node) bool {
	return slices.ContainsFunc(n.Child("hosts").Items(), func(host *Node) bool {
		return host.Child("interfaces") != nil || host.Child("networkConfig") != nil || host.Child("hostname") != nil
	})
}

// foreignText matches texts that are in another format than cluster.yaml, broken
// as they may be, and ownText those that are not.
var (
	foreignText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:(?:baseDomain|` + strings.Join(aicliKeys(), "|") +
			`):|kind: *["']?(?:AgentConfig|ClusterInstance|SiteConfig|HostedCluster|NodePool|` +
			`ClusterDeployment|AgentClusterInstall|InfraEnv|NMStateConfig|BareMetalHost|OpenshiftAssisted))`)
	})
	ownText = regexp.MustCompile(`(?m)oaictl\.io/|^kind: *["']?Cluster["']? *$`)
)

func isForeign(data []byte) bool { return foreignText().Match(data) && !ownText.Match(data) }
