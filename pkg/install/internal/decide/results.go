package decide

import "github.com/oaictl/oaictl/pkg/install/model"

// results saves the credentials of the cluster that are not on disk yet.
type results struct {
	*collector
	saved   model.Results
	cluster *model.Cluster
}

// saveAll saves what the service has of the installed cluster's.
func (r *results) saveAll() {
	r.saveNoIngress()
	if r.cluster.Kubeconfig && !r.saved.Kubeconfig {
		r.save(model.SaveKubeconfig, "kubeconfig", "the cluster is installed")
	}
	if r.cluster.Kubeconfig && !r.saved.Password {
		r.save(model.SavePassword, "kubeadmin-password", "the cluster is installed")
	}
}

func (r *results) saveNoIngress() {
	if r.cluster.NoIngress && !r.saved.NoIngress {
		r.save(model.SaveNoIngress, "kubeconfig-noingress", "the cluster's API can now be reached with it")
	}
}

func (r *results) save(kind model.Kind, name, reason string) {
	r.act(model.Action{
		Key: "cluster/save/" + name, Scope: model.ScopeCluster, Kind: kind, Target: r.cluster.ID, Name: name, Reason: reason,
		Changes: []model.Change{{Field: "auth/" + name, To: "[redacted]"}},
	})
}
