package node

import (
	"context"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/internal/pemcerts"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// readConfigServer reads the hosts for which the certificate of the machine config server is valid, and the CA that
// signs it. Since 4.19 it is a CA of its own if the cluster has MachineSets, else that of the installation, which stays
// where it was.
func (c *connection) readConfigServer(ctx context.Context, infrastructure map[string]any) (model.ConfigServer, error) {
	var s model.ConfigServer
	inner, _, _ := unstructured.NestedString(infrastructure, "status", "apiServerInternalURI")
	if at, err := url.Parse(inner); err == nil && at.Hostname() != "" {
		s.Hosts = append(s.Hosts, at.Hostname())
	}
	addresses, _, _ := unstructured.NestedStringSlice(infrastructure, "status", "platformStatus", "baremetal", "apiServerInternalIPs")
	s.Hosts = append(s.Hosts, addresses...)
	for _, at := range []struct{ namespace, name, key string }{
		{"openshift-machine-config-operator", "machine-config-server-ca", "ca-bundle.crt"},
		{"kube-system", "root-ca", "ca.crt"},
	} {
		data, err := c.configMap(ctx, at.namespace, at.name)
		if apierrors.IsForbidden(err) {
			return s, nil // then nothing is said of it
		}
		if err != nil {
			return s, err
		}
		if cas, err := pemcerts.Parse([]byte(data[at.key])); err == nil {
			s.CAs, s.CAFrom, s.CAKey = cas, at.namespace+"/"+at.name, at.key
			return s, nil
		}
	}
	return s, nil
}
