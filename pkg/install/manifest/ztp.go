package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// writeZTP makes the files that the agent-based installer keeps in its image
// (cluster-manifests/, mirror/, openshift/, hostconfig/, operators.yaml,
// fencing-credentials.yaml), and what of the cluster they have no place for. The
// error is about a document in the file that cannot be read.
func writeZTP(c *spec.Cluster, secrets bool) ([]File, []Loss, error) {
	w := newWriter(c, secrets)
	w.loseAll(lostByZTP())
	w.clusterManifests()
	w.mirrorFiles()
	w.openshiftFolder()
	w.operatorFile()
	w.hostConfigs()
	w.fencingFile()
	return w.result()
}

// lostByZTP says why fields have no place in the files.
func lostByZTP() map[string]string {
	const (
		byAgent   = "the agent-based installer sets nothing of the kind on a host"
		rest      = "is in the words of the REST service"
		installer = "the agent-based installer decides it by itself"
	)
	return map[string]string{
		"spec.openshift.imageSet":      "names an object of a hub; write spec.openshift.releaseImage",
		"spec.topology.required":       "the agent-based installer waits for every machine",
		"spec.boot.method":             "the files say nothing of how machines boot",
		"spec.boot.image":              installer,
		"spec.infraEnv":                "the agent-based installer has one InfraEnv, its own",
		"spec.acceptUnknownHosts":      "the agent-based installer takes every machine that boots the image",
		"spec.hold":                    "the agent-based installer starts as soon as the machines are there",
		"spec.bundles":                 "the files name operators only one by one, in spec.operators",
		"spec.ignitionEndpoint":        "the agent-based installer does not pass it on",
		"spec.discovery.osVersion":     "the agent-based installer boots its own live system",
		"spec.hub":                     "is a matter of a hub, and the agent-based installer has none",
		"spec.ignoreValidations":       "the agent-based installer does not pass it on",
		"spec.overrides.infraEnv":      rest,
		"spec.overrides.host":          rest,
		"spec.hosts.match.serial":      "the agent-based installer recognises machines by MAC addresses only",
		"spec.hosts.match.uuid":        "the agent-based installer recognises machines by MAC addresses only",
		"spec.hosts.match.hostname":    "the agent-based installer recognises machines by MAC addresses only",
		"spec.hosts.match.bmc":         "the agent-based installer recognises machines by MAC addresses only",
		"spec.hosts.bmc":               "the agent-based installer does not boot machines",
		"spec.hosts.disk.keep":         byAgent,
		"spec.hosts.labels":            byAgent,
		"spec.hosts.machineConfigPool": byAgent,
		"spec.hosts.installerArgs":     byAgent,
		"spec.hosts.ignition":          byAgent,
		"spec.hosts.ignitionEndpoint":  byAgent,
	}
}

// writer makes the files of a format. Its hub makes objects of a copy of the
// cluster from which what cannot be said is taken out.
type writer struct {
	losses
	hub
	secrets bool // whether secrets are written
	files   []File
}

func newWriter(c *spec.Cluster, secrets bool) *writer {
	whole := c
	c = c.AtInstall()
	shown := *c
	shown.Spec.Hub = spec.Hub{}
	w := &writer{losses: losses{cluster: c}, secrets: secrets}
	w.laterWorkers(whole)
	w.oneTag(&shown)
	w.publicProxy(&shown)
	w.hub = hub{refusals: refusals{cluster: &shown}, namespace: NamespaceOf(c), secrets: secrets}
	if c.Imported() {
		w.refuse("spec.import", "is a cluster that is installed already, and this format describes one that is to be installed", "add its hosts with oaictl add-node, or have the objects of a hub rendered: oaictl render")
	}
	return w
}

// laterWorkers loses the workers of a single node, which none of the formats can
// say are to be added once it is installed.
func (w *writer) laterWorkers(whole *spec.Cluster) {
	if whole == w.losses.cluster {
		return
	}
	const why = "a single node has no workers when it is installed: add them with `oaictl add-node` afterwards"
	if w.said("spec.topology.workers") {
		w.lose("spec.topology.workers", plainOf(whole.Spec.Topology.Workers), why)
	}
	for i := range whole.Spec.Hosts {
		if h := &whole.Spec.Hosts[i]; w.losses.cluster.Host(h.Name) == nil {
			w.lose(whole.HostField(h, ""), plainOf(h), why)
		}
	}
}

func (w *writer) result() ([]File, []Loss, error) {
	if err := w.hub.err(); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(w.losses.list, func(a, b Loss) int { return w.place(a.Path, b.Path) })
	return w.files, w.losses.list, nil
}

// place orders two fields as they stand in the file.
func (w *writer) place(a, b string) int {
	_, lineA, colA := w.losses.cluster.Position(a)
	_, lineB, colB := w.losses.cluster.Position(b)
	return cmp.Or(cmp.Compare(lineA, lineB), cmp.Compare(colA, colB), cmp.Compare(a, b))
}

