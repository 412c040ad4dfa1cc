// Package ztp reads and writes the objects of a hub: as they are applied to one, or
// as the agent-based installer has them in a folder.
package ztp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Hub carries a hub's objects over. Those of SiteConfig and of Cluster API stand
// beside them and refer to them.
type Hub struct {
	*settings.Reader
	Envs         []BootEnv      // what the InfraEnvs say of their machines
	hubNamespace string         // of the ClusterDeployment
	laterFencing []*source.Node // fencing credentials, for hosts that are read later
}

// Read reads the objects of a hub: from a folder of the agent-based installer, or
// as they are applied to a hub.
func Read(s *settings.Reader, in *source.Input) {
	r := &Hub{Reader: s}
	r.Nowhere = "cluster.yaml has no place for it"
	r.AgentBased = in.Folder && slices.ContainsFunc(in.Files, func(file string) bool { return strings.HasPrefix(in.Below(file), source.DirManifests+"/") })
	h := r.objectsOf(in)
	if len(h.Deployments) != 1 || len(h.Installs) != 1 {
		r.OneOf(in, "ClusterDeployment", h.Deployments)
		r.OneOf(in, "AgentClusterInstall", h.Installs)
		return
	}
	cd, aci := h.Deployments[0], h.Installs[0]
	r.clusterDeployment(h, cd, aci)
	r.ImageSetRef(h, aci.Get("spec", "imageSetRef", "name"))
	if r.Cluster.Imported() {
		r.importedInstall(h, aci)
	} else {
		r.agentClusterInstall(h, aci)
	}
	r.Classifications(h)
	for _, env := range h.InfraEnvs {
		r.infraEnv(h, env)
	}
	if len(h.InfraEnvs) == 0 {
		r.Problem(in.Path, 0, 0, "", "there is no InfraEnv, from which machines boot", "put the InfraEnv beside the other objects")
	}
	r.HubHosts(in, h)
	r.folderHosts(in)
	r.folderFiles(in)
	r.mirrorFiles(in)
	r.RawManifests(in)
	r.RestOfFiles(in)
	r.GiveArches()
	r.RestOfObjects(h)
	r.OwnIgnition()
}

// OneOf tells that there is none, or more than one, of a kind.
func (r *Hub) OneOf(in *source.Input, kind string, found []*source.Node) {
	if len(found) == 0 {
		r.Problem(in.Path, 0, 0, "", "there is no "+kind, "put all objects of the cluster into one folder, or one file")
	}
	for i, n := range found {
		if i > 0 {
			r.Problem(n.In.File, n.Line, n.Col, "", fmt.Sprintf("the %s %s is of a second cluster: the first is %s", kind, NameOf(n), NameOf(found[0])), "keep the objects of one cluster in a folder")
		}
	}
}

// NameOf is an object's name.
func NameOf(n *source.Node) string { return n.Child("metadata").Child("name").Peek() }

func (r *Hub) clusterDeployment(h *Objects, cd, aci *source.Node) {
	c, s := r.Cluster, r.MapOf(cd.Get("spec"))
	source.SetText(r.Account, "metadata.name", &c.Metadata.Name, s.Get("clusterName"))
	r.ObjectNames(cd, "")
	source.SetText(r.Account, "spec.baseDomain", &c.Spec.BaseDomain, s.Get("baseDomain"))
	r.PullSecretRef(h, s.Get("pullSecretRef", "name"))
	ref := s.Get("clusterInstallRef")
	r.Reference(ref.Get("name"), aci)
	r.MeansIf(ref.Get("group"), "is the group of AgentClusterInstall", hubapi.GroupHiveExtension)
	r.MeansIf(ref.Get("version"), "is the version of AgentClusterInstall", hubapi.VersionHiveExtension)
	r.MeansIf(ref.Get("kind"), "is the kind that the cluster is installed by", hubapi.KindAgentClusterInstall)
	r.Means(s.Get("platform", "agentBareMetal"), "is written in every ClusterDeployment, and its content read by nobody")
	r.MeansEmpty(s.Get("controlPlaneConfig", "servingCertificates"), "is empty")
	r.MeansEmpty(s.Get("controlPlaneConfig"), "is empty")
	r.MeansIf(s.Get("installed"), "is the default", "false")
	r.importedDeployment(h, s)
	r.Rest(s, "is a matter of Hive, which oaictl leaves to it")
}

