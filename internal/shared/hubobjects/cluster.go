package hubobjects

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ImageSetNames are what the ClusterImageSet that is made for a cluster is called, and what
// it was called formerly. It stands in no namespace: clusters of one name in two namespaces
// shared the latter. One that refers to it keeps it, since the reference can't be changed.
func ImageSetNames(namespace, cluster string) (name, former string) {
	former = cluster + "-release"
	return namespace + "." + former, former
}

// IsImageSetOf reports whether a ClusterImageSet has the name of a cluster's, in any namespace.
func IsImageSetOf(set, cluster string) bool {
	namespace, _, _ := strings.Cut(set, ".") // which has no dot
	name, former := ImageSetNames(namespace, cluster)
	return set == name || set == former
}

// ImageSet chooses the ClusterImageSet, and makes it where only a release image is named.
func (h *Maker) ImageSet() (object *unstructured.Unstructured) {
	o := h.Cluster.Spec.OpenShift
	own, former := ImageSetNames(h.Namespace, h.Cluster.Metadata.Name)
	name := cmp.Or(h.Set, o.ImageSet)
	if o.ReleaseImage != "" && (name == "" || name == own || name == former) {
		name = cmp.Or(name, own)
		object = NewObject(hubapi.KindClusterImageSet, h.Cluster, "", name)
		object.Object["spec"] = Fields{"releaseImage": o.ReleaseImage}
	}
	if name == "" {
		name = "openshift-v" + o.Version
		h.addNote("the AgentClusterInstall refers to the ClusterImageSet %s, which has to be there when it is applied: the reference cannot be "+
			"changed later; write spec.openshift.imageSet for another one, or spec.openshift.releaseImage to have one made", name)
	}
	if o.ReleaseImage != "" && object == nil {
		h.addNote("the ClusterImageSet %s says which release is installed, not spec.openshift.releaseImage", name)
	}
	h.Set = name
	return object
}

// ClusterDeployment is Hive's view of the cluster. Its own fields (installed, clusterMetadata) are left to the
// operators that fill them in, unless the cluster is installed already. When it is deleted, its nodes keep running.
func (h *Maker) ClusterDeployment() *unstructured.Unstructured {
	name := h.Cluster.Metadata.Name
	object := h.Object(hubapi.KindClusterDeployment, name)
	object.Object["spec"] = Fields{
		"clusterName": name,
		"baseDomain":  h.Cluster.Spec.BaseDomain,
		"platform": Fields{"agentBareMetal": Fields{
			"agentSelector": Fields{"matchLabels": Fields{hubapi.LabelCluster: name}},
		}},
		"pullSecretRef": Fields{"name": PullSecretName(h.Cluster)},
		"clusterInstallRef": Fields{
			"group":   hubapi.GroupHiveExtension,
			"version": hubapi.VersionHiveExtension,
			"kind":    hubapi.KindAgentClusterInstall,
			"name":    name,
		},
		"preserveOnDelete": true,
	}
	if h.Cluster.Imported() {
		s := object.Object["spec"].(Fields)
		s["installed"], s["clusterMetadata"] = true, h.importedMetadata()
	}
	return object
}

// importedMetadata leaves infraID empty: what the service calls the cluster is not known yet.
func (h *Maker) importedMetadata() Fields {
	return Fields{
		"clusterID": h.Cluster.Spec.Import.ClusterID, "infraID": "",
		"adminKubeconfigSecretRef": Fields{"name": adminKubeconfigName(h.Cluster)},
	}
}

// importedInstall is the AgentClusterInstall of a cluster that is installed
// already. It asks for nothing to be installed: the counts are those that the
// API server wants there.
func (h *Maker) importedInstall(endpointCA string) *unstructured.Unstructured {
	c := h.Cluster
	settings := clustersettings.OfCluster(c)
	if key := c.SSHKey(); key != "" {
		settings[model.SettingSSHKeys] = model.ValueOf(key)
	}
	if proxy := c.Spec.Proxy; ProxyFields(proxy) != nil {
		settings[model.SettingProxy] = model.ValueOf(proxy)
	}
	settings[model.SettingUserManaged], settings[model.SettingControlPlane] = model.ValueOf(true), model.ValueOf(1)
	object, s := h.install(settings, endpointCA)
	if c.Spec.Import.ClusterID != "" {
		s["clusterMetadata"] = h.importedMetadata()
	}
	return object
}

