// Package ztp reads and writes the objects of a hub: as they are applied to one, or
// as the agent-based installer has them in a folder.
package ztp

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Hub carries a hub's objects over, also those beside SiteConfig's and Cluster API's.
type Hub struct {
	*fields.Reader
	Envs         []BootEnv     // what the InfraEnvs say of their machines
	hubNamespace string        // of the ClusterDeployment
	laterFencing []*input.Node // fencing credentials, for hosts that are read later
}

// Read reads the objects of a hub, or of a folder of the agent-based installer.
func Read(s *fields.Reader, in *input.Input) {
	r := &Hub{Reader: s}
	r.Nowhere = "cluster.yaml has no place for it"
	r.AgentBased = slices.ContainsFunc(in.Files, func(file string) bool { return strings.HasPrefix(in.Below(file), input.DirManifests+"/") })
	h := r.objectsOf(in)
	if len(h.Deployments) != 1 || len(h.Installs) != 1 {
		r.OneOf(in, "ClusterDeployment", h.Deployments)
		r.OneOf(in, "AgentClusterInstall", h.Installs)
		return
	}
	cd, aci := h.Deployments[0], h.Installs[0]
	r.clusterDeployment(h, cd, aci)
	r.ImageSetRef(h, aci.Get("spec", "imageSetRef", "name"))
	if r.Cluster.Imported() {
		r.importedInstall(h, aci)
	} else {
		r.agentClusterInstall(h, aci)
	}
	r.Classifications(h)
	for _, env := range h.InfraEnvs {
		r.infraEnv(h, env)
	}
	if len(h.InfraEnvs) == 0 {
		r.Problem(in.Path, 0, 0, "", "there is no InfraEnv, from which machines boot", "put the InfraEnv beside the other objects")
	}
	r.HubHosts(in, h)
	r.folderHosts(in)
	r.folderFiles(in)
	r.mirrorFiles(in)
	r.RawManifests(in)
	r.RestOfFiles(in)
	r.GiveArches()
	r.RestOfObjects(h)
	r.OwnIgnition()
}

// OneOf tells that there is none, or more than one, of a kind.
func (r *Hub) OneOf(in *input.Input, kind string, found []*input.Node) {
	if len(found) == 0 {
		r.Problem(in.Path, 0, 0, "", "there is no "+kind, "put all objects of the cluster into one folder, or one file")
	}
	for i, n := range found {
		if i > 0 {
			r.Problem(n.In.File, n.Line, n.Col, "", fmt.Sprintf("the %s %s is of a second cluster: the first is %s", kind, NameOf(n),
				NameOf(found[0])), "keep the objects of one cluster in a folder")
		}
	}
}

// NameOf is an object's name.
func NameOf(n *input.Node) string { return n.Child("metadata").Child("name").Peek() }

func (r *Hub) clusterDeployment(h *Objects, cd, aci *input.Node) {
	s := r.MapOf(cd.Get("spec"))
	r.Fields(s, fields.ClusterDeployment, fields.NoHost)
	r.ObjectNames(cd, "")
	r.PullSecretRef(h, s.Get("pullSecretRef", "name"))
	r.Reference(s.Get("clusterInstallRef", "name"), aci)
	r.Keys(s, "cluster-deployment")
	r.importedDeployment(h, s)
	r.Rest(s, "is a matter of Hive, which oaictl leaves to it")
}

// OwnIgnition leaves out of the discovery Ignition what oaictl itself puts there.
func (r *Hub) OwnIgnition() {
	d := r.Cluster.Spec.Discovery.Ignition
	if d == nil || d.Inline == nil || len(r.Cluster.Spec.Registry.Mirrors) == 0 {
		return
	}
	own := []string{r.Cluster.RegistriesConf()}
	if bundle := r.Cluster.TrustBundle(); bundle != "" {
		own = append(own, bundle)
	}
	storage, _ := d.Inline["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	kept := slices.DeleteFunc(slices.Clone(files), func(file any) bool {
		object, _ := file.(map[string]any)
		contents, _ := object["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		_, encoded, _ := strings.Cut(source, ";base64,")
		text, err := decodeBase64(encoded)
		return err == nil && slices.Contains(own, text)
	})
	if len(kept) == len(files) {
		return
	}
	delete(r.Written, d)
	if len(kept) > 0 {
		storage["files"] = kept
		return
	}
	delete(storage, "files")
	if len(storage) == 0 {
		delete(d.Inline, "storage")
	}
	if len(d.Inline) == 1 && d.Inline["ignition"] != nil {
		r.Cluster.Spec.Discovery.Ignition = nil
	}
}

