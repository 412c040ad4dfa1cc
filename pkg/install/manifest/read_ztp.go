package manifest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hubInput is the objects of one cluster on a hub, by their kinds.
type hubInput struct {
	deployments, installs, imageSets, infraEnvs []*node
	networks, machines, agents, namespaces      []*node
	classes                                     []*node
	secrets, configMaps                         map[string]*node // by name
	used                                        map[*node]bool   // objects that something refers to
}

// aliens are kinds that stand beside a cluster's objects and say nothing of how it
// is installed.
func aliens() map[string]string {
	return map[string]string{
		"ManagedCluster":           "takes the installed cluster into Open Cluster Management: apply it yourself",
		"KlusterletAddonConfig":    "takes the installed cluster into Open Cluster Management: apply it yourself",
		"ManagedClusterSet":        "takes the installed cluster into Open Cluster Management: apply it yourself",
		"Kustomization":            "tells kustomize which files to take",
		"AgentServiceConfig":       "sets the service up, not a cluster",
		"HostFirmwareSettings":     "sets firmware up, which oaictl does not",
		"HostFirmwareComponents":   "sets firmware up, which oaictl does not",
		"PreprovisioningImage":     "is made by the hub",
		"DataImage":                "is a further image for a machine, which oaictl does not attach",
		"Role":                     "gives rights on the hub, not to a cluster",
		"RoleBinding":              "gives rights on the hub, not to a cluster",
		"ServiceAccount":           "gives rights on the hub, not to a cluster",
		"IngressController":        "is of the hub, or an extra manifest that no ConfigMap refers to",
		"MachineConfig":            "is an extra manifest that no ConfigMap refers to: put it into the folder openshift",
		"PolicyGenerator":          "governs the installed cluster: apply it yourself",
		"Policy":                   "governs the installed cluster: apply it yourself",
		"PlacementBinding":         "governs the installed cluster: apply it yourself",
		"Placement":                "governs the installed cluster: apply it yourself",
		"PlacementRule":            "governs the installed cluster: apply it yourself",
		"BMCEventSubscription":     "subscribes to events of a BMC, which oaictl does not",
		"ManagedClusterSetBinding": "takes the installed cluster into Open Cluster Management: apply it yourself",
	}
}

// ztp reads the objects of a hub: from a folder of the agent-based installer, or
// as they are applied to a hub.
func (r *reader) ztp(in *input) {
	r.nowhere = "cluster.yaml has no place for it"
	r.agentBased = in.folder && slices.ContainsFunc(in.files, func(file string) bool { return strings.HasPrefix(in.below(file), dirManifests+"/") })
	h := r.hubInput(in)
	if len(h.deployments) != 1 || len(h.installs) != 1 {
		r.oneOf(in, "ClusterDeployment", h.deployments)
		r.oneOf(in, "AgentClusterInstall", h.installs)
		return
	}
	cd, aci := h.deployments[0], h.installs[0]
	r.clusterDeployment(h, cd, aci)
	r.imageSet(h, aci)
	if r.cluster.Imported() {
		r.importedInstall(h, aci)
	} else {
		r.agentClusterInstall(h, aci)
	}
	r.classifications(h)
	for _, env := range h.infraEnvs {
		r.infraEnv(h, env)
	}
	if len(h.infraEnvs) == 0 {
		r.problem(in.path, 0, 0, "", "there is no InfraEnv, from which machines boot", "put the InfraEnv beside the other objects")
	}
	r.hubHosts(in, h)
	r.folderHosts(in)
	r.folderFiles(in)
	r.mirrorFiles(in)
	r.rawManifests(in)
	r.restOfFiles(in)
	r.giveArches()
	r.restOfObjects(h)
	r.ownIgnition()
}

// oneOf tells that there is none, or more than one, of a kind.
func (r *reader) oneOf(in *input, kind string, found []*node) {
	if len(found) == 0 {
		r.problem(in.path, 0, 0, "", "there is no "+kind, "put all objects of the cluster into one folder, or one file")
	}
	for i, n := range found {
		if i > 0 {
			r.problem(n.in.file, n.line, n.col, "", fmt.Sprintf("the %s %s is of a second cluster: the first is %s", kind, nameOf(n), nameOf(found[0])), "keep the objects of one cluster in a folder")
		}
	}
}