func (h *Maker) configMap(name string, data Fields) *unstructured.Unstructured {
	object := h.Object(hubapi.KindConfigMap, name)
	mark(object.Object, "labels", map[string]string{hubapi.LabelWatch: "true"})
	object.Object["data"] = data
	return object
}

// maxConfigMap is how much a ConfigMap holds, in bytes (core/v1: MaxSecretSize).
const maxConfigMap = 1 << 20

// ManifestMaps are the extra manifests as ConfigMaps: <cluster>-manifests and
// <cluster>-openshift by their folder, with a number behind them from the second
// where they are too much for one. The service puts all of them into the folder
// openshift, so that no name may stand in both.
func (h *Maker) ManifestMaps() []*unstructured.Unstructured {
	seen := map[string]spec.ManifestFolder{}
	byFolder := map[spec.ManifestFolder][]spec.Manifest{}
	for _, m := range h.Cluster.ManifestFiles() {
		switch other, twice := seen[m.Name]; {
		case twice:
			h.Refuse(m.Field, fmt.Sprintf("the manifest %s stands in the folder %s, too; a hub has one folder for both", m.Name, other),
				"give one of them another name")
		case len(validation.IsConfigMapKey(m.Name)) > 0:
			h.Refuse(m.Field, fmt.Sprintf("a ConfigMap takes no manifest of the name %s", m.Name),
				"use letters, digits, dashes, dots and underscores")
		case strings.HasPrefix(m.Name, "."):
			h.Refuse(m.Field, fmt.Sprintf("the name of the manifest %s begins with a dot, which a hub does not take", m.Name), "")
		case len(m.Name)+len(m.Content) > maxConfigMap:
			h.Refuse(m.Field, fmt.Sprintf("the manifest %s has %d bytes, and a ConfigMap holds %d", m.Name, len(m.Content),
				maxConfigMap-len(m.Name)), "split it")
		}
		seen[m.Name] = m.Folder
		byFolder[m.Folder] = append(byFolder[m.Folder], m)
	}
	if len(byFolder[spec.FolderManifests]) > 0 {
		h.addNote("a hub puts extra manifests into the folder openshift, those of the folder manifests as well")
	}
	var objects []*unstructured.Unstructured
	for _, folder := range []spec.ManifestFolder{spec.FolderManifests, spec.FolderOpenShift} {
		objects = append(objects, h.folderMaps(folder, byFolder[folder])...)
	}
	return objects
}

// folderMaps fills as many ConfigMaps as one folder's manifests need, by their names.
func (h *Maker) folderMaps(folder spec.ManifestFolder, manifests []spec.Manifest) []*unstructured.Unstructured {
	slices.SortFunc(manifests, func(a, b spec.Manifest) int { return cmp.Compare(a.Name, b.Name) })
	var objects []*unstructured.Unstructured
	data, size := Fields{}, 0
	flush := func() {
		name := fmt.Sprintf("%s-%s", h.Cluster.Metadata.Name, folder)
		if len(objects) > 0 {
			name = fmt.Sprintf("%s-%d", name, len(objects)+1)
		}
		objects = append(objects, h.configMap(name, data))
		data, size = Fields{}, 0
	}
	for _, m := range manifests {
		grows := len(m.Name) + len(m.Content)
		if size+grows > maxConfigMap && len(data) > 0 {
			flush()
		}
		data[m.Name] = m.Content
		size += grows
	}
	if len(data) > 0 {
		flush()
	}
	return objects
}

// MirrorMap is the ConfigMap with mirrors and certificates; none without mirrors.
func (h *Maker) MirrorMap() []*unstructured.Unstructured {
	if len(h.Cluster.Spec.Registry.Mirrors) == 0 {
		return nil
	}
	data := Fields{hubapi.KeyRegistriesConf: h.Cluster.RegistriesConf()}
	Put(data, "ca-bundle.crt", h.Cluster.TrustBundle())
	return []*unstructured.Unstructured{h.configMap(h.mirrorsName(), data)}
}

