package spoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ErrNoCluster is returned for an API server on which no cluster was set up.
var ErrNoCluster = errors.New("no cluster is played on it")

// Find is the cluster that was set up on an API server, as far as machines have to know it
// that join: New takes it, in another process than the one that plays the operators.
func Find(ctx context.Context, config *rest.Config) (Cluster, error) {
	config = unhurried(config)
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return Cluster{}, fmt.Errorf("make a client: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Cluster{}, fmt.Errorf("make a client: %w", err)
	}
	version, err := objects.Resource(kindClusterVersion.gvr()).Get(ctx, "version", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Cluster{}, ErrNoCluster
	case err != nil:
		return Cluster{}, fmt.Errorf("look for a cluster: %w", err)
	case version.GetAnnotations()[simulated] == "":
		return Cluster{}, ErrRealCluster
	}
	dns, err := objects.Resource(kindDNS.gvr()).Get(ctx, "cluster", metav1.GetOptions{})
	if err != nil {
		return Cluster{}, fmt.Errorf("read the cluster's name: %w", err)
	}
	c := Cluster{ID: version.GetAnnotations()[simulated]}
	domain := apiobject.Text(dns, "spec", "baseDomain")
	c.Name, c.BaseDomain, _ = strings.Cut(domain, ".")
	c.Version = apiobject.Text(version, "status", "desired", "version")
	list, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return Cluster{}, fmt.Errorf("list the cluster's nodes: %w", err)
	}
	for i := range list.Items {
		n := &list.Items[i]
		c.Arch = cmp.Or(c.Arch, fileArch(n.Labels[corev1.LabelArchStable]))
		if _, is := n.Labels[rolePrefix+master]; is {
			c.ControlPlane = append(c.ControlPlane, nodeFrom(n))
		}
	}
	return c, nil
}

func nodeFrom(n *corev1.Node) Node {
	node := Node{Name: n.Name, UUID: n.Status.NodeInfo.SystemUUID}
	for _, a := range n.Status.Addresses {
		if address, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP {
			node.Addresses = append(node.Addresses, address)
		}
	}
	return node
}

func fileArch(arch string) string {
	if arch == "amd64" {
		return "x86_64"
	}
	return arch
}
