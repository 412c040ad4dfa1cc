package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// Credential reads kubeconfig, kubeconfig-noingress or kubeadmin-password from
// the Secret that the service writes. One that does not exist yet is a fault
// with status 404. The Secret of the kubeconfig holds the first one until the
// cluster is installed, and the final one from then on.
func (p *Plane) Credential(ctx context.Context, clusterID, name string) ([]byte, error) {
	deployment, made, err := p.pair(ctx, clusterID)
	if err != nil {
		return nil, err
	}
	notYet := func(why string) ([]byte, error) {
		return nil, &install.Fault{
			Code: install.CodeNotFound, Op: "read " + name + " of cluster", On: clusterID, Status: http.StatusNotFound,
			Err: errors.New(why), Next: "run the same command again in a while",
		}
	}
	state := stateOf(made, kube.Installed(deployment))
	done := state == model.ClusterInstalled || state == model.ClusterAddingHosts
	metadata := made.Spec.ClusterMetadata
	secret, key := "", ""
	switch name {
	case "kubeconfig":
		if !done {
			return notYet("the cluster is not installed yet; until then there is kubeconfig-noingress")
		}
		secret, key = deployment.Name+"-admin-kubeconfig", hubapi.KeyKubeconfig
	case "kubeconfig-noingress":
		if done {
			return notYet("the hub keeps the first kubeconfig only until the cluster is installed; there is kubeconfig now")
		}
		secret, key = deployment.Name+"-admin-kubeconfig", hubapi.KeyKubeconfig
	case "kubeadmin-password":
		secret, key = deployment.Name+"-admin-password", hubapi.KeyPassword
		if hasPassword(metadata) {
			secret = metadata.AdminPasswordSecretRef.Name
		}
	default:
		return nil, &install.Fault{Code: install.CodeUsage, Op: "read credential", On: name, Permanent: true, Err: errors.New("there is none of that name"), Next: "use kubeconfig, kubeconfig-noingress or kubeadmin-password"}
	}
	if key == hubapi.KeyKubeconfig && metadata != nil && metadata.AdminKubeconfigSecretRef.Name != "" {
		secret = metadata.AdminKubeconfigSecretRef.Name
	}
	data, err := p.secret(ctx, deployment.Namespace, secret, key)
	switch {
	case apierrors.IsNotFound(err):
		return notYet(fmt.Sprintf("the service has not written the Secret %s yet", secret))
	case err != nil:
		return nil, p.api.Fault(kube.Attempt{Op: "read Secret", Verb: "get", Kind: kube.Secrets(), Namespace: deployment.Namespace, Name: secret}, err)
	case len(bytes.TrimSpace(data)) == 0:
		return notYet(fmt.Sprintf("the Secret %s is empty", secret))
	}
	return data, nil
}

// pair is a cluster's ClusterDeployment and AgentClusterInstall.
func (p *Plane) pair(ctx context.Context, clusterID string) (*hive.ClusterDeployment, *hive.AgentClusterInstall, error) {
	namespace, name := kube.SplitID(clusterID, p.api.NamespaceOf(clusterID))
	at, err := p.api.Watch(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	u := at.Store(kube.ClusterDeployments()).Get(name)
	if u == nil {
		return nil, nil, kube.NotFound("cluster", clusterID, "{get clusters}")
	}
	made := at.InstallOf(u)
	if made == nil {
		return nil, nil, kube.NotFound("AgentClusterInstall of cluster", clusterID, advice.Sprintf("kubectl get agentclusterinstalls -n %s", namespace))
	}
	deployment, err := kube.Read[hive.ClusterDeployment](u)
	if err != nil {
		return nil, nil, err
	}
	aci, err := kube.Read[hive.AgentClusterInstall](made)
	return deployment, aci, err
}
