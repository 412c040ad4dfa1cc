package manifest

import (
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func decodeBase64(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "", fmt.Errorf("decode base64: %w", err)
	}
	return string(data), nil
}

// agentClusterInstall carries AgentClusterInstall over.
func (r *reader) agentClusterInstall(h *hubInput, n *node) {
	c, s := r.cluster, r.mapOf(n.get("spec"))
	r.objectNames(n, "")
	if len(h.deployments) > 0 {
		r.reference(s.get("clusterDeploymentRef", "name"), h.deployments[0])
	}
	r.tag(n.get("metadata", "labels", hubapi.LabelConsumer))
	r.vips(s)
	r.balancer(s.get("loadBalancer", "type"))
	r.requirements(s.get("provisionRequirements"))
	r.platformType(s.get("platformType"), s.get("external"))
	r.networking(s.get("networking"))
	r.userManaged(s.get("networking", "userManagedNetworking"))
	r.sshKeys(s.get("sshPublicKey"))
	setTexts(r, "spec.network.ntp", &c.Spec.Network.NTP, s.get("ntpSources"))
	r.agentPools(s)
	r.hold(s.get("holdInstallation"))
	r.ignitionEndpoint(h, s.get("ignitionEndpoint"))
	r.diskEncryption(s.get("diskEncryption"))
	r.proxy(s.get("proxy"))
	r.setBool("spec.schedulableControlPlane", &c.Spec.SchedulableControlPlane, s.get("mastersSchedulable"))
	r.mirrorMap(h, s.get("mirrorRegistryRef"))
	r.manifestMaps(h, s)
	notes := n.get("metadata", "annotations")
	r.installOverrides(notes.get(hubapi.AnnotationInstallConfigOverrides))
	r.ignored("spec.ignoreValidations.cluster", &c.Spec.IgnoreValidations.Cluster, notes.get(hubapi.AnnotationIgnoredClusterValidations))
	r.ignored("spec.ignoreValidations.hosts", &c.Spec.IgnoreValidations.Hosts, notes.get(hubapi.AnnotationIgnoredHostValidations))
	r.rest(s.get("clusterMetadata"), "is written by the service, or belongs to a cluster that is installed already")
}

// requirements carries the counts of machines over.
func (r *reader) requirements(n *node) {
	t := &r.cluster.Spec.Topology
	for key, to := range map[string]**int{"controlPlaneAgents": &t.ControlPlane, "workerAgents": &t.Workers, "arbiterAgents": &t.Arbiters} {
		if count := n.get(key); count != nil {
			*to = r.number(count)
			r.from(map[string]string{"controlPlaneAgents": "spec.topology.controlPlane", "workerAgents": "spec.topology.workers", "arbiterAgents": "spec.topology.arbiters"}[key], count)
		}
	}
	if n != nil && t.Workers == nil {
		none := 0
		t.Workers = &none
	}
}

// platformType carries a platform over, in the words of AgentClusterInstall.
func (r *reader) platformType(n, external *node) {
	to := &r.cluster.Spec.Platform
	word := r.text(n)
	switch word {
	case "":
	case "BareMetal", "None", "VSphere", "Nutanix", "External":
		to.Type = spec.PlatformType(strings.ToLower(word))
	default:
		r.wrong(n, fmt.Sprintf("%q is not known here", word), "write BareMetal, None, VSphere, Nutanix or External")
	}
	r.from("spec.platform", n)
	if external = r.mapOf(external); external != nil {
		to.External = &spec.ExternalPlatform{}
		r.from("spec.platform.external", external)
		setText(r, "spec.platform.external.name", &to.External.Name, external.get("platformName"))
		ccm := external.get("cloudControllerManager")
		if ccm.peek() != "" || ccm == nil {
			setText(r, "spec.platform.external.cloudControllerManager", &to.External.CloudControllerManager, ccm)
		}
		r.meansIf(ccm, "is the default", "")
	}
}

// userManaged carries over who looks after the network, where the platform does
// not say it already.
func (r *reader) userManaged(n *node) {
	if n == nil {
		return
	}
	p := r.cluster.Spec.Platform.Type
	single := r.cluster.Spec.Topology.ControlPlane != nil && *r.cluster.Spec.Topology.ControlPlane == 1
	implied := p == spec.NoneType || p == spec.External || p == "" && single
	if is := n.kind == boolNode && truth(n.text); n.kind == boolNode && is == implied && p != spec.VSphere && p != spec.Nutanix {
		r.means(n, "follows from the platform")
		return
	}
	r.setBool("spec.network.userManaged", &r.cluster.Spec.Network.UserManaged, n)
}