func (h *Maker) mirrorsName() string { return h.Cluster.Metadata.Name + "-mirrors" }

func (h *Maker) mirrorRef() Fields {
	if len(h.Cluster.Spec.Registry.Mirrors) == 0 {
		return nil
	}
	return Fields{"name": h.mirrorsName(), "namespace": h.Namespace}
}

// PullSecret is the Secret with the pull secret; none where it is only referred to.
func (h *Maker) PullSecret() []*unstructured.Unstructured {
	return h.pullSecret("spec.pullSecret", PullSecretName(h.Cluster), &h.Cluster.Spec.PullSecret)
}

// DiscoverySecret is the pull secret of the InfraEnv that a host has to itself; none where the
// host says none, or only refers to it.
func (h *Maker) DiscoverySecret(host *spec.Host) []*unstructured.Unstructured {
	name := DiscoverySecretName(h.Cluster, host)
	if name == "" {
		return nil
	}
	return h.pullSecret(h.Cluster.HostField(host, "discovery.pullSecret"), name, &host.Discovery.PullSecret)
}

func (h *Maker) pullSecret(field, name string, source *spec.Source) []*unstructured.Unstructured {
	if ref := source.SecretRef; ref != nil {
		if ref.Key != "" && ref.Key != hubapi.KeyPullSecret {
			h.Refuse(field+".secretRef.key", "a hub reads a pull secret from the key "+hubapi.KeyPullSecret+" only",
				"leave the key out, and keep the pull secret under "+hubapi.KeyPullSecret)
		}
		return nil
	}
	if !h.Secrets {
		h.addNote("the Secret %s of type kubernetes.io/dockerconfigjson has to hold the pull secret under %s", name, hubapi.KeyPullSecret)
		return nil
	}
	return h.Secret(name, "kubernetes.io/dockerconfigjson", map[string]string{hubapi.KeyPullSecret: source.Secret().Reveal()})
}

// Secret is a Secret, alone in its list.
func (h *Maker) Secret(name, kind string, texts map[string]string) []*unstructured.Unstructured {
	secret := h.Object(hubapi.KindSecret, name)
	mark(secret.Object, "labels", map[string]string{hubapi.LabelWatch: "true"})
	data := Fields{}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	secret.Object["type"] = kind
	secret.Object["data"] = data
	return []*unstructured.Unstructured{secret}
}

// EndpointCA makes the Secret that the Ignition endpoint is trusted by. It holds
// a certificate, which is public, and so is made in any case. It is called name,
// "" for none.
func (h *Maker) EndpointCA() (name string, secret []*unstructured.Unstructured) {
	endpoint := h.Cluster.Spec.IgnitionEndpoint
	if endpoint == nil || endpoint.CA.Text() == "" {
		return "", nil
	}
	name = h.Cluster.Metadata.Name + "-ignition-ca"
	return name, h.Secret(name, "Opaque", map[string]string{hubapi.KeyIgnitionCA: endpoint.CA.Text()})
}

// BMCSecret is the credentials of a BMC; none where they are only referred to.
func (h *Maker) BMCSecret(host *spec.Host) []*unstructured.Unstructured {
	name := BMCSecretName(h.Cluster, host)
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, ok := host.BMC.Credentials.Login()
	switch {
	case !h.Secrets:
		h.addNote("the Secret %s has to hold the username and password of the BMC of %s", name, host.Name)
	case !ok || password.IsZero():
		h.RefuseHost(host, "bmc.credentials", "the password is in a Secret on the hub without the user",
			"write credentials: {secretRef: {name: NAME}} for a Secret with the keys username and password")
	default:
		return h.Secret(name, "Opaque", map[string]string{hubapi.KeyUsername: user, hubapi.KeyPassword: password.Reveal()})
	}
	return nil
}

