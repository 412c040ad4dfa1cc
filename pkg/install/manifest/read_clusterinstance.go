package manifest

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterInstances reads a ClusterInstance of SiteConfig, and the Secrets and
// ConfigMaps beside it.
func (r *reader) clusterInstances(in *input) {
	r.nowhere = "cluster.yaml has no place for it"
	h := &hubInput{secrets: map[string]*node{}, configMaps: map[string]*node{}, used: map[*node]bool{}}
	var instances []*node
	for _, doc := range in.docs {
		_, kind := kindOfDoc(doc)
		switch kind {
		case "ClusterInstance":
			instances = append(instances, doc.root)
			r.header(doc.root)
		default:
			r.object(h, doc.root)
		}
	}
	if len(instances) != 1 {
		r.oneOf(in, "ClusterInstance", instances)
		return
	}
	r.clusterInstance(h, instances[0])
	r.classifications(h)
	for _, list := range [][]*node{h.deployments, h.installs, h.infraEnvs, h.networks, h.machines, h.agents} {
		for _, n := range list {
			r.lose(n, "is what SiteConfig makes of the ClusterInstance, which is read instead")
		}
	}
	r.restOfObjects(h)
	r.restOfFiles(in)
	r.ownIgnition()
}

func (r *reader) clusterInstance(h *hubInput, n *node) {
	c, s := r.cluster, r.mapOf(n.get("spec"))
	setText(r, "metadata.name", &c.Metadata.Name, s.get("clusterName"))
	r.objectNames(n, "")
	setText(r, "spec.baseDomain", &c.Spec.BaseDomain, s.get("baseDomain"))
	r.pullSecretRef(h, s.get("pullSecretRef", "name"))
	r.imageSetRef(h, s.get("clusterImageSetNameRef"))
	r.sshKeys(s.get("sshPublicKey"))
	r.vips(s)
	r.networking(s)
	setTexts(r, "spec.network.defaults.ntp", &c.Spec.Network.Defaults.NTP, s.get("additionalNTPSources"))
	r.hold(s.get("holdInstallation"))
	r.platformType(s.get("platformType"), nil)
	if arch := s.get("cpuArchitecture"); arch != nil {
		c.Spec.OpenShift.Arch = archOf(r.text(arch))
		r.from("spec.openshift.arch", arch)
	}
	r.instanceEncryption(s.get("diskEncryption"))
	r.proxy(s.get("proxy"))
	r.installOverrides(s.get("installConfigOverrides"))
	r.liftTrustBundle(s.get("installConfigOverrides"))
	r.meansIf(s.get("cpuPartitioningMode"), "is the default", "None")
	r.override(s.get("cpuPartitioningMode"), "cpuPartitioningMode")
	r.discoveryIgnition(s.get("ignitionConfigOverride"))
	r.manifestRefs(h, r.listOf(s.get("extraManifestsRefs")))
	for _, node := range r.listOf(s.get("nodes")) {
		r.instanceNode(h, node)
	}
	r.clusterType(s.get("clusterType"))
	r.instanceExtras(s)
	r.templates(s.get("templateRefs"), "ai-cluster-templates-v1")
	r.lose(s.get("caBundleRef"), "put the certificates into spec.registry.trustBundle")
	r.nodesOnly(s)
}

// nodesOnly tells what only SiteConfig acts on.
func (r *reader) nodesOnly(s *node) {
	for key, why := range map[string]string{
		"extraLabels":         "labels objects that SiteConfig makes",
		"extraAnnotations":    "annotates objects that SiteConfig makes",
		"suppressedManifests": "leaves out objects that SiteConfig makes",
		"pruneManifests":      "deletes objects that SiteConfig has made",
		"reinstall":           "installs once more with SiteConfig: oaictl does with its own verbs",
		"ironicInspect":       "oaictl needs no inspection",
		"hostRef":             "the machine is an object of the hub: write its bmc and match here",
	} {
		at := s.get(key)
		r.meansEmpty(at, "is empty")
		r.meansIf(at, "is the default", "")
		r.rest(at, why)
	}
}

// instanceEncryption carries disk encryption over: ClusterInstance knows it for
// all machines alike.
func (r *reader) instanceEncryption(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	kind := n.get("type")
	word := r.text(kind)
	d := &spec.DiskEncryption{On: spec.RoleSet{spec.AllRoles}}
	switch word {
	case "", "none":
		if n.get("tang") != nil {
			r.lose(n.get("tang"), "goes with type tang")
		}
		return
	case "nbde", "tang":
		d.Mode = spec.Tang
	case "tpm2", "tpmv2", "tpm":
		d.Mode = spec.TPM
	default:
		r.wrong(kind, fmt.Sprintf("%q is not known here", word), "write tang, tpm2 or none")
	}
	r.cluster.Spec.DiskEncryption = d
	r.from("spec.diskEncryption", n)
	r.tang(n.get("tang"))
}

// liftTrustBundle makes of certificates among the overrides those of
// cluster.yaml, which are trusted while machines are discovered, too.
func (r *reader) liftTrustBundle(n *node) {
	all := r.cluster.Spec.Overrides.InstallConfig
	bundle, is := all["additionalTrustBundle"].(string)
	if !is || r.cluster.Spec.Registry.TrustBundle != nil {
		return
	}
	delete(all, "additionalTrustBundle")
	if len(all) == 0 {
		r.cluster.Spec.Overrides.InstallConfig = nil
	}
	r.cluster.Spec.Registry.TrustBundle = &spec.PublicSource{Inline: strings.TrimSpace(bundle) + "\n"}
	r.from("spec.registry.trustBundle", n)
}

