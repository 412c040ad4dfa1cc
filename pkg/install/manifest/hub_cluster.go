package manifest

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// keyPullSecret is the only key that the service reads a pull secret from.
const keyPullSecret = ".dockerconfigjson"

// imageSet chooses the ClusterImageSet, and makes it where the file names a
// release image and no set; nil where it does not.
func (h *hub) imageSet() (object *unstructured.Unstructured) {
	o := h.cluster.Spec.OpenShift
	name := cmp.Or(h.set, o.ImageSet)
	own := h.cluster.Metadata.Name + "-release"
	if (name == "" || name == own) && o.ReleaseImage != "" {
		object = newObject(kindClusterImageSet(), h.cluster, "", own)
		object.Object["spec"] = fields{"releaseImage": o.ReleaseImage}
		name = own
	}
	if name == "" {
		name = "openshift-v" + o.Version
		h.note("the AgentClusterInstall refers to the ClusterImageSet %s, which has to be there when it is applied: the reference cannot be changed later; write spec.openshift.imageSet for another one, or spec.openshift.releaseImage to have one made", name)
	}
	if o.ReleaseImage != "" && object == nil {
		h.note("the ClusterImageSet %s says which release is installed, not spec.openshift.releaseImage", name)
	}
	h.set = name
	return object
}

// clusterObjects makes what belongs to the cluster as a whole.
func (h *hub) clusterObjects() []*unstructured.Unstructured {
	objects := slices.Concat(h.pullSecret(), h.adminKubeconfig())
	endpointCA, secret := h.endpointCA()
	maps := h.manifestMaps()
	objects = slices.Concat(objects, secret, maps, h.mirrorMap(), h.classifications())
	return append(objects, h.clusterDeployment(), h.agentClusterInstall(maps, endpointCA))
}

// pullSecret is the Secret with the pull secret; none where it is only referred
// to.
func (h *hub) pullSecret() []*unstructured.Unstructured {
	source := h.cluster.Spec.PullSecret
	if ref := source.SecretRef; ref != nil {
		if ref.Key != "" && ref.Key != keyPullSecret {
			h.refuse("spec.pullSecret.secretRef.key", "a hub reads a pull secret from the key "+keyPullSecret+" only", "leave the key out, and keep the pull secret under "+keyPullSecret)
		}
		return nil
	}
	if !h.secrets {
		h.note("the Secret %s of type kubernetes.io/dockerconfigjson has to hold the pull secret under %s", PullSecretName(h.cluster), keyPullSecret)
		return nil
	}
	return h.secret(PullSecretName(h.cluster), "kubernetes.io/dockerconfigjson", map[string]string{keyPullSecret: h.cluster.PullSecret().Reveal()})
}

// secret is a Secret, alone in its list.
func (h *hub) secret(name, kind string, texts map[string]string) []*unstructured.Unstructured {
	secret := h.object(kindSecret(), name)
	addLabels(secret, map[string]string{hubapi.LabelWatch: "true"})
	data := fields{}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	secret.Object["type"] = kind
	secret.Object["data"] = data
	return []*unstructured.Unstructured{secret}
}

// endpointCA makes the Secret that the Ignition endpoint is trusted by. It holds
// a certificate, which is public, and so is made in any case. It is called name,
// "" for none.
func (h *hub) endpointCA() (name string, secret []*unstructured.Unstructured) {
	endpoint := h.cluster.Spec.IgnitionEndpoint
	if endpoint == nil || endpoint.CA.Text() == "" {
		return "", nil
	}
	name = h.cluster.Metadata.Name + "-ignition-ca"
	return name, h.secret(name, "Opaque", map[string]string{"tls.crt": endpoint.CA.Text()})
}

// clusterDeployment is Hive's view of the cluster. Its own fields (installed,
// clusterMetadata) are left to the operators that fill them in, unless the cluster
// is installed already.
func (h *hub) clusterDeployment() *unstructured.Unstructured {
	name := h.cluster.Metadata.Name
	object := h.object(kindClusterDeployment(), name)
	object.Object["spec"] = fields{
		"clusterName": name,
		"baseDomain":  h.cluster.Spec.BaseDomain,
		"platform": fields{"agentBareMetal": fields{
			"agentSelector": fields{"matchLabels": fields{hubapi.LabelCluster: name}},
		}},
		"pullSecretRef": fields{"name": PullSecretName(h.cluster)},
		"clusterInstallRef": fields{
			"group":   kindAgentClusterInstall().Group,
			"version": kindAgentClusterInstall().Version,
			"kind":    kindAgentClusterInstall().Kind,
			"name":    name,
		},
	}
	if h.cluster.Imported() {
		s := object.Object["spec"].(fields)
		s["installed"], s["clusterMetadata"] = true, h.importedMetadata()
	}
	return object
}

// mirrorMap is the ConfigMap that AgentClusterInstall and InfraEnv take mirrors
// and certificates from; none without mirrors.
func (h *hub) mirrorMap() []*unstructured.Unstructured {
	if len(h.cluster.Spec.Registry.Mirrors) == 0 {
		return nil
	}
	data := fields{"registries.conf": h.cluster.RegistriesConf()}
	put(data, "ca-bundle.crt", h.cluster.TrustBundle())
	return []*unstructured.Unstructured{h.configMap(h.mirrorsName(), data)}
}

func (h *hub) mirrorsName() string { return h.cluster.Metadata.Name + "-mirrors" }

// mirrorRef refers to the mirrors; nil where there are none.
func (h *hub) mirrorRef() fields {
	if len(h.cluster.Spec.Registry.Mirrors) == 0 {
		return nil
	}
	return fields{"name": h.mirrorsName(), "namespace": h.namespace}
}

func (h *hub) configMap(name string, data fields) *unstructured.Unstructured {
	object := h.object(kindConfigMap(), name)
	addLabels(object, map[string]string{hubapi.LabelWatch: "true"})
	object.Object["data"] = data
	return object
}

// proxyFields is the proxy as both AgentClusterInstall and InfraEnv have it; nil
// where the file says nothing of one.
func proxyFields(proxy spec.Proxy) fields {
	if proxy.HTTP == "" && proxy.HTTPS == "" && proxy.No == nil {
		return nil
	}
	out := fields{}
	put(out, "httpProxy", proxy.HTTP.Reveal())
	put(out, "httpsProxy", proxy.HTTPS.Reveal())
	put(out, "noProxy", joined(proxy.No))
	if len(out) == 0 {
		// Of an object that loses all its fields an API server makes null, and refuses that.
		out["noProxy"] = ""
	}
	return out
}

// annotate sets annotations; none for an empty map.
func annotate(object *unstructured.Unstructured, notes map[string]string) {
	if len(notes) > 0 {
		object.SetAnnotations(maps.Clone(notes))
	}
}

func byName(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) }

// sortedHosts are the hosts of the file in the order of their names.
func sortedHosts(c *spec.Cluster) []*spec.Host {
	hosts := make([]*spec.Host, len(c.Spec.Hosts))
	for i := range c.Spec.Hosts {
		hosts[i] = &c.Spec.Hosts[i]
	}
	slices.SortFunc(hosts, func(a, b *spec.Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}
