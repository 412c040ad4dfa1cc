package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// agent reads install-config.yaml and agent-config.yaml, the input of the
// agent-based installer.
func (r *reader) agent(in *input) {
	r.nowhere = "cluster.yaml has no place for it, and the agent-based installer knows no such key"
	r.agentBased = true
	var config, hosts *node
	for _, doc := range in.docs {
		_, kind := kindOfDoc(doc)
		switch {
		case kind == "AgentConfig" && hosts == nil:
			hosts = doc.root
		case isInstallConfig(doc.root) && config == nil:
			config = doc.root
		case kind == "AgentConfig" || isInstallConfig(doc.root):
			r.problem(doc.file, doc.root.line, doc.root.col, "", "describes a second cluster", "keep one install-config and one agent-config together")
		case isHubObject(doc):
			r.problem(doc.file, doc.root.line, doc.root.col, "", "stands beside an install-config, which says the same in another way", "keep either the install-config or the manifests")
		default:
			r.rest(doc.root, "is no file of the agent-based installer")
		}
	}
	if config == nil {
		r.problem(in.path, 0, 0, "", "install-config.yaml is missing beside agent-config.yaml", "put both into one folder and name the folder")
		return
	}
	r.installConfig(config)
	if hosts != nil {
		r.agentConfig(hosts)
	}
	r.fencing(config.get("controlPlane", "fencing", "credentials"))
	r.rawManifests(in)
	r.restOfFiles(in)
}

// installConfig carries install-config.yaml over.
func (r *reader) installConfig(n *node) {
	c := r.cluster
	if version := n.get("apiVersion"); version != nil && r.text(version) != "v1" {
		r.wrong(version, fmt.Sprintf("the version %q of the install-config is not known", version.peek()), "write v1")
	}
	meta := n.get("metadata")
	setText(r, "metadata.name", &c.Metadata.Name, meta.get("name"))
	r.namespace(meta.get("namespace"))
	setText(r, "spec.baseDomain", &c.Spec.BaseDomain, n.get("baseDomain"))
	r.pullSecret(n.get("pullSecret"))
	r.sshKeys(n.get("sshKey"))
	r.trustBundle(n.get("additionalTrustBundle"))
	r.mirrors(n.get("imageDigestSources"), "imageDigestSources")
	r.mirrors(n.get("imageContentSources"), "imageContentSources")
	r.proxy(n.get("proxy"))
	r.setBool("spec.fips", &c.Spec.FIPS, n.get("fips"))
	r.networking(n.get("networking"))
	r.pools(n)
	r.installPlatform(n.get("platform"))
	r.meansIf(n.get("publish"), "is what the agent-based installer does anyway", "External")
	r.meansIf(n.get("cpuPartitioningMode"), "is the default", "None")
	r.meansIf(n.get("additionalTrustBundlePolicy"), "is the default", "Proxyonly")
	for _, key := range []string{"featureSet", "featureGates", "capabilities", "cpuPartitioningMode", "additionalTrustBundlePolicy"} {
		r.override(n.get(key), key)
	}
	for _, key := range []string{"publish", "credentialsMode", "bootstrapInPlace", "operatorPublishingStrategy"} {
		r.rest(n.get(key), "the agent-based installer ignores it, and so does oaictl")
	}
}

// namespace is what objects stand in, which cluster.yaml does not say.
func (r *reader) namespace(n *node) {
	if n == nil {
		return
	}
	if n.kind == textNode && n.text == NamespaceOf(r.cluster) {
		r.means(n, "is where oaictl puts the objects of this cluster anyway")
		return
	}
	if r.agentBased {
		r.means(n, "the agent-based installer uses no namespace")
		return
	}
	r.lose(n, "cluster.yaml names no namespace: ask for it when objects are rendered or applied")
}

// sshKeys carries public keys over, one a line.
func (r *reader) sshKeys(n *node) {
	if n == nil {
		return
	}
	var keys []spec.PublicSource
	for line := range strings.Lines(n.peek()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, spec.PublicSource{Inline: line})
		}
	}
	if strings.Contains(n.peek(), "PRIVATE KEY") {
		r.wrong(n, "is a private key", "give the public one; its file ends in .pub")
		return
	}
	have := &r.cluster.Spec.SSHKeys
	if *have != nil && !slices.EqualFunc(*have, keys, func(a, b spec.PublicSource) bool { return a.Inline == b.Inline }) {
		r.second("spec.sshKeys", n)
		return
	}
	r.text(n)
	if len(keys) > 0 {
		*have = keys
		r.from("spec.sshKeys", n)
	}
}

// trustBundle carries certificates over.
func (r *reader) trustBundle(n *node) {
	if n == nil {
		return
	}
	text := strings.TrimSpace(n.peek())
	have := &r.cluster.Spec.Registry.TrustBundle
	switch {
	case *have != nil && strings.TrimSpace((*have).Inline) != text:
		r.second("spec.registry.trustBundle", n)
		return
	case strings.Contains(text, "PRIVATE KEY"):
		r.wrong(n, "holds a private key", "give certificates only")
		return
	}
	r.text(n)
	if text != "" {
		*have = &spec.PublicSource{Inline: text + "\n"}
		r.from("spec.registry.trustBundle", n)
	}
}

// mirrors carries mirrors over. What an entry says besides goes to the
// install-config as it is.
func (r *reader) mirrors(n *node, key string) {
	more := false
	for _, item := range r.listOf(n) {
		if item = r.mapOf(item); item == nil {
			continue
		}
		r.mirror(item.get("source"), item.get("mirrors"), false)
		more = more || !allTaken(item)
	}
	if more {
		r.override(n, key)
	}
}