// importedDeployment carries over that a cluster is installed already. One whose
// metadata has the service's own id was installed by the service: its objects say
// how.
func (r *Hub) importedDeployment(h *Objects, s *input.Node) {
	meta := s.Get("clusterMetadata")
	if s.Get("installed").Peek() != "true" || meta.Get("infraID").Peek() != "" {
		return
	}
	from := &spec.Import{}
	r.Cluster.Spec.Import = from
	r.Boolean(s.Get("installed"))
	r.From("spec.import", s.Get("installed"))
	r.Set("spec.import.clusterID", meta.Get("clusterID"))
	r.Means(meta.Get("infraID"), "is empty: the service has not called the cluster anything yet")
	name := meta.Get("adminKubeconfigSecretRef", "name")
	if name == nil {
		return
	}
	r.Text(name)
	r.From("spec.import.kubeconfig", name)
	if content, ref := r.secretContent(h, name, hubapi.KeyKubeconfig, "kubeconfig"); ref != nil {
		from.Kubeconfig = spec.Source{SecretRef: ref}
	} else if content != nil {
		from.Kubeconfig = spec.Source{File: r.File("kubeconfig", []byte(r.Text(content)))}
	}
}

// importedInstall carries over what is said of the hosts that are added to a cluster.
func (r *Hub) importedInstall(h *Objects, n *input.Node) {
	s := r.MapOf(n.Get("spec"))
	table := hubobjects.InstallTable()
	r.ObjectNames(n, "")
	r.Reference(s.Get("clusterDeploymentRef", "name"), h.Deployments[0])
	for _, name := range []model.Setting{model.SettingTags, model.SettingSSHKeys, model.SettingProxy} {
		r.Field(string(name), fieldOf(n, table, name), fields.NoHost)
	}
	r.ignitionEndpoint(h, fieldOf(n, table, model.SettingIgnitionEndpoint))
	r.MirrorMap(h, s.Get("mirrorRegistryRef"))
	meta := s.Get("clusterMetadata")
	r.Set("spec.import.clusterID", meta.Get("clusterID"))
	r.Means(meta, "repeats what the ClusterDeployment says")
	r.Keys(s, "imported-install")
	r.Rest(s, "says how a cluster is installed, but this one is installed already")
	r.Rest(n.Get("metadata", "annotations"), "says how a cluster is installed, but this one is installed already")
}

// Objects is the objects of one cluster on a hub, by their kinds.
type Objects struct {
	Deployments, Installs, ImageSets, InfraEnvs []*input.Node
	Networks, Machines, Agents, namespaces      []*input.Node
	classes                                     []*input.Node
	Secrets, ConfigMaps                         map[string]*input.Node // by name
	Used                                        map[*input.Node]bool   // objects that something refers to
}

// NewObjects are none yet.
func NewObjects() *Objects {
	return &Objects{Secrets: map[string]*input.Node{}, ConfigMaps: map[string]*input.Node{}, Used: map[*input.Node]bool{}}
}

// objectsOf sorts objects by kind. An unknown one may be what the user means most.
func (r *Hub) objectsOf(in *input.Input) *Objects {
	h := NewObjects()
	for _, doc := range in.Docs {
		n := doc.Root
		if base := path.Base(in.Below(doc.File)); base == fileFencing || base == fileOperators {
			continue
		}
		if n.Kind != input.MapNode {
			r.Problem(doc.File, n.Line, n.Col, "", fmt.Sprintf("has to be a map, but is %s", n.Kind), "")
			continue
		}
		r.Object(h, n)
	}
	return h
}

// isKustomization says whether a document is kustomize's, maybe by its file alone.
func isKustomization(doc *input.Document) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(doc.File), ".yaml"), ".yml")
	return name == "kustomization" && doc.Root.Kind == input.MapNode && doc.Root.Child("kind") == nil
}

// Object adds an object to those of its kind.
func (r *Hub) Object(h *Objects, n *input.Node) {
	_, kind := input.KindOfDoc(n.In)
	if isKustomization(n.In) {
		kind = "Kustomization"
	}
	list := map[string]*[]*input.Node{
		"ClusterDeployment": &h.Deployments, "AgentClusterInstall": &h.Installs, "ClusterImageSet": &h.ImageSets,
		"InfraEnv": &h.InfraEnvs, "NMStateConfig": &h.Networks, "BareMetalHost": &h.Machines, "Agent": &h.Agents,
		"AgentClassification": &h.classes,
	}[kind]
	named := map[string]map[string]*input.Node{"Secret": h.Secrets, "ConfigMap": h.ConfigMaps}[kind]
	why, isAlien := fields.KindsLost()[kind]
	switch {
	case list != nil:
		*list = append(*list, n)
		r.Header(n)
	case named != nil:
		if named[NameOf(n)] != nil {
			r.Wrong(cmp.Or(n.Get("metadata", "name"), n), fmt.Sprintf("there are two objects %s %s", kind, NameOf(n)), "keep one of them")
		}
		named[NameOf(n)] = n
		r.Header(n)
	case kind == "Namespace":
		r.Header(n)
		h.namespaces = append(h.namespaces, n)
	case kind == "List":
	case isAlien:
		r.Lose(n, why)
	case input.IsHosted(n.In):
		message, remedy := input.Hosted(kind)
		r.Problem(n.In.File, n.Line, n.Col, "kind", message, remedy)
	default:
		r.Problem(n.In.File, n.Line, n.Col, "kind", fmt.Sprintf("the kind %q is none that describes a cluster", kind),
			"take it out of what is converted")
	}
}

