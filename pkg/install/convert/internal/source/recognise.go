package source

import (
	"regexp"
	"slices"
	"strings"
)

// KindOfDoc is the kind and the group of an object.
func KindOfDoc(doc *Document) (group, kind string) {
	version := doc.Root.Child("apiVersion").Peek()
	group, _, qualified := strings.Cut(version, "/")
	if !qualified {
		group = ""
	}
	return group, doc.Root.Child("kind").Peek()
}

// IsAgentConfig says whether a document is an agent-config.
func IsAgentConfig(root *Node) bool { return root.Child("kind").Peek() == "AgentConfig" }

// IsInstallConfig says whether a document is an install-config.
func IsInstallConfig(root *Node) bool {
	return root.Kind == MapNode && root.Child("kind") == nil && root.Child("baseDomain") != nil &&
		(root.Child("metadata") != nil || root.Child("platform") != nil || root.Child("networking") != nil)
}

// IsHubObject says whether a document is one of the objects that describe a
// cluster to a hub.
func IsHubObject(doc *Document) bool {
	group, kind := KindOfDoc(doc)
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

// IsAICLI says whether a document is aicli's parameters.
func IsAICLI(n *Node) bool {
	return slices.ContainsFunc(aicliKeys(), func(key string) bool { return n.Child(key) != nil })
}

// foreignText matches texts that are in another format than cluster.yaml, broken
// as they may be, and ownText those that are not.
var (
	foreignText = regexp.MustCompile(`(?m)^(?:(?:baseDomain|` + strings.Join(aicliKeys(), "|") + `):|kind: *["']?(?:AgentConfig|ClusterInstance|SiteConfig|ClusterDeployment|AgentClusterInstall|InfraEnv|NMStateConfig|BareMetalHost|OpenshiftAssisted))`)
	ownText     = regexp.MustCompile(`(?m)oaictl\.io/|^kind: *["']?Cluster["']? *$`)
)

func isForeign(data []byte) bool { return foreignText.Match(data) && !ownText.Match(data) }
