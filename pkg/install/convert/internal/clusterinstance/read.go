// Package clusterinstance reads and writes SiteConfig's ClusterInstance.
package clusterinstance

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/ztp"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type reader struct{ *ztp.Hub }

// Read reads a ClusterInstance of SiteConfig, and the Secrets and ConfigMaps beside it.
func Read(s *fields.Reader, in *input.Input) {
	r := &reader{&ztp.Hub{Reader: s}}
	r.Nowhere = "cluster.yaml has no place for it"
	h := ztp.NewObjects()
	var instances []*input.Node
	for _, doc := range in.Docs {
		switch _, kind := input.KindOfDoc(doc); kind {
		case "ClusterInstance":
			instances = append(instances, doc.Root)
			r.Header(doc.Root)
		case kindSite:
			instances = append(instances, doc.Root)
			r.Text(doc.Root.Get("apiVersion"))
			r.Text(doc.Root.Get("kind"))
		default:
			r.Object(h, doc.Root)
		}
	}
	if len(instances) != 1 {
		r.OneOf(in, "ClusterInstance", instances)
		return
	}
	r.instance(h, instances[0])
	r.Classifications(h)
	for _, list := range [][]*input.Node{h.Deployments, h.Installs, h.InfraEnvs, h.Networks, h.Machines, h.Agents} {
		for _, n := range list {
			r.Lose(n, "is what SiteConfig makes of the ClusterInstance, which is read instead")
		}
	}
	r.RestOfObjects(h)
	r.RestOfFiles(in)
	r.OwnIgnition()
}

func (r *reader) instance(h *ztp.Objects, n *input.Node) {
	s := r.MapOf(n.Get("spec"))
	if n.Child("kind").Peek() == kindSite {
		if s = r.siteCluster(n, s); s == nil {
			return
		}
	}
	r.Fields(s, fields.ClusterInstance, fields.NoHost)
	r.ObjectNames(n, "")
	r.PullSecretRef(h, s.Get("pullSecretRef", "name"))
	r.ImageSetRef(h, s.Get("clusterImageSetNameRef"))
	r.encryption(s.Get("diskEncryption"))
	r.InstallOverrides(s.Get("installConfigOverrides"))
	r.liftTrustBundle(s.Get("installConfigOverrides"))
	r.Keys(s, "cluster-instance")
	r.Override(s.Get("cpuPartitioningMode"), "cpuPartitioningMode")
	for _, key := range []string{"extraManifestsRefs", "manifestsConfigMapRefs"} {
		r.ManifestRefs(h, r.ListOf(s.Get(key)))
	}
	for _, node := range r.ListOf(s.Get("nodes")) {
		r.node(h, node)
	}
	r.clusterType(s.Get("clusterType"))
	r.extras(s)
	r.templates(s.Get("templateRefs"), clusterTemplates)
	r.nodesOnly(s)
}

// encryption carries disk encryption over, which is the same for all machines.
func (r *reader) encryption(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	kind := n.Get("type")
	word := r.Text(kind)
	d := &spec.DiskEncryption{On: spec.RoleSet{spec.AllRoles}}
	switch word {
	case "", "none":
		if n.Get("tang") != nil {
			r.Lose(n.Get("tang"), "goes with type tang")
		}
		return
	case "nbde", "tang":
		d.Mode = spec.Tang
	case "tpm2", "tpmv2", "tpm":
		d.Mode = spec.TPM
	default:
		r.Wrong(kind, fmt.Sprintf("%q is not known here", word), "write tang, tpm2 or none")
	}
	r.Cluster.Spec.DiskEncryption = d
	r.From("spec.diskEncryption", n)
	r.Tang(n.Get("tang"))
}

// liftTrustBundle makes of certificates among the overrides those of
// cluster.yaml, which are trusted while machines are discovered, too.
func (r *reader) liftTrustBundle(n *input.Node) {
	all := r.Cluster.Spec.Overrides.InstallConfig
	bundle, is := all["additionalTrustBundle"].(string)
	if !is || r.Cluster.Spec.Registry.TrustBundle != nil {
		return
	}
	delete(all, "additionalTrustBundle")
	if len(all) == 0 {
		r.Cluster.Spec.Overrides.InstallConfig = nil
	}
	r.Cluster.Spec.Registry.TrustBundle = &spec.PublicSource{Inline: strings.TrimSpace(bundle) + "\n"}
	r.From("spec.registry.trustBundle", n)
}