// OwnIgnition leaves out of the discovery Ignition what oaictl puts there by
// itself: mirrors and the certificates to trust.
func (r *Hub) OwnIgnition() {
	d := r.Cluster.Spec.Discovery.Ignition
	if d == nil || d.Inline == nil || len(r.Cluster.Spec.Registry.Mirrors) == 0 {
		return
	}
	own := []string{r.Cluster.RegistriesConf()}
	if bundle := r.Cluster.TrustBundle(); bundle != "" {
		own = append(own, bundle)
	}
	storage, _ := d.Inline["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	kept := slices.DeleteFunc(slices.Clone(files), func(file any) bool {
		object, _ := file.(map[string]any)
		contents, _ := object["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		_, encoded, _ := strings.Cut(source, ";base64,")
		text, err := decodeBase64(encoded)
		return err == nil && slices.Contains(own, text)
	})
	if len(kept) == len(files) {
		return
	}
	delete(r.Written, d)
	if len(kept) > 0 {
		storage["files"] = kept
		return
	}
	delete(storage, "files")
	if len(storage) == 0 {
		delete(d.Inline, "storage")
	}
	if len(d.Inline) == 1 && d.Inline["ignition"] != nil {
		r.Cluster.Spec.Discovery.Ignition = nil
	}
}

// importedDeployment carries over that a cluster is installed already. One whose
// metadata has the service's own id was installed by the service: its objects say
// how.
func (r *Hub) importedDeployment(h *Objects, s *source.Node) {
	meta := s.Get("clusterMetadata")
	if s.Get("installed").Peek() != "true" || meta.Get("infraID").Peek() != "" {
		return
	}
	from := &spec.Import{}
	r.Cluster.Spec.Import = from
	r.Boolean(s.Get("installed"))
	r.From("spec.import", s.Get("installed"))
	source.SetText(r.Account, "spec.import.clusterID", &from.ClusterID, meta.Get("clusterID"))
	r.Means(meta.Get("infraID"), "is empty: the service has not called the cluster anything yet")
	name := meta.Get("adminKubeconfigSecretRef", "name")
	if name == nil {
		return
	}
	r.Text(name)
	r.From("spec.import.kubeconfig", name)
	if content, ref := r.secretContent(h, name, hubapi.KeyKubeconfig, "kubeconfig"); ref != nil {
		from.Kubeconfig = spec.Source{SecretRef: ref}
	} else if content != nil {
		from.Kubeconfig = spec.Source{File: r.File("kubeconfig", []byte(r.Text(content)))}
	}
}

// importedInstall carries over what the AgentClusterInstall of a cluster that is
// installed already says of the hosts that are added to it.
func (r *Hub) importedInstall(h *Objects, n *source.Node) {
	s := r.MapOf(n.Get("spec"))
	r.ObjectNames(n, "")
	r.Reference(s.Get("clusterDeploymentRef", "name"), h.Deployments[0])
	r.Tag(n.Get("metadata", "labels", hubapi.LabelConsumer))
	r.SSHKeys(s.Get("sshPublicKey"))
	r.ignitionEndpoint(h, s.Get("ignitionEndpoint"))
	r.Proxy(s.Get("proxy"))
	r.MirrorMap(h, s.Get("mirrorRegistryRef"))
	meta := s.Get("clusterMetadata")
	if id := meta.Get("clusterID"); id != nil {
		source.SetText(r.Account, "spec.import.clusterID", &r.Cluster.Spec.Import.ClusterID, id)
	}
	r.Means(meta, "repeats what the ClusterDeployment says")
	r.MeansIf(s.Get("networking", "userManagedNetworking"), "is written for every cluster that is installed already", "true")
	r.Means(s.Get("provisionRequirements"), "counts no machines of a cluster that is installed already")
	r.Rest(s, "says how a cluster is installed, but this one is installed already")
	r.Rest(n.Get("metadata", "annotations"), "says how a cluster is installed, but this one is installed already")
}