// Header takes what every object has, and what an API server adds by itself.
func (r *Hub) Header(n *input.Node) {
	r.apiVersion(n.Get("apiVersion"))
	r.Text(n.Get("kind"))
	r.Keys(n, "object")
}

// versions are those of each API group that are read.
func versions() map[string][]string {
	return map[string][]string{
		"":                                      {"v1"},
		hubapi.GroupHive:                        {hubapi.VersionHive},
		hubapi.GroupHiveExtension:               {hubapi.VersionHiveExtension},
		hubapi.GroupAgentInstall:                {hubapi.VersionAgentInstall},
		hubapi.GroupMetal3:                      {hubapi.VersionMetal3},
		"siteconfig.open-cluster-management.io": {"v1alpha1"},
		"cluster.x-k8s.io":                      {"v1beta1", "v1beta2"},
		"controlplane.cluster.x-k8s.io":         {"v1alpha2", "v1alpha3"},
		"bootstrap.cluster.x-k8s.io":            {"v1alpha1", "v1alpha2"},
	}
}

// apiVersion takes a known version; others may mean something else by the same words.
func (r *Hub) apiVersion(n *input.Node) {
	word := r.Text(n)
	group, version, qualified := strings.Cut(word, "/")
	if !qualified {
		group, version = "", word
	}
	if known, is := versions()[group]; n != nil && is && !slices.Contains(known, version) || n != nil && !is &&
		!strings.HasSuffix(group, ".cluster.x-k8s.io") {
		r.Wrong(n, fmt.Sprintf("the version %q is not known", word), "")
	}
}

// ObjectNames takes names, which are not in cluster.yaml: objects are named after it.
func (r *Hub) ObjectNames(n *input.Node, own string) {
	r.Means(n.Get("metadata", "name"), "objects are named after the cluster and its hosts")
	r.ObjectNamespace(n)
	labels := n.Get("metadata", "labels")
	r.MeansIf(labels.Get(hubapi.LabelCluster), "is the label that oaictl gives all objects of the cluster", r.Cluster.Metadata.Name)
	r.MeansIf(labels.Get(hubapi.LabelInfraEnv), "is the label by which oaictl joins objects", own)
	r.MeansIf(labels.Get(hubapi.LabelWatch), "has the service read it at once", "true")
}

// ObjectNamespace tells a namespace once: that of the ClusterDeployment.
func (r *Hub) ObjectNamespace(n *input.Node) {
	at := n.Get("metadata", "namespace")
	switch {
	case at == nil:
	case r.hubNamespace == "":
		r.hubNamespace = at.Peek()
		r.Namespace(at)
	case at.Peek() == r.hubNamespace:
		r.Means(at, "is the namespace of the cluster's other objects")
	default:
		r.Namespace(at)
	}
}

// Reference takes the name by which an object refers to another, if it is that name.
func (r *Hub) Reference(n, to *input.Node) {
	if n == nil {
		return
	}
	if to != nil && NameOf(to) != n.Peek() {
		r.Wrong(n, fmt.Sprintf("refers to %s, but the object here is %s", n.Peek(), NameOf(to)), "make the names agree")
		return
	}
	r.Means(n, "refers to an object of the same cluster")
}

// RestOfObjects tells what nothing refers to.
func (r *Hub) RestOfObjects(h *Objects) {
	for _, n := range h.namespaces {
		r.ObjectNames(n, "")
		r.Keys(n, "namespace")
	}
	for _, n := range h.ImageSets {
		if !h.Used[n] {
			r.Lose(n, "the cluster does not refer to it")
		}
	}
	for _, objects := range []map[string]*input.Node{h.Secrets, h.ConfigMaps} {
		for _, name := range slices.Sorted(maps.Keys(objects)) { // the first of them may say the namespace
			n := objects[name]
			if !h.Used[n] {
				r.Lose(n, "nothing of the cluster refers to it")
				continue
			}
			r.ObjectNames(n, "")
			r.Means(n.Get("type"), "follows from what the Secret is for")
		}
	}
}