func allTaken(n *node) bool {
	for _, c := range n.children {
		if len(c.children) == 0 && !c.taken || !allTaken(c) {
			return false
		}
	}
	return true
}

// mirror carries one mirrored place over; several entries of one place become
// one.
func (r *reader) mirror(source, targets *node, insecure bool) {
	list := &r.cluster.Spec.Registry.Mirrors
	name, places := r.text(source), r.texts(targets)
	i := slices.IndexFunc(*list, func(m spec.Mirror) bool { return m.Source == name })
	if i < 0 {
		i = len(*list)
		*list = append(*list, spec.Mirror{Source: name})
		r.from(fmt.Sprintf("spec.registry.mirrors[%d]", i), source)
		r.from(fmt.Sprintf("spec.registry.mirrors[%d].source", i), source)
		r.from(fmt.Sprintf("spec.registry.mirrors[%d].mirrors", i), targets)
	}
	m := &(*list)[i]
	for _, place := range places {
		if !slices.Contains(m.Mirrors, place) {
			m.Mirrors = append(m.Mirrors, place)
		}
	}
	m.Insecure = m.Insecure || insecure
}

// proxy carries a proxy over, which all formats but aicli's write alike.
func (r *reader) proxy(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	to := &r.cluster.Spec.Proxy
	r.from("spec.proxy", n)
	r.proxyURL("spec.proxy.http", &to.HTTP, n.get("httpProxy"))
	r.proxyURL("spec.proxy.https", &to.HTTPS, n.get("httpsProxy"))
	r.noProxy(n.get("noProxy"))
}

func (r *reader) noProxy(n *node) {
	if n == nil {
		return
	}
	list := spec.StringList{}
	for part := range strings.SplitSeq(n.peek(), ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	to := &r.cluster.Spec.Proxy.No
	if *to != nil && !slices.Equal(*to, list) {
		r.second("spec.proxy.no", n)
		return
	}
	r.text(n)
	*to = list
	r.from("spec.proxy.no", n)
}

// networking carries the networks over. Formats differ in how they write service
// networks: as texts, or as maps with a cidr.
func (r *reader) networking(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	net := &r.cluster.Spec.Network
	setText(r, "spec.network.type", &net.Type, n.get("networkType"))
	r.cidrs("spec.network.machine", &net.Machine, n.get("machineNetwork"))
	r.cidrs("spec.network.service", &net.Service, n.get("serviceNetwork"))
	r.clusterNetworks(n.get("clusterNetwork"))
	r.setNumber("spec.network.mtu", &net.MTU, n.get("clusterNetworkMTU"))
	r.override(n.get("ovnKubernetesConfig"), "networking", "ovnKubernetesConfig")
}

func (r *reader) cidrs(field string, to *[]string, n *node) {
	if n == nil {
		return
	}
	list := []string{}
	for i, item := range r.listOf(n) {
		cidr := item
		if item.kind == mapNode {
			cidr = item.get("cidr")
		}
		if cidr == nil {
			continue
		}
		list = append(list, r.text(cidr))
		r.from(fmt.Sprintf("%s[%d]", field, i), cidr)
	}
	*to = list
	r.from(field, n)
}

func (r *reader) clusterNetworks(n *node) {
	if n == nil {
		return
	}
	to := &r.cluster.Spec.Network.Cluster
	*to = []spec.ClusterNetwork{}
	r.from("spec.network.cluster", n)
	for i, item := range r.listOf(n) {
		if item = r.mapOf(item); item == nil {
			continue
		}
		field := fmt.Sprintf("spec.network.cluster[%d]", i)
		r.from(field, item)
		var network spec.ClusterNetwork
		setText(r, field+".cidr", &network.CIDR, item.get("cidr"))
		r.setNumber(field+".hostPrefix", &network.HostPrefix, item.get("hostPrefix"))
		*to = append(*to, network)
	}
}

// override passes a value on to the install-config as it is, save for secrets.
func (r *reader) override(n *node, keys ...string) {
	if n == nil || n.taken && len(n.children) == 0 {
		return
	}
	if holdsSecret(n) {
		r.lose(n, "holds a secret, which never stands in cluster.yaml itself")
		return
	}
	all := &r.cluster.Spec.Overrides.InstallConfig
	if *all == nil {
		*all = map[string]any{}
	}
	at := *all
	for _, key := range keys[:len(keys)-1] {
		below, is := at[key].(map[string]any)
		if !is {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	last := keys[len(keys)-1]
	field := "spec.overrides.installConfig." + strings.Join(keys, ".")
	if have, twice := at[last]; twice && !equalJSON(have, n.plain()) {
		r.second(field, n)
		return
	}
	at[last] = n.plain()
	r.from(field, n)
	n.take()
}

// holdsSecret says whether something at or below n may not be shown.
func holdsSecret(n *node) bool {
	found := false
	n.walk(func(n *node) {
		found = found || isSecretKey(n) && len(n.children) == 0 || n.kind == textNode && privateText.MatchString(n.text)
	})
	return found
}

// rawManifests carries the folder of extra manifests over as it is.
func (r *reader) rawManifests(in *input) {
	var names []string
	for name := range in.raw {
		if path.Dir(name) == dirOpenShift && isYAML(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r.files[name] = in.raw[name]
		delete(in.raw, name)
	}
	if len(names) > 0 {
		r.cluster.Spec.Manifests = append(r.cluster.Spec.Manifests, spec.ManifestSource{Path: dirOpenShift})
	}
}

// restOfFiles tells which files nobody read.
func (r *reader) restOfFiles(in *input) {
	for name := range in.raw {
		r.loseFile(in, name, "is a file that is not read")
	}
}