// oneTag keeps the tag that a label can hold.
func (w *writer) oneTag(shown *spec.Cluster) {
	tags := shown.Metadata.Tags
	if len(tags) == 0 {
		return
	}
	shown.Metadata.Tags = nil
	for i, tag := range tags {
		if shown.Metadata.Tags == nil && len(validation.IsValidLabelValue(tag)) == 0 {
			shown.Metadata.Tags = []string{tag}
			continue
		}
		w.lose(fmt.Sprintf("metadata.tags[%d]", i), tag, "the label that tags stand in holds one, without spaces")
	}
}

// publicProxy takes proxies with a password out, unless secrets are asked for.
func (w *writer) publicProxy(shown *spec.Cluster) {
	if w.secrets {
		return
	}
	for field, proxy := range map[string]*spec.ProxyURL{"spec.proxy.http": &shown.Spec.Proxy.HTTP, "spec.proxy.https": &shown.Spec.Proxy.HTTPS} {
		if parsed, err := url.Parse(proxy.Reveal()); err != nil || parsed.User != nil {
			w.lose(field, proxy.String(), "holds a user or a password, and secrets were not asked for")
			*proxy = ""
		}
	}
}

func (w *writer) file(path string, secret bool, content string) {
	w.files = append(w.files, File{Path: path, Content: []byte(content), Secret: secret})
}

// objectFile writes objects as one file.
func (w *writer) objectFile(path string, secret bool, objects ...*unstructured.Unstructured) {
	var text strings.Builder
	if err := WriteYAML(&text, objects); err != nil {
		w.refuse("", err.Error(), "")
		return
	}
	w.file(path, secret, strings.TrimPrefix(text.String(), "---\n"))
}

// yamlFile writes anything that is no object as one file.
func (w *writer) yamlFile(path string, secret bool, content any) {
	text, err := yamlText(content)
	if err != nil {
		w.refuse("", fmt.Sprintf("write %s as YAML: %v", path, err), "")
		return
	}
	w.file(path, secret, text)
}

// clusterManifests are the objects of a hub, as far as the client in the image
// reads them.
func (w *writer) clusterManifests() {
	const folder = "cluster-manifests/"
	c := w.hub.cluster
	c.Spec.IgnitionEndpoint, c.Spec.IgnoreValidations = nil, spec.IgnoreValidations{}
	w.releaseFile(folder)
	w.objectFile(folder+"cluster-deployment.yaml", false, w.clusterDeployment())
	install := w.agentClusterInstall(nil, "")
	for _, field := range []string{"mirrorRegistryRef", "holdInstallation"} {
		unstructured.RemoveNestedField(install.Object, "spec", field)
	}
	_, overrides := install.GetAnnotations()[hubapi.AnnotationInstallConfigOverrides]
	w.objectFile(folder+"agent-cluster-install.yaml", w.hasPassword() || overrides, install)
	w.infraEnvFiles(folder)
	w.pullSecretFile(folder + "pull-secret.yaml")
}

// hasPassword says whether the objects have the proxy's password.
func (w *writer) hasPassword() bool {
	proxy := w.hub.cluster.Spec.Proxy
	return strings.Contains(proxy.HTTP.Reveal()+proxy.HTTPS.Reveal(), "@")
}

// releaseVersion is a version that names one release, such as 4.20.3.
var releaseVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// releaseImage is the image of the release: the one that the file names, else
// the one that Red Hat publishes by its version and architecture. ok is false
// where the version is not an exact one.
func releaseImage(c *spec.Cluster) (image string, ok bool) {
	o := c.Spec.OpenShift
	if o.ReleaseImage != "" {
		return o.ReleaseImage, true
	}
	version := strings.TrimSuffix(o.Version, "-multi")
	if !releaseVersion.MatchString(version) {
		return "", false
	}
	arch := cmp.Or(string(o.Arch), string(spec.X86))
	if version != o.Version {
		arch = string(spec.Multi)
	}
	if arch == string(spec.ARM) {
		arch = "aarch64"
	}
	return "quay.io/openshift-release-dev/ocp-release:" + version + "-" + arch, true
}

func (w *writer) releaseFile(folder string) {
	c := w.hub.cluster
	w.set = c.Metadata.Name + "-release"
	image, ok := releaseImage(c)
	if !ok {
		w.lose("spec.openshift.version", c.Spec.OpenShift.Version, "the files name the release by its image: write a version of three parts, or spec.openshift.releaseImage")
		return
	}
	set := newObject(kindClusterImageSet(), c, "", w.set)
	set.Object["spec"] = fields{"releaseImage": image}
	w.objectFile(folder+"cluster-image-set.yaml", false, set)
}

