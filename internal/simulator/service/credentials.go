package service

import (
	"encoding/pem"
	"net/http"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/installfiles"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// newPassword makes a password as the installer does: four groups of five.
func (s *Service) newPassword() string {
	const letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789"
	var b []byte
	for i := range 4 {
		if i > 0 {
			b = append(b, '-')
		}
		for range 5 {
			b = append(b, letters[s.random.IntN(len(letters))])
		}
	}
	return string(b)
}

func downloadStates() []string {
	return []string{model.ClusterInstalling, model.ClusterFinalizing, model.ClusterInstalled, model.ClusterError,
		model.ClusterAddingHosts, model.ClusterCancelled, model.ClusterPendingUser}
}

func downloadable(c *model.Cluster) error {
	if !model.OneOf(c.Status, downloadStates()...) {
		return wire.Conflict("cluster %s is in %s state, files can be downloaded only when status is one of: %v", c.ID, c.Status, downloadStates())
	}
	return nil
}

func (s *Service) readCredentials(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	console := false
	for _, o := range cl.MonitoredOperators {
		console = console || o.Name == "console" && o.Status == "available"
	}
	if !console || cl.Credentials == nil {
		return wire.Reply{}, wire.Conflict("console-url isn't available yet, it will be once console operator is ready as part of cluster finalizing stage")
	}
	return wire.OK(map[string]string{
		"console_url": "https://console-openshift-console.apps." + cl.Name + "." + cl.BaseDNSDomain,
		"password":    cl.Credentials.Password, "username": "kubeadmin",
	})
}

func (s *Service) downloadCredentials(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	name := c.URL.Query().Get("file_name")
	if err := downloadable(cl); err != nil {
		return wire.Reply{}, err
	}
	missing := wire.Conflict("object %s/%s was not found", cl.ID, name)
	if cl.Credentials == nil {
		return wire.Reply{}, missing
	}
	switch name {
	case "kubeadmin-password":
		return wire.File(name, []byte(cl.Credentials.Password))
	case "kubeconfig-noingress":
		return wire.File(name, installfiles.Kubeconfig(cl.Credentials, cl.Name, cl.BaseDNSDomain, ""))
	}
	if cl.IngressCert == "" {
		return wire.Reply{}, missing
	}
	return wire.File(name, installfiles.Kubeconfig(cl.Credentials, cl.Name, cl.BaseDNSDomain, cl.IngressCert))
}

// presigned answers what a service that keeps its files on disk answers, whatever
// the cluster.
func (s *Service) presigned(*wire.Call) (wire.Reply, error) {
	return wire.Reply{}, wire.BadRequest("Failed to generate presigned URL: invalid backend")
}

// uploadIngressCert takes the certificate that makes the kubeconfig complete.
func (s *Service) uploadIngressCert(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	cert := string(wire.Taken[models.IngressCertParams](c))
	if !model.OneOf(cl.Status, model.ClusterFinalizing, model.ClusterInstalled) {
		return wire.Reply{}, wire.BadRequest("Cluster %s is in %s state, upload ingress ca can be done only in %s or %s state", cl.ID, cl.Status, model.ClusterFinalizing, model.ClusterInstalled)
	}
	if block, _ := pem.Decode([]byte(cert)); block == nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "given ingress-ca is not valid PEM format")
	}
	if cl.IngressCert == "" {
		cl.IngressCert = cert
	}
	return wire.Reply{Status: http.StatusCreated}, nil
}