// clusterType carries over the shape of a cluster; the roles of its nodes say
// the rest.
func (r *reader) clusterType(n *node) {
	counts := map[spec.Role]int{}
	for i := range r.cluster.Spec.Hosts {
		counts[r.host(i).Role]++
	}
	t := &r.cluster.Spec.Topology
	set := func(role spec.Role, to **int) {
		if *to == nil && (counts[role] > 0 || role != spec.Arbiter) {
			count := counts[role]
			*to = &count
		}
	}
	set(spec.ControlPlane, &t.ControlPlane)
	set(spec.Worker, &t.Workers)
	set(spec.Arbiter, &t.Arbiters)
	if counts[spec.ControlPlane] == 1 && counts[spec.Worker] > 0 { // the hub adds them once the single node is installed
		none := 0
		t.Required.Workers = &none
	}
	if n == nil {
		return
	}
	r.from("spec.topology", n)
	word := r.text(n)
	single, arbiter := counts[spec.ControlPlane] == 1, counts[spec.Arbiter] > 0
	switch {
	case word == "HostedControlPlane":
		r.wrong(n, "has no control plane of its own, which the Assisted Installer does not install", "create the hosted cluster with HyperShift, and add its machines to it")
	case word != "SNO" && word != "HighlyAvailable" && word != "HighlyAvailableArbiter":
		r.wrong(n, fmt.Sprintf("%q is not known here", word), "write SNO, HighlyAvailable or HighlyAvailableArbiter")
	case single != (word == "SNO") || arbiter != (word == "HighlyAvailableArbiter"):
		r.wrong(n, fmt.Sprintf("is %s, but the nodes are %d masters, %d arbiters and %d workers", word, counts[spec.ControlPlane], counts[spec.Arbiter], counts[spec.Worker]), "make the type and the roles of the nodes agree")
	}
}

// instanceExtras carries over the labels and annotations of AgentClusterInstall
// that cluster.yaml has words for.
func (r *reader) instanceExtras(s *node) {
	c, kind := r.cluster, hubapi.KindAgentClusterInstall
	r.tag(s.get("extraLabels", kind, hubapi.LabelConsumer))
	r.infraEnvNotes(s.get("extraAnnotations", hubapi.KindInfraEnv), s.get("extraLabels", hubapi.KindInfraEnv))
	notes := s.get("extraAnnotations", kind)
	r.ignored("spec.ignoreValidations.cluster", &c.Spec.IgnoreValidations.Cluster, notes.get(hubapi.AnnotationIgnoredClusterValidations))
	r.ignored("spec.ignoreValidations.hosts", &c.Spec.IgnoreValidations.Hosts, notes.get(hubapi.AnnotationIgnoredHostValidations))
}

// templates takes the templates that SiteConfig comes with: they make the
// objects that oaictl makes, too.
func (r *reader) templates(n *node, usual string) {
	for _, ref := range r.listOf(n) {
		if ref.get("name").peek() == usual {
			r.means(ref, "makes the objects that oaictl makes")
		}
	}
	r.rest(n, "templates make what they say, which is not looked at")
}

// instanceNode carries a node over, which a BareMetalHost boots.
func (r *reader) instanceNode(h *hubInput, n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	i := r.addHost(n)
	to := r.host(i)
	setText(r, hostField(i, "name"), &to.Name, n.get("hostName"))
	role := n.get("role")
	if role == nil {
		to.Role = spec.ControlPlane
	}
	r.role(i, role)
	setText(r, hostField(i, "match.mac"), &to.Match.MAC, n.get("bootMACAddress"))
	r.hints(i, n.get("rootDeviceHints"))
	r.instanceBMC(h, i, n)
	r.network(i, n.get("nodeNetwork", "interfaces"), n.get("nodeNetwork", "config"))
	r.nodeLabels(i, n.get("nodeLabels"))
	r.installerArgs(i, n.get("installerArgs"))
	r.hostIgnition(i, n.get("ignitionConfigOverride"))
	if arch := n.get("cpuArchitecture"); arch != nil && archOf(arch.peek()) == r.cluster.Spec.OpenShift.Arch {
		r.means(arch, "is that of the cluster")
	} else {
		setText(r, hostField(i, "arch"), &to.Arch, arch)
		to.Arch = archOf(string(to.Arch))
	}
	setText(r, hostField(i, "machineConfigPool"), &to.MachineConfigPool, n.get("extraAnnotations", hubapi.KindBareMetalHost, hubapi.AnnotationBMACMachineConfigPool))
	r.metal3(i, n.get("bootMode"), n.get("automatedCleaningMode"), n.get("ironicInspect"), n.get("extraAnnotations", hubapi.KindBareMetalHost))
	r.templates(n.get("templateRefs"), "ai-node-templates-v1")
	r.nodesOnly(n)
}

func (r *reader) instanceBMC(h *hubInput, i int, n *node) {
	address := n.get("bmcAddress")
	if r.bmc(i, address, address, nil) {
		r.cluster.Spec.Boot.Method = spec.BootMetal3
		r.credentials(h, i, n.get("bmcCredentialsName", "name"))
		return
	}
	r.rest(n.get("bmcCredentialsName"), "goes with the address of the BMC, which is left behind")
}