// clusterType carries over the shape of a cluster, which the roles of its nodes complete.
func (r *reader) clusterType(n *input.Node) {
	counts := map[spec.Role]int{}
	for i := range r.Cluster.Spec.Hosts {
		counts[r.Host(i).Role]++
	}
	t := &r.Cluster.Spec.Topology
	set := func(role spec.Role, to **int) {
		if *to == nil && (counts[role] > 0 || role != spec.Arbiter) {
			*to = new(counts[role])
		}
	}
	set(spec.ControlPlane, &t.ControlPlane)
	set(spec.Worker, &t.Workers)
	set(spec.Arbiter, &t.Arbiters)
	if counts[spec.ControlPlane] == 1 && counts[spec.Worker] > 0 { // the hub adds them once the single node is installed
		t.Required.Workers = new(0)
	}
	if n == nil {
		return
	}
	r.From("spec.topology", n)
	word := r.Text(n)
	single, arbiter := counts[spec.ControlPlane] == 1, counts[spec.Arbiter] > 0
	switch {
	case word == "HostedControlPlane":
		r.Wrong(n, "has a hosted control plane, which the Assisted Installer does not install",
			"create the hosted cluster with HyperShift, and add its machines to it")
	case word != "SNO" && word != "HighlyAvailable" && word != "HighlyAvailableArbiter":
		r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write SNO, HighlyAvailable or HighlyAvailableArbiter")
	case single != (word == "SNO") || arbiter != (word == "HighlyAvailableArbiter"):
		r.Wrong(n, fmt.Sprintf("is %s, but the nodes are %d masters, %d arbiters and %d workers", word, counts[spec.ControlPlane],
			counts[spec.Arbiter], counts[spec.Worker]), "make the type and the roles of the nodes agree")
	}
}

func (r *reader) extras(s *input.Node) {
	const kind = hubapi.KindAgentClusterInstall
	r.InfraEnvNotes(s.Get("extraAnnotations", hubapi.KindInfraEnv), s.Get("extraLabels", hubapi.KindInfraEnv))
	r.IgnoredValidations(s.Get("extraAnnotations", kind))
}

func (r *reader) nodesOnly(s *input.Node) {
	for _, key := range losses.KeysOf("siteconfig").Lost {
		at := s.Get(key.Steps...)
		r.MeansEmpty(at, "is empty")
		r.MeansIf(at, "is the default", "")
	}
	r.Keys(s, "siteconfig")
}

// templates takes SiteConfig's own templates, which make the objects that oaictl makes.
func (r *reader) templates(n *input.Node, usual string) {
	for _, ref := range r.ListOf(n) {
		if ref.Get("name").Peek() == usual {
			r.Means(ref, "makes the objects that oaictl makes")
		}
	}
	r.Rest(n, "templates make what they say, which is not looked at")
}

func (r *reader) node(h *ztp.Objects, n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	i := r.AddHost(n)
	to := r.Host(i)
	role := n.Get("role")
	if role == nil {
		to.Role = spec.ControlPlane
	}
	r.Role(i, role)
	r.Fields(n, fields.ClusterInstanceNode, i)
	r.bmc(h, i, n)
	r.Network(i, n.Get("nodeNetwork", "interfaces"), n.Get("nodeNetwork", "config"))
	if arch := n.Get("cpuArchitecture"); arch != nil &&
		clustersettings.CanonicalWord[spec.Arch](arch.Peek()) == r.Cluster.Spec.OpenShift.Arch {
		r.Means(arch, "is that of the cluster")
	} else {
		r.Set(fields.HostField(i, "arch"), arch)
		to.Arch = clustersettings.CanonicalWord[spec.Arch](string(to.Arch))
	}
	r.Metal3(i, n.Get("bootMode"), n.Get("automatedCleaningMode"), n.Get("ironicInspect"), n.Get("extraAnnotations", hubapi.KindBareMetalHost))
	r.templates(n.Get("templateRefs"), nodeTemplates)
	r.nodesOnly(n)
}

func (r *reader) bmc(h *ztp.Objects, i int, n *input.Node) {
	address := n.Get("bmcAddress")
	if r.BMC(i, address, address, nil) {
		r.Cluster.Spec.Boot.Method = spec.BootMetal3
		r.Credentials(h, i, n.Get("bmcCredentialsName", "name"))
		return
	}
	r.Rest(n.Get("bmcCredentialsName"), "goes with the address of the BMC, which is left behind")
}