// FencingSecret is the credentials by which a host is powered off by its peer.
func (h *Maker) FencingSecret(host *spec.Host) []*unstructured.Unstructured {
	f, name := host.FencedBy(), FencingSecretName(h.Cluster, host)
	if f == nil {
		return nil
	}
	if f.Credentials.SecretRef != nil {
		h.addNote("the Secret %s has to hold address and certificateVerification beside username and password: with it %s is "+
			"powered off by its peer", name, host.Name)
		return nil
	}
	user, password, ok := f.Credentials.Login()
	switch {
	case !h.Secrets:
		h.addNote("the Secret %s has to hold address, username, password and certificateVerification: with it %s is powered off by its peer",
			name, host.Name)
	case !ok || password.IsZero():
		h.RefuseHost(host, "fencing.credentials", "the password is in a Secret on the hub without the user",
			"write credentials: {secretRef: {name: NAME}} for a Secret with the keys address, username, password and certificateVerification")
	default:
		return h.Secret(name, "Opaque", map[string]string{
			hubapi.KeyFencingAddress: f.Address, hubapi.KeyUsername: user, hubapi.KeyPassword: password.Reveal(),
			hubapi.KeyFencingVerify: FencingVerification(f),
		})
	}
	return nil
}

// FencingVerification says in the service's words whether the certificate is verified.
func FencingVerification(f *spec.Fencing) string {
	if f.Insecure != nil && *f.Insecure {
		return "Disabled"
	}
	return "Enabled"
}

// TokenSecret is the token for the Ignition endpoint; none where it is only referred to.
func (h *Maker) TokenSecret(host *spec.Host) []*unstructured.Unstructured {
	name := TokenSecretName(h.Cluster, host)
	if name == "" {
		return nil
	}
	token := host.IgnitionEndpoint.Token
	switch {
	case token.SecretRef != nil:
		if token.SecretRef.Key != "" && token.SecretRef.Key != hubapi.KeyIgnitionToken {
			h.RefuseHost(host, "ignitionEndpoint.token.secretRef.key", "a hub reads the token from the key "+hubapi.KeyIgnitionToken+" only",
				"leave the key out, and keep the token under "+hubapi.KeyIgnitionToken)
		}
	case !h.Secrets:
		h.addNote("the Secret %s has to hold the token of %s for the Ignition endpoint under %s", name, host.Name, hubapi.KeyIgnitionToken)
	default:
		return h.Secret(name, "Opaque", map[string]string{hubapi.KeyIgnitionToken: token.Secret().Reveal()})
	}
	return nil
}

// adminKubeconfigName is the name of the Secret with the kubeconfig of a cluster
// that is installed already: the one that the file refers to, else the one that
// the service looks for by itself.
func adminKubeconfigName(c *spec.Cluster) string {
	return named(c.Spec.Import.Kubeconfig.SecretRef, c.Metadata.Name+"-admin-kubeconfig")
}

// AdminKubeconfig is the Secret by which the service reaches a cluster that is installed.
func (h *Maker) AdminKubeconfig() []*unstructured.Unstructured {
	i := h.Cluster.Spec.Import
	if i == nil {
		return nil
	}
	const field = "spec.import.kubeconfig"
	name := adminKubeconfigName(h.Cluster)
	switch ref := i.Kubeconfig.SecretRef; {
	case ref != nil:
		if ref.Key != "" && ref.Key != hubapi.KeyKubeconfig {
			h.Refuse(field+".secretRef.key", "a hub reads a kubeconfig from the key "+hubapi.KeyKubeconfig+" only",
				"leave the key out, and keep the kubeconfig under "+hubapi.KeyKubeconfig)
		}
	case i.Kubeconfig.IsZero():
		h.Refuse(field, "is missing: a hub reaches the installed cluster by it", "write import: {kubeconfig: {file: PATH}}")
	case !h.Secrets:
		h.addNote("the Secret %s has to hold the kubeconfig of the installed cluster under %s", name, hubapi.KeyKubeconfig)
	default:
		return h.Secret(name, "Opaque", map[string]string{hubapi.KeyKubeconfig: i.Kubeconfig.Secret().Reveal()})
	}
	return nil
}