// infraEnvFiles are the one InfraEnv that the image has, and the networks of all
// hosts, whose labels have to equal its selector.
func (w *writer) infraEnvFiles(folder string) {
	c := w.hub.cluster
	arch := w.oneArch()
	bound := *c
	bound.Spec.InfraEnv, bound.Spec.Boot.Image = spec.InfraEnv{}, ""
	w.hub.cluster = &bound
	env := w.infraEnv(install.InfraEnvPlan{Name: c.Metadata.Name, Arch: arch})
	w.hub.cluster = c
	for _, field := range []string{"mirrorRegistryRef", "agentLabels"} {
		unstructured.RemoveNestedField(env.Object, "spec", field)
	}
	_, ignition, _ := unstructured.NestedString(env.Object, "spec", "ignitionConfigOverride")
	w.objectFile(folder+"infraenv.yaml", w.hasPassword() || ignition, env)
	var networks []*unstructured.Unstructured
	for _, host := range sortedHosts(c) {
		if config := w.nmStateConfig(c.Metadata.Name, host); config != nil {
			config.SetLabels(map[string]string{hubapi.LabelInfraEnv: c.Metadata.Name})
			networks = append(networks, config)
		}
	}
	if len(networks) > 0 {
		w.objectFile(folder+"nmstateconfig.yaml", false, networks...)
	}
}

// oneArch is the architecture of the one image; hosts of another are lost to it.
func (w *writer) oneArch() spec.Arch {
	c := w.losses.cluster
	if c.Spec.OpenShift.Arch != spec.Multi {
		return c.Spec.OpenShift.Arch
	}
	arch := spec.X86
	if hosts := c.Spec.Hosts; len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h spec.Host) bool { return cmp.Or(h.Arch, spec.X86) == spec.X86 }) {
		arch = hosts[0].Arch
	}
	for i := range c.Spec.Hosts {
		if h := &c.Spec.Hosts[i]; cmp.Or(h.Arch, spec.X86) != arch {
			w.loseHost(h, "arch", string(h.Arch), fmt.Sprintf("the files make one image, for %s", arch))
		}
	}
	return arch
}

// pullSecretFile is the pull secret in stringData, the only form that the client
// in the image reads.
func (w *writer) pullSecretFile(file string) {
	c := w.losses.cluster
	if !w.pullSecretKnown() {
		return
	}
	secret := w.object(kindSecret(), c.Metadata.Name+"-pull-secret")
	secret.Object["type"] = "kubernetes.io/dockerconfigjson"
	secret.Object["stringData"] = fields{keyPullSecret: c.PullSecret().Reveal()}
	w.objectFile(file, true, secret)
}

// pullSecretKnown says whether the pull secret can be written; if not, it is
// lost.
func (w *writer) pullSecretKnown() bool {
	c, why := w.losses.cluster, ""
	switch {
	case c.Spec.PullSecret.SecretRef != nil:
		why = "stands in a Secret on a hub"
	case !w.secrets:
		why = "secrets were not asked for"
	default:
		return true
	}
	w.lose("spec.pullSecret", plainOf(c.Spec.PullSecret), why)
	return false
}

func (w *writer) mirrorFiles() {
	c := w.hub.cluster
	if conf := c.RegistriesConf(); conf != "" {
		w.file("mirror/registries.conf", false, conf)
		if bundle := c.TrustBundle(); bundle != "" {
			w.file("mirror/ca-bundle.crt", false, bundle)
		}
	}
}

// openshiftFolder is the extra manifests, which all go into one folder. As with
// the file's other documents in words that are not ours, nobody knows whether
// they hold secrets: so they are their owner's alone.
func (w *writer) openshiftFolder() {
	seen := map[string]bool{}
	for _, m := range w.losses.cluster.ManifestFiles() {
		if base, isJSON := strings.CutSuffix(m.Name, ".json"); isJSON {
			m.Name = base + ".yaml" // JSON is YAML, too, and the client looks at names
		}
		switch yaml, err := path.Match("*.y*ml", m.Name); {
		case err != nil || !yaml:
			w.lose(m.Field, m.Name, "the agent-based installer takes manifests in YAML only")
			continue
		case seen[m.Name]:
			w.lose(m.Field, m.Name, "the agent-based installer has one folder, in which there is a manifest of that name")
			continue
		case m.Folder != spec.FolderOpenShift && m.Field != "spec.network.mtu": // which nobody gave a folder
			w.lose(m.Field+".folder", string(m.Folder), "the agent-based installer has one folder, openshift: the manifest "+m.Name+" stands there")
		}
		seen[m.Name] = true
		w.file("openshift/"+m.Name, true, m.Content)
	}
}

// operatorFile is the operators as the service takes them, with the properties of
// each as JSON in a text.
func (w *writer) operatorFile() {
	var list []any
	for i, o := range w.losses.cluster.Spec.Operators {
		entry := fields{"name": o.Name}
		if len(o.Properties) > 0 {
			properties, err := json.Marshal(o.Properties)
			if err != nil {
				w.refuse(fmt.Sprintf("spec.operators[%d].properties", i), err.Error(), "")
			}
			entry["properties"] = string(properties)
		}
		list = append(list, entry)
	}
	if list != nil {
		w.yamlFile("operators.yaml", false, list)
	}
}