// agentPools carries over the pools of AgentClusterInstall, which say nothing
// but hyperthreading.
func (r *reader) agentPools(s *node) {
	pools := []pool{{n: s.get("controlPlane"), role: spec.ControlPlane, name: "master"}, {role: spec.Worker, name: "worker"}, {n: s.get("arbiter"), role: spec.Arbiter, name: "arbiter"}}
	for i, item := range r.listOf(s.get("compute")) {
		if i == 0 {
			pools[1].n = r.mapOf(item)
		}
	}
	for _, p := range pools {
		r.meansIf(p.n.get("name"), "is the name that this pool always has", p.name)
		if replicas := p.n.get("replicas"); replicas != nil {
			r.lose(replicas, "provisionRequirements says how many machines there are")
		}
	}
	r.hyperthreading(pools)
}

func (r *reader) hold(n *node) {
	if held := r.boolean(n); isTrue(held) {
		r.cluster.Spec.Hold = true
		r.from("spec.hold", n)
	}
}

// ignitionEndpoint carries over where joining machines fetch their Ignition from.
func (r *reader) ignitionEndpoint(h *hubInput, n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	endpoint := &spec.IgnitionEndpoint{}
	r.cluster.Spec.IgnitionEndpoint = endpoint
	r.from("spec.ignitionEndpoint", n)
	setText(r, "spec.ignitionEndpoint.url", &endpoint.URL, n.get("url"))
	ref := n.get("caCertificateReference")
	secret := h.secrets[ref.get("name").peek()]
	if ref == nil {
		return
	}
	if secret == nil {
		r.lose(ref, "the Secret is not in the input: put the certificate into spec.ignitionEndpoint.ca")
		return
	}
	h.used[secret] = true
	r.means(ref, "refers to a Secret of the input")
	ca := r.secretKey(secret, "tls.crt")
	if text := r.text(ca); text != "" {
		endpoint.CA = &spec.PublicSource{Inline: text}
		r.from("spec.ignitionEndpoint.ca", ca)
	}
}

// diskEncryption carries disk encryption over. AgentClusterInstall encrypts no
// disk unless it says whose.
func (r *reader) diskEncryption(n *node) {
	if n = r.mapOf(n); n == nil || len(n.children) == 0 {
		return
	}
	d := &spec.DiskEncryption{On: spec.RoleSet{spec.NoRoles}}
	r.cluster.Spec.DiskEncryption = d
	r.from("spec.diskEncryption", n)
	if mode := n.get("mode"); mode != nil {
		d.Mode = spec.EncryptionMode(strings.Replace(r.text(mode), "tpmv2", "tpm", 1))
		r.from("spec.diskEncryption.mode", mode)
	} else {
		d.Mode = spec.TPM // what the service takes
	}
	if on := n.get("enableOn"); on != nil {
		d.On = roleSet(r.text(on))
		r.from("spec.diskEncryption.on", on)
	}
	if servers := n.get("tangServers"); servers.peek() != "" || servers != nil && servers.kind == listNode {
		r.tang(r.embed(servers))
	} else {
		r.text(servers)
	}
	if len(d.On) == 1 && d.On[0] == spec.NoRoles && n.get("mode") == nil {
		r.cluster.Spec.DiskEncryption = nil // nothing is encrypted, by nothing
	}
}

// roleSet is a set of roles in the words of this format.
func roleSet(text string) spec.RoleSet {
	set := spec.RoleSet{}
	for part := range strings.SplitSeq(text, ",") {
		switch part = strings.TrimSpace(part); part {
		case "masters", "master":
			set = append(set, string(spec.ControlPlane))
		case "workers":
			set = append(set, string(spec.Worker))
		case "arbiters":
			set = append(set, string(spec.Arbiter))
		default:
			set = append(set, part)
		}
	}
	return set
}

func (r *reader) tang(n *node) {
	for i, item := range r.listOf(n) {
		if item = r.mapOf(item); item == nil {
			continue
		}
		field := fmt.Sprintf("spec.diskEncryption.tang[%d]", i)
		r.from(field, item)
		var server spec.TangServer
		setText(r, field+".url", &server.URL, first(item, "url", "URL"))
		setText(r, field+".thumbprint", &server.Thumbprint, item.get("thumbprint"))
		r.cluster.Spec.DiskEncryption.Tang = append(r.cluster.Spec.DiskEncryption.Tang, server)
	}
}

// manifestMaps carries extra manifests over that stand in ConfigMaps. They all
// belong to the folder openshift, save for those that oaictl has put elsewhere.
func (r *reader) manifestMaps(h *hubInput, s *node) {
	refs := slices.Clone(s.get("manifestsConfigMapRefs").items())
	if single := s.get("manifestsConfigMapRef"); single != nil {
		if len(refs) > 0 {
			r.lose(single, "is ignored beside manifestsConfigMapRefs")
		} else {
			refs = append(refs, single)
		}
	}
	r.listOf(s.get("manifestsConfigMapRefs"))
	r.manifestRefs(h, refs)
}

