package hubobjects

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// NamespaceOf is the namespace that a cluster's objects stand in where none is
// asked for: the cluster's name, with dashes for dots, which a namespace cannot
// have (RFC 1123 label).
func NamespaceOf(c *spec.Cluster) string { return strings.ReplaceAll(c.Metadata.Name, ".", "-") }

// PullSecretName is the name of the Secret with the pull secret: the one that
// the file refers to, else ours.
func PullSecretName(c *spec.Cluster) string {
	return named(c.Spec.PullSecret.SecretRef, c.Metadata.Name+"-pull-secret")
}

// named is the name of the Secret that is referred to, else our own.
func named(ref *spec.SecretRef, own string) string {
	if ref != nil {
		return ref.Name
	}
	return own
}

// NMStateConfigName is the name of the NMStateConfig of a host.
func NMStateConfigName(c *spec.Cluster, host string) string { return c.Metadata.Name + "-" + host }

// BMCSecretName is the name of the Secret with user and password of a host's
// BMC: the one that the file refers to, else ours.
func BMCSecretName(c *spec.Cluster, h *spec.Host) string {
	return named(h.BMC.Credentials.SecretRef, c.Metadata.Name+"-"+h.Name+"-bmc")
}

// FencingSecretName is the name of the Secret by which a host is powered off by
// its peer, for Agent.spec.fencingCredentialsSecretRef; "" for a host without
// fencing. It has the keys address, username, password and
// certificateVerification.
func FencingSecretName(c *spec.Cluster, h *spec.Host) string {
	if h.Fencing == nil {
		return ""
	}
	return named(h.Fencing.Credentials.SecretRef, c.Metadata.Name+"-"+h.Name+"-fencing")
}

// TokenSecretName is the name of the Secret with the token that a host shows to
// the Ignition endpoint, for Agent.spec.ignitionEndpointTokenReference; "" for a
// host without one. It has the key ignition-token.
func TokenSecretName(c *spec.Cluster, h *spec.Host) string {
	if h.IgnitionEndpoint == nil || h.IgnitionEndpoint.Token.IsZero() {
		return ""
	}
	return named(h.IgnitionEndpoint.Token.SecretRef, c.Metadata.Name+"-"+h.Name+"-ignition-token")
}
