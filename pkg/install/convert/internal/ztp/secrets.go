package ztp

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// PullSecretRef carries a pull secret over: its content where the Secret stands
// in the input, else the reference.
func (r *Hub) PullSecretRef(h *Objects, n *source.Node) {
	if n == nil {
		return
	}
	name := r.Text(n)
	secret := h.Secrets[name]
	if secret == nil {
		r.PullSecretFrom(spec.Source{SecretRef: &spec.SecretRef{Name: name}}, n)
		return
	}
	h.Used[secret] = true
	if content := r.secretKey(secret, objects.KeyPullSecret); content != nil {
		r.PullSecret(content)
		return
	}
	r.Wrong(n, fmt.Sprintf("the Secret %s has no key %s", name, objects.KeyPullSecret), "put the pull secret there, in data or in stringData")
}

// secretKey is the content of a Secret under a key, decoded.
func (r *Hub) secretKey(secret *source.Node, key string) *source.Node {
	if n := secret.Get("stringData", key); n != nil {
		r.Means(secret.Get("data", key), "stringData wins over data")
		return n
	}
	n := secret.Get("data", key)
	if n == nil || n.Kind != source.TextNode || n.Decoded {
		return n
	}
	data, err := decodeBase64(n.Text)
	if err != nil {
		r.Wrong(n, "is not base64", "write it under stringData as it is, or encode it")
		return nil
	}
	n.Text, n.Decoded = data, true
	return n
}

// Credentials carries the credentials of a BMC over: their content where the
// Secret stands in the input, else the reference.
func (r *Hub) Credentials(h *Objects, i int, name *source.Node) {
	if name == nil {
		return
	}
	to, field := r.Host(i).BMC, settings.HostField(i, "bmc.credentials")
	r.Text(name)
	r.From(field, name)
	secret := h.Secrets[name.Peek()]
	if secret == nil {
		to.Credentials = spec.Credentials{SecretRef: &spec.SecretRef{Name: name.Peek()}}
		return
	}
	h.Used[secret] = true
	to.Credentials = r.Login(field, r.BMCFile(i), r.secretKey(secret, "username"), r.secretKey(secret, "password"))
}

// fencingSecret carries over by which Secret a machine is powered off by its
// peer.
func (r *Hub) fencingSecret(h *Objects, i int, n *source.Node) {
	if n == nil {
		return
	}
	to, field := r.Host(i), settings.HostField(i, "fencing")
	to.Fencing = &spec.Fencing{}
	r.Text(n)
	r.From(field, n)
	secret := h.Secrets[n.Peek()]
	if secret == nil {
		to.Fencing.Credentials = spec.Credentials{SecretRef: &spec.SecretRef{Name: n.Peek()}}
		return
	}
	h.Used[secret] = true
	source.SetText(r.Account, field+".address", &to.Fencing.Address, r.secretKey(secret, "address"))
	to.Fencing.Credentials = r.Login(field+".credentials", "fencing/"+source.FileName(to.Name), r.secretKey(secret, "username"), r.secretKey(secret, "password"))
	if verify := r.secretKey(secret, "certificateVerification"); verify != nil {
		to.Fencing.Insecure = new(r.Text(verify) == "Disabled")
	}
}

func decodeBase64(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "", fmt.Errorf("decode base64: %w", err)
	}
	return string(data), nil
}
