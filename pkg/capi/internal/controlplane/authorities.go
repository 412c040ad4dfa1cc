package controlplane

import (
	"bytes"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
)

// The ConfigMap in which OpenShift keeps what its own clients trust the API server by, where `oc config refresh-ca-bundle`
// reads it too, and the key there.
const (
	authoritiesNamespace = "openshift-kube-controller-manager"
	authoritiesName      = "serviceaccount-ca"
	authoritiesKey       = "ca-bundle.crt"
)

// followAuthorities makes the kubeconfig trust the authorities that, by the installed cluster, sign its API server's
// certificate, before the certificate of another authority is used. A kubeconfig that trusts other authorities, or
// none, is left alone, and so is one that would not reach the API server any more.
func (h *kubeconfigHandout) followAuthorities(ctx context.Context, kubeconfig []byte) ([]byte, error) {
	spoke := h.view.Observed.Spoke
	if !h.view.Installed() || spoke == nil || spoke.Trouble != "" {
		return kubeconfig, nil
	}
	c, err := h.workloads.Client(h.key(), kubeconfig)
	if err != nil {
		return nil, err
	}
	if !h.workloads.isDue(h.key(), c, aboutAuthorities, h.clock.Now()) {
		return kubeconfig, nil
	}
	bundle, err := c.Core.ConfigMaps(authoritiesNamespace).Get(ctx, authoritiesName, metav1.GetOptions{})
	if err != nil {
		return kubeconfig, nil //nolint:nilerr // what the API server is trusted by today stays, and it is asked again
	}
	changed, err := trusting(kubeconfig, []byte(bundle.Data[authoritiesKey]))
	if err != nil || changed == nil || h.answers(ctx, changed) != nil {
		return kubeconfig, err
	}
	have, err := clusterspec.KubeconfigSecret(ctx, h.client, h.live, h.key())
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(have.Data[secret.KubeconfigDataName], kubeconfig) {
		return kubeconfig, nil // it was written this moment, and wakes
	}
	if err := h.writeKubeconfig(ctx, have, changed); err != nil {
		return nil, err
	}
	return changed, nil
}

// trusting is a kubeconfig that trusts what signs by these authorities, nil where it does so already, or by the
// machine's own.
func trusting(kubeconfig, authorities []byte) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	current, there := config.Contexts[config.CurrentContext]
	if !there || len(authorities) == 0 {
		return nil, nil
	}
	cluster, there := config.Clusters[current.Cluster]
	if !there || len(cluster.CertificateAuthorityData) == 0 || bytes.Equal(cluster.CertificateAuthorityData, authorities) {
		return nil, nil
	}
	cluster.CertificateAuthorityData = authorities
	return clientcmd.Write(*config)
}