func nameOf(n *node) string { return n.child("metadata").child("name").peek() }

// hubInput sorts the objects by kind. A kind that is not known is a problem: it
// may be what the user means most.
func (r *reader) hubInput(in *input) *hubInput {
	h := &hubInput{secrets: map[string]*node{}, configMaps: map[string]*node{}, used: map[*node]bool{}}
	for _, doc := range in.docs {
		n := doc.root
		if base := path.Base(in.below(doc.file)); base == fileFencing || base == fileOperators {
			continue
		}
		if n.kind != mapNode {
			r.problem(doc.file, n.line, n.col, "", fmt.Sprintf("has to be a map, but is %s", n.kind), "")
			continue
		}
		r.object(h, n)
	}
	return h
}

// isKustomization says whether a document is kustomize's: it may leave out what
// it is, and is known by its file then.
func isKustomization(doc *document) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(doc.file), ".yaml"), ".yml")
	return name == "kustomization" && doc.root.kind == mapNode && doc.root.child("kind") == nil
}

func (r *reader) object(h *hubInput, n *node) {
	_, kind := kindOfDoc(n.in)
	if isKustomization(n.in) {
		kind = "Kustomization"
	}
	list := map[string]*[]*node{
		"ClusterDeployment": &h.deployments, "AgentClusterInstall": &h.installs, "ClusterImageSet": &h.imageSets,
		"InfraEnv": &h.infraEnvs, "NMStateConfig": &h.networks, "BareMetalHost": &h.machines, "Agent": &h.agents, "AgentClassification": &h.classes,
	}[kind]
	named := map[string]map[string]*node{"Secret": h.secrets, "ConfigMap": h.configMaps}[kind]
	why, isAlien := aliens()[kind]
	switch {
	case list != nil:
		*list = append(*list, n)
		r.header(n)
	case named != nil:
		if named[nameOf(n)] != nil {
			r.wrong(n.get("metadata", "name"), fmt.Sprintf("there are two objects %s %s", kind, nameOf(n)), "keep one of them")
		}
		named[nameOf(n)] = n
		r.header(n)
	case kind == "Namespace":
		r.header(n)
		h.namespaces = append(h.namespaces, n)
	case kind == "List":
	case isAlien:
		r.lose(n, why)
	default:
		r.problem(n.in.file, n.line, n.col, "kind", fmt.Sprintf("the kind %q is none that describes a cluster", kind), "take it out of what is converted")
	}
}

