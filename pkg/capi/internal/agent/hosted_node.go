package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
)

// secretHostedKubeconfig is the Secret that a hosted control plane keeps its kubeconfig in, in its own
// namespace, under the key kubeconfig.
const secretHostedKubeconfig = "admin-kubeconfig"

// nodeComes is how often a reconcile checks whether the node of a hosted cluster is there.
const nodeComes = 20 * time.Second

// workloads are the clients of hosted clusters, each kept for as long as its Cluster is there and its kubeconfig is the
// same.
type workloads struct {
	mu sync.Mutex
	of map[installation.Key]reached
}

type reached struct {
	sum    [sha256.Size]byte
	client client.Client
}

// forget drops the client of a hosted cluster.
func (w *workloads) forget(cluster installation.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, cluster)
}

// nameNode gives the node of a machine of a hosted cluster the provider id that Cluster API finds it by. There is no
// plan for that cluster that would do so.
func (s *scope) nameNode(ctx context.Context) (ctrl.Result, error) {
	if s.machine.Status.NodeRef.Name != "" {
		return ctrl.Result{}, nil // it was found
	}
	again := ctrl.Result{RequeueAfter: nodeComes}
	c, node, trouble := s.findNode(ctx)
	switch {
	case trouble != "":
		s.nodeTrouble(trouble)
		return again, nil
	case node == nil:
		return again, nil
	case node.Spec.ProviderID == s.object.Spec.ProviderID:
		return ctrl.Result{}, nil
	case node.Spec.ProviderID != "":
		s.nodeTrouble(fmt.Sprintf("the node %s has the provider id %s already", node.Name, node.Spec.ProviderID))
		return ctrl.Result{}, nil
	}
	named := node.DeepCopy()
	named.Spec.ProviderID = s.object.Spec.ProviderID
	if err := c.Patch(ctx, named, client.MergeFrom(node)); err != nil {
		return ctrl.Result{}, fmt.Errorf("set the provider id of node %s: %w", node.Name, err)
	}
	return ctrl.Result{}, nil
}

// findNode is the host's node, nil while there is none, with the client of its cluster. That this is not
// reached is shown, and tried again: the cluster may be on its way up.
func (s *scope) findNode(ctx context.Context) (c client.Client, node *corev1.Node, trouble string) {
	c, err := s.workload(ctx)
	if err != nil {
		return nil, nil, "the hosted cluster cannot be reached: " + err.Error()
	}
	if node, err = s.node(ctx, c); err != nil {
		return nil, nil, "the hosted cluster does not answer: " + err.Error()
	}
	return c, node, ""
}

// node is the host's node: of its name, else with one of its addresses; nil while there is none.
func (s *scope) node(ctx context.Context, c client.Client) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := c.Get(ctx, client.ObjectKey{Name: strings.ToLower(s.host.Hostname)}, node)
	if err == nil {
		return node, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	list := &corev1.NodeList{}
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		for _, a := range list.Items[i].Status.Addresses {
			if a.Type == corev1.NodeInternalIP && slices.Contains(s.host.Addresses, a.Address) {
				return &list.Items[i], nil
			}
		}
	}
	return nil, nil
}

// workload is the client of the machine's hosted cluster.
func (s *scope) workload(ctx context.Context) (client.Client, error) {
	secret := &corev1.Secret{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: s.object.Namespace, Name: secretHostedKubeconfig}, secret); err != nil {
		return nil, err
	}
	data := secret.Data[hubapi.KeyKubeconfig]
	sum := sha256.Sum256(data)
	s.workloads.mu.Lock()
	defer s.workloads.mu.Unlock()
	if known, there := s.workloads.of[s.key]; there && known.sum == sum {
		return known.client, nil
	}
	connect := s.Workload
	if connect == nil {
		connect = s.connectTo
	}
	made, err := connect(data)
	if err != nil {
		return nil, err
	}
	if s.workloads.of == nil {
		s.workloads.of = map[installation.Key]reached{}
	}
	s.workloads.of[s.key] = reached{sum: sum, client: made}
	return made, nil
}

// answersWithin is how long the API server of a hosted cluster may take.
const answersWithin = 10 * time.Second

func (s *scope) connectTo(data []byte) (client.Client, error) {
	config, err := s.Connector.Config(data, answersWithin)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig in Secret %s: %w", secretHostedKubeconfig, err)
	}
	return client.New(config, client.Options{})
}
