package ztp

import (
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
	secret := h.Secrets[name.Peek()]
	if secret == nil {
		from.Kubeconfig = spec.Source{SecretRef: &spec.SecretRef{Name: name.Peek()}}
		return
	}
	h.Used[secret] = true
	content := r.secretKey(secret, hubapi.KeyKubeconfig)
	if content == nil {
		r.Wrong(name, "the Secret "+name.Peek()+" has no key "+hubapi.KeyKubeconfig, "put the kubeconfig there, in data or in stringData")
		return
	}
	from.Kubeconfig = spec.Source{File: r.File("kubeconfig", []byte(r.Text(content)))}
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