// header takes what every object has: its version and kind, which are those that
// oaictl knows, and what an API server adds by itself.
func (r *reader) header(n *node) {
	r.apiVersion(n.get("apiVersion"))
	r.text(n.get("kind"))
	for _, key := range []string{"creationTimestamp", "generation", "resourceVersion", "uid", "managedFields", "selfLink", "finalizers", "ownerReferences"} {
		r.means(n.get("metadata", key), "is filled in by the API server and its controllers")
	}
	r.means(n.get("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"), "is filled in by kubectl")
	r.means(n.get("status"), "is what a controller found")
	r.meansEmpty(n.get("metadata", "annotations"), "is empty")
	r.meansEmpty(n.get("metadata", "labels"), "is empty")
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

// apiVersion takes a version that is known. Others may mean something else by
// the same words.
func (r *reader) apiVersion(n *node) {
	word := r.text(n)
	group, version, qualified := strings.Cut(word, "/")
	if !qualified {
		group, version = "", word
	}
	if known, is := versions()[group]; n != nil && is && !slices.Contains(known, version) || n != nil && !is && !strings.HasSuffix(group, ".cluster.x-k8s.io") {
		r.wrong(n, fmt.Sprintf("the version %q is not known", word), "")
	}
}

// objectNames carries over what an object is called: nothing of that is in
// cluster.yaml, for objects are named after the cluster.
func (r *reader) objectNames(n *node, own string) {
	r.means(n.get("metadata", "name"), "objects are named after the cluster and its hosts")
	r.objectNamespace(n)
	labels := n.get("metadata", "labels")
	r.meansIf(labels.get(hubapi.LabelCluster), "is the label that oaictl gives all objects of the cluster", r.cluster.Metadata.Name)
	r.meansIf(labels.get(hubapi.LabelInfraEnv), "is the label by which oaictl joins objects", own)
	r.meansIf(labels.get(hubapi.LabelWatch), "has the service read it at once", "true")
}

// objectNamespace tells a namespace once: that of the ClusterDeployment.
func (r *reader) objectNamespace(n *node) {
	at := n.get("metadata", "namespace")
	switch {
	case at == nil:
	case r.hubNamespace == "":
		r.hubNamespace = at.peek()
		r.namespace(at)
	case at.peek() == r.hubNamespace:
		r.means(at, "is the namespace of the cluster's other objects")
	default:
		r.namespace(at)
	}
}

// reference takes the name by which an object refers to another; it is reported
// where the other has another name.
func (r *reader) reference(n, to *node) {
	if n == nil {
		return
	}
	if to != nil && nameOf(to) != n.peek() {
		r.wrong(n, fmt.Sprintf("refers to %s, but the object here is %s", n.peek(), nameOf(to)), "make the names agree")
		return
	}
	r.means(n, "refers to an object of the same cluster")
}

func (r *reader) clusterDeployment(h *hubInput, cd, aci *node) {
	c, s := r.cluster, r.mapOf(cd.get("spec"))
	setText(r, "metadata.name", &c.Metadata.Name, s.get("clusterName"))
	r.objectNames(cd, "")
	setText(r, "spec.baseDomain", &c.Spec.BaseDomain, s.get("baseDomain"))
	r.pullSecretRef(h, s.get("pullSecretRef", "name"))
	ref := s.get("clusterInstallRef")
	r.reference(ref.get("name"), aci)
	r.meansIf(ref.get("group"), "is the group of AgentClusterInstall", kindAgentClusterInstall().Group)
	r.meansIf(ref.get("version"), "is the version of AgentClusterInstall", kindAgentClusterInstall().Version)
	r.meansIf(ref.get("kind"), "is the kind that the cluster is installed by", kindAgentClusterInstall().Kind)
	r.means(s.get("platform", "agentBareMetal"), "is written in every ClusterDeployment, and its content read by nobody")
	r.meansEmpty(s.get("controlPlaneConfig", "servingCertificates"), "is empty")
	r.meansEmpty(s.get("controlPlaneConfig"), "is empty")
	r.meansIf(s.get("installed"), "is the default", "false")
	r.importedDeployment(h, s)
	r.rest(s, "is a matter of Hive, which oaictl leaves to it")
}

// pullSecretRef carries a pull secret over: its content where the Secret stands
// in the input, else the reference.
func (r *reader) pullSecretRef(h *hubInput, n *node) {
	if n == nil {
		return
	}
	name := r.text(n)
	secret := h.secrets[name]
	if secret == nil {
		r.pullSecretFrom(spec.Source{SecretRef: &spec.SecretRef{Name: name}}, n)
		return
	}
	h.used[secret] = true
	if content := r.secretKey(secret, keyPullSecret); content != nil {
		r.pullSecret(content)
		return
	}
	r.wrong(n, fmt.Sprintf("the Secret %s has no key %s", name, keyPullSecret), "put the pull secret there, in data or in stringData")
}

// imageSet carries the version over. A set whose name or image tells the version
// is carried over as that.
func (r *reader) imageSet(h *hubInput, aci *node) {
	ref := aci.get("spec", "imageSetRef", "name")
	r.imageSetRef(h, ref)
}

// versionInName matches the version in the name of a ClusterImageSet, or in the
// tag of a release image.
var (
	ourSet        = regexp.MustCompile(`^openshift-v([0-9]+\.[0-9]+(?:\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)?(?:-multi)?)$`)
	versionInName = regexp.MustCompile(`^(?:img|openshift-v?|ocp-v?|v)?-?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)(?:-(x86[-_]64|amd64|aarch64|arm64|ppc64le|s390x|multi))?(?:-appsub)?$`)
)

func (r *reader) imageSetRef(h *hubInput, ref *node) {
	if ref == nil {
		return
	}
	o, name := &r.cluster.Spec.OpenShift, r.text(ref)
	if parts := ourSet.FindStringSubmatch(name); parts != nil {
		o.Version = parts[1]
		r.from("spec.openshift.version", ref)
	} else if r.agentBased && !slices.ContainsFunc(h.imageSets, func(set *node) bool { return nameOf(set) == name }) {
		ref.taken = false
		r.means(ref, "names a ClusterImageSet that is not among the files, and the agent-based installer knows no hub that has it")
	} else {
		o.ImageSet = name
		r.from("spec.openshift.imageSet", ref)
		if parts := versionInName.FindStringSubmatch(name); parts != nil {
			o.Version = parts[1]
			r.from("spec.openshift.version", ref)
		}
	}
	for _, set := range h.imageSets {
		if nameOf(set) != name {
			continue
		}
		h.used[set] = true
		image := set.get("spec", "releaseImage")
		setText(r, "spec.openshift.releaseImage", &o.ReleaseImage, image)
		_, tag, _ := strings.Cut(path.Base(o.ReleaseImage), ":")
		if parts := versionInName.FindStringSubmatch(tag); parts != nil && o.Version == "" {
			o.Version = parts[1]
			r.from("spec.openshift.version", image)
		}
		r.objectNames(set, "")
		r.meansIf(set.get("metadata", "labels", "visible"), "is for the console of a hub", "true", "false")
	}
	if o.ReleaseImage != "" && o.Version != "" && name == r.cluster.Metadata.Name+"-release" {
		o.ImageSet = ""
	}
}

// restOfObjects tells what nothing refers to.
func (r *reader) restOfObjects(h *hubInput) {
	for _, n := range h.namespaces {
		r.objectNames(n, "")
		r.means(n.get("metadata", "labels", "kubernetes.io/metadata.name"), "is filled in by the API server")
		r.means(n.get("spec"), "is filled in by the API server")
	}
	for _, list := range [][]*node{h.imageSets} {
		for _, n := range list {
			if !h.used[n] {
				r.lose(n, "the cluster does not refer to it")
			}
		}
	}
	for _, objects := range []map[string]*node{h.secrets, h.configMaps} {
		for _, n := range objects {
			if !h.used[n] {
				r.lose(n, "nothing of the cluster refers to it")
				continue
			}
			r.objectNames(n, "")
			r.means(n.get("type"), "follows from what the Secret is for")
		}
	}
}

// secretKey is the content of a Secret under a key, decoded.
func (r *reader) secretKey(secret *node, key string) *node {
	if n := secret.get("stringData", key); n != nil {
		r.means(secret.get("data", key), "stringData wins over data")
		return n
	}
	n := secret.get("data", key)
	if n == nil || n.kind != textNode || n.decoded {
		return n
	}
	data, err := decodeBase64(n.text)
	if err != nil {
		r.wrong(n, "is not base64", "write it under stringData as it is, or encode it")
		return nil
	}
	n.text, n.decoded = data, true
	return n
}

// ownIgnition leaves out of the discovery Ignition what oaictl puts there by
// itself: mirrors and the certificates to trust.
func (r *reader) ownIgnition() {
	d := r.cluster.Spec.Discovery.Ignition
	if d == nil || d.Inline == nil || len(r.cluster.Spec.Registry.Mirrors) == 0 {
		return
	}
	own := []string{r.cluster.RegistriesConf()}
	if bundle := r.cluster.TrustBundle(); bundle != "" {
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
	delete(r.written, d)
	if len(kept) > 0 {
		storage["files"] = kept
		return
	}
	delete(storage, "files")
	if len(storage) == 0 {
		delete(d.Inline, "storage")
	}
	if len(d.Inline) == 1 && d.Inline["ignition"] != nil {
		r.cluster.Spec.Discovery.Ignition = nil
	}
}