func (r *reader) manifestRefs(h *hubInput, refs []*node) {
	for _, ref := range refs {
		name := ref.get("name").peek()
		config := h.configMaps[name]
		if config == nil {
			r.lose(ref, "the ConfigMap is not in the input: put its manifests into a folder and name it in spec.manifests")
			continue
		}
		h.used[config] = true
		r.means(ref.get("name"), "refers to a ConfigMap of the input")
		folder := dirOpenShift
		if name == r.cluster.Metadata.Name+"-manifests" || strings.HasPrefix(name, r.cluster.Metadata.Name+"-manifests-") {
			folder = string(spec.FolderManifests)
		}
		for _, entry := range r.mapOf(config.get("data")).all() {
			r.manifest(folder, entry)
		}
		if binary := config.get("binaryData"); binary != nil {
			r.lose(binary, "a manifest is text")
		}
	}
}

// all are the entries of a map, none of nil.
func (n *node) all() []*node {
	if n == nil {
		return nil
	}
	return n.children
}

// manifest keeps one extra manifest as a file.
func (r *reader) manifest(folder string, n *node) {
	if n.key != path.Base(n.key) || strings.HasPrefix(n.key, ".") || strings.Contains(n.key, `\`) {
		r.wrong(n, "cannot be the name of a manifest", "")
		return
	}
	name := folder + "/" + n.key
	if _, twice := r.files[name]; twice {
		r.lose(n, "another manifest has this name")
		return
	}
	text := r.text(n)
	if !isYAML(n.key) {
		r.cluster.Spec.Manifests = append(r.cluster.Spec.Manifests, spec.ManifestSource{Path: r.file(name, []byte(text)), Folder: spec.ManifestFolder(folder)})
		r.from(fmt.Sprintf("spec.manifests[%d]", len(r.cluster.Spec.Manifests)-1), n)
		return
	}
	r.files[name] = []byte(text)
	if i := slices.IndexFunc(r.cluster.Spec.Manifests, func(m spec.ManifestSource) bool { return m.Path == folder }); i < 0 {
		r.cluster.Spec.Manifests = append(r.cluster.Spec.Manifests, spec.ManifestSource{Path: folder})
		r.from(fmt.Sprintf("spec.manifests[%d]", len(r.cluster.Spec.Manifests)-1), n)
	}
}

// installOverrides carries an annotation over with fields of the install-config:
// those that cluster.yaml has words for become these.
func (r *reader) installOverrides(n *node) {
	if n == nil || n.peek() == "" {
		r.text(n)
		return
	}
	if n = r.embed(n); n == nil || r.mapOf(n) == nil {
		return
	}
	c := r.cluster
	if fips := n.get("fips"); fips != nil && fips.kind == boolNode {
		r.setBool("spec.fips", &c.Spec.FIPS, fips)
	}
	if mtu := n.get("networking", "clusterNetworkMTU"); mtu != nil && mtu.kind == numberNode {
		r.setNumber("spec.network.mtu", &c.Spec.Network.MTU, mtu)
	}
	for _, key := range []string{"imageDigestSources", "imageContentSources"} {
		r.mirrorOverrides(n.get(key), key)
	}
	for _, item := range n.get("platform", "baremetal", "hosts").items() {
		r.bareMetalHost(item)
	}
	if fencing := n.get("controlPlane", "fencing", "credentials"); fencing != nil {
		r.laterFencing = append(r.laterFencing, fencing)
	}
	for _, entry := range n.all() {
		r.overrideRest(entry, entry.key)
	}
}

// mirrorOverrides carries mirrors over. Those that a ConfigMap says too need no
// second mention.
func (r *reader) mirrorOverrides(n *node, key string) {
	plain := n != nil && n.kind == listNode
	for _, item := range n.items() {
		for _, c := range item.all() {
			plain = plain && (c.key == "source" || c.key == "mirrors")
		}
		plain = plain && len(item.children) == 2
	}
	if plain {
		r.mirrors(n, key)
	}
}

// overrideRest passes on what nobody has taken, as deep down as it stands alone.
func (r *reader) overrideRest(n *node, keys ...string) {
	switch {
	case n.taken && len(n.children) == 0 || n.kind == nullNode:
		n.taken = true
	case untouched(n):
		r.override(n, keys...)
	case n.kind == mapNode:
		for _, c := range n.children {
			r.overrideRest(c, append(slices.Clone(keys), c.key)...)
		}
	}
}

// ignored carries ids of validations over, which stand in one text with commas.
func (r *reader) ignored(field string, to *[]string, n *node) {
	if n == nil {
		return
	}
	list := []string{}
	// The service takes a JSON list too.
	if n.kind == textNode && strings.HasPrefix(strings.TrimSpace(n.text), "[") {
		list = r.texts(r.embed(n))
	} else {
		for part := range strings.SplitSeq(r.text(n), ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	*to = list
	r.from(field, n)
}

// tagWords is what the service takes for a tag. A label may hold more.
var tagWords = regexp.MustCompile(`^\w+( \w+)*$`)

// tag carries the tag over that a label gives the cluster in the service.
func (r *reader) tag(n *node) {
	if n == nil || n.kind == textNode && !tagWords.MatchString(n.text) {
		r.lose(n, "cannot be a tag, which has letters, digits and underscores only")
		return
	}
	r.cluster.Metadata.Tags = []string{r.text(n)}
	r.from("metadata.tags[0]", n)
}
