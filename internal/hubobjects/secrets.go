package hubobjects

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// KeyPullSecret is the only key that the service reads a pull secret from.
const KeyPullSecret = ".dockerconfigjson"

// PullSecret is the Secret with the pull secret; none where it is only referred
// to.
func (h *Maker) PullSecret() []*unstructured.Unstructured {
	source := h.Cluster.Spec.PullSecret
	if ref := source.SecretRef; ref != nil {
		if ref.Key != "" && ref.Key != KeyPullSecret {
			h.Refuse("spec.pullSecret.secretRef.key", "a hub reads a pull secret from the key "+KeyPullSecret+" only", "leave the key out, and keep the pull secret under "+KeyPullSecret)
		}
		return nil
	}
	if !h.Secrets {
		h.note("the Secret %s of type kubernetes.io/dockerconfigjson has to hold the pull secret under %s", PullSecretName(h.Cluster), KeyPullSecret)
		return nil
	}
	return h.Secret(PullSecretName(h.Cluster), "kubernetes.io/dockerconfigjson", map[string]string{KeyPullSecret: h.Cluster.PullSecret().Reveal()})
}

// Secret is a Secret, alone in its list.
func (h *Maker) Secret(name, kind string, texts map[string]string) []*unstructured.Unstructured {
	secret := h.Object(hubapi.KindSecret, name)
	addLabels(secret, map[string]string{hubapi.LabelWatch: "true"})
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
	return name, h.Secret(name, "Opaque", map[string]string{"tls.crt": endpoint.CA.Text()})
}

// keyToken is where the service reads a host's token for the Ignition endpoint.
const keyToken = "ignition-token"

// BMCSecret is the credentials of a host's BMC; none where they are only referred
// to.
func (h *Maker) BMCSecret(host *spec.Host) []*unstructured.Unstructured {
	name := BMCSecretName(h.Cluster, host)
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, ok := host.BMC.Credentials.Login()
	switch {
	case !h.Secrets:
		h.note("the Secret %s has to hold the username and password of the BMC of %s", name, host.Name)
	case !ok || password.IsZero():
		h.RefuseHost(host, "bmc.credentials", "the password stands in a Secret on the hub without the user", "write credentials: {secretRef: {name: NAME}} for a Secret with the keys username and password")
	default:
		return h.Secret(name, "Opaque", map[string]string{"username": user, "password": password.Reveal()})
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
		h.note("the Secret %s has to hold address and certificateVerification beside username and password: with it %s is powered off by its peer", name, host.Name)
		return nil
	}
	user, password, ok := f.Credentials.Login()
	switch {
	case !h.Secrets:
		h.note("the Secret %s has to hold address, username, password and certificateVerification: with it %s is powered off by its peer", name, host.Name)
	case !ok || password.IsZero():
		h.RefuseHost(host, "fencing.credentials", "the password stands in a Secret on the hub without the user", "write credentials: {secretRef: {name: NAME}} for a Secret with the keys address, username, password and certificateVerification")
	default:
		return h.Secret(name, "Opaque", map[string]string{
			"address": f.Address, "username": user, "password": password.Reveal(), "certificateVerification": FencingVerification(f),
		})
	}
	return nil
}

// FencingVerification says whether the certificate there is verified, in the
// service's words.
func FencingVerification(f *spec.Fencing) string {
	if f.Insecure != nil && *f.Insecure {
		return "Disabled"
	}
	return "Enabled"
}

// TokenSecret is the token of a host for the Ignition endpoint; none where it is
// only referred to.
func (h *Maker) TokenSecret(host *spec.Host) []*unstructured.Unstructured {
	name := TokenSecretName(h.Cluster, host)
	if name == "" {
		return nil
	}
	token := host.IgnitionEndpoint.Token
	switch {
	case token.SecretRef != nil:
		if token.SecretRef.Key != "" && token.SecretRef.Key != keyToken {
			h.RefuseHost(host, "ignitionEndpoint.token.secretRef.key", "a hub reads the token from the key "+keyToken+" only", "leave the key out, and keep the token under "+keyToken)
		}
	case !h.Secrets:
		h.note("the Secret %s has to hold the token of %s for the Ignition endpoint under %s", name, host.Name, keyToken)
	default:
		return h.Secret(name, "Opaque", map[string]string{keyToken: token.Secret().Reveal()})
	}
	return nil
}

// adminKubeconfigName is the name of the Secret with the kubeconfig of a cluster
// that is installed already: the one that the file refers to, else the one that
// the service looks for by itself.
func adminKubeconfigName(c *spec.Cluster) string {
	return named(c.Spec.Import.Kubeconfig.SecretRef, c.Metadata.Name+"-admin-kubeconfig")
}

// AdminKubeconfig makes the Secret by which the service reaches a cluster that is
// installed already.
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
			h.Refuse(field+".secretRef.key", "a hub reads a kubeconfig from the key "+hubapi.KeyKubeconfig+" only", "leave the key out, and keep the kubeconfig under "+hubapi.KeyKubeconfig)
		}
	case i.Kubeconfig.IsZero():
		h.Refuse(field, "is missing: a hub reaches the installed cluster by it", "write import: {kubeconfig: {file: PATH}}")
	case !h.Secrets:
		h.note("the Secret %s has to hold the kubeconfig of the installed cluster under %s", name, hubapi.KeyKubeconfig)
	default:
		return h.Secret(name, "Opaque", map[string]string{hubapi.KeyKubeconfig: i.Kubeconfig.Secret().Reveal()})
	}
	return nil
}
