package manifest

import (
	"regexp"
	"slices"
	"strings"
)

// kindOfDoc is the kind and the group of an object.
func kindOfDoc(doc *document) (group, kind string) {
	version := doc.root.child("apiVersion").peek()
	group, _, qualified := strings.Cut(version, "/")
	if !qualified {
		group = ""
	}
	return group, doc.root.child("kind").peek()
}

// isAgentConfig says whether a document is an agent-config.
func isAgentConfig(root *node) bool { return root.child("kind").peek() == "AgentConfig" }

// isInstallConfig says whether a document is an install-config.
func isInstallConfig(root *node) bool {
	return root.kind == mapNode && root.child("kind") == nil && root.child("baseDomain") != nil &&
		(root.child("metadata") != nil || root.child("platform") != nil || root.child("networking") != nil)
}

// isHubObject says whether a document is one of the objects that describe a
// cluster to a hub.
func isHubObject(doc *document) bool {
	group, kind := kindOfDoc(doc)
	return group == "agent-install.openshift.io" || strings.HasSuffix(group, "hive.openshift.io") || kind == "BareMetalHost"
}

// aicliKeys are keys by which aicli's parameters are known: they have neither a
// version nor a kind.
func aicliKeys() []string {
	return []string{
		"api_ip", "api_vip", "api_vips", "base_dns_domain", "domain", "download_iso_path", "ingress_ip", "ingress_vip", "ingress_vips", "iso_url",
		"machine_networks", "minimal", "ocp_release_image", "olm_operators", "openshift_version", "pull_secret", "sno", "ssh_public_key", "static_network_config",
	}
}

func isAICLI(n *node) bool {
	return slices.ContainsFunc(aicliKeys(), func(key string) bool { return n.child(key) != nil })
}

// foreignText matches texts that are in another format than cluster.yaml, broken
// as they may be, and ownText those that are not.
var (
	foreignText = regexp.MustCompile(`(?m)^(?:(?:baseDomain|` + strings.Join(aicliKeys(), "|") + `):|kind: *["']?(?:AgentConfig|ClusterInstance|SiteConfig|ClusterDeployment|AgentClusterInstall|InfraEnv|NMStateConfig|BareMetalHost|OpenshiftAssisted))`)
	ownText     = regexp.MustCompile(`(?m)oaictl\.io/|^kind: *["']?Cluster["']? *$`)
)

func isForeign(data []byte) bool { return foreignText.Match(data) && !ownText.Match(data) }
