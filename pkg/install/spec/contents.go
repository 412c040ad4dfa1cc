package spec

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// PullSecret is the pull secret's JSON.
func (c *Cluster) PullSecret() Secret { return c.Spec.PullSecret.Secret() }

// SSHKey is the public keys, one a line, as the service takes them; empty if
// there are none.
func (c *Cluster) SSHKey() string {
	var keys []string
	for i := range c.Spec.SSHKeys {
		keys = append(keys, values.KeyLines(c.Spec.SSHKeys[i].Text())...)
	}
	return strings.Join(keys, "\n")
}

// TrustBundle is the certificates (PEM) to trust besides the well-known ones;
// empty if there are none.
func (c *Cluster) TrustBundle() string { return pem(c.Spec.Registry.TrustBundle) }

// pem is the text of certificates, ending in a line's end.
func pem(source *PublicSource) string {
	if text := strings.TrimSpace(source.Text()); text != "" {
		return text + "\n"
	}
	return ""
}

// File is what the cluster was read from, for messages; empty for a cluster
// that was made in Go.
func (c *Cluster) File() string {
	if c.source == nil {
		return ""
	}
	return c.source.file
}

// Host is the host of that name, or nil.
func (c *Cluster) Host(name string) *Host {
	for i := range c.Spec.Hosts {
		if c.Spec.Hosts[i].Name == name {
			return &c.Spec.Hosts[i]
		}
	}
	return nil
}

// HostField is the path of a field of a host, such as spec.hosts[2].disk.hints
// for the name disk.hints, or of the host itself for no name. It is empty for a
// host that is not one of the cluster's own.
func (c *Cluster) HostField(h *Host, name string) string {
	for i := range c.Spec.Hosts {
		if &c.Spec.Hosts[i] == h {
			return strings.TrimSuffix(hostField(c.place(i), name), ".")
		}
	}
	return ""
}
