package spoke

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is an administrator's, as an installation leaves it (auth/kubeconfig), but that
// it leads to the API server on which the cluster is played. It holds a secret.
func (s *Spoke) Kubeconfig() ([]byte, error) {
	const user = "admin"
	kube, file := s.config.Kube, clientcmdapi.NewConfig()
	file.Clusters[s.cluster.Name] = &clientcmdapi.Cluster{
		Server: kube.Host, CertificateAuthorityData: kube.CAData, CertificateAuthority: kube.CAFile, InsecureSkipTLSVerify: kube.Insecure,
	}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: kube.CertData, ClientCertificate: kube.CertFile, ClientKeyData: kube.KeyData, ClientKey: kube.KeyFile, Token: kube.BearerToken,
	}
	file.Contexts[user] = &clientcmdapi.Context{Cluster: s.cluster.Name, AuthInfo: user}
	file.CurrentContext = user
	data, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of %s: %w", s.cluster.domain(), err)
	}
	return data, nil
}
