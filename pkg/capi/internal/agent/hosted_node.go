package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
)

// secretHostedKubeconfig is the Secret that a hosted control plane keeps its kubeconfig in, in its own
// namespace, under the key kubeconfig.
const secretHostedKubeconfig = "admin-kubeconfig"

// nodeComes is how often a reconcile checks whether the node of a hosted cluster is there.
const nodeComes = 20 * time.Second

// nameNode gives the node of a machine of a hosted cluster the provider id that Cluster API finds it by.
// There is no plan for that cluster that would do so.
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
		s.nodeTrouble(fmt.Sprintf("the node %s already has the provider id %s", node.Name, node.Spec.ProviderID))
		return ctrl.Result{}, nil
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"providerID": s.object.Spec.ProviderID}})
	if err == nil {
		_, err = c.Core.Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("set the provider id of node %s: %w", node.Name, err)
	}
	return ctrl.Result{}, nil
}

// findNode is the host's node, nil while there is none, with the client of its cluster. That this is not
// reached is shown, and tried again: the cluster may be on its way up.
func (s *scope) findNode(ctx context.Context) (c *workloadclient.Client, node *corev1.Node, trouble string) {
	c, err := s.workload(ctx)
	if err != nil {
		return nil, nil, "the hosted cluster cannot be reached: " + err.Error()
	}
	if node, err = s.node(ctx, c.Core.Nodes()); err != nil {
		return nil, nil, "the hosted cluster does not answer: " + err.Error()
	}
	return c, node, ""
}

// node is the host's node: of its name, else with one of its addresses; nil while there is none.
func (s *scope) node(ctx context.Context, nodes coreclient.NodeInterface) (*corev1.Node, error) {
	node, err := nodes.Get(ctx, strings.ToLower(s.host.Hostname), metav1.GetOptions{})
	if err == nil {
		return node, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
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
func (s *scope) workload(ctx context.Context) (*workloadclient.Client, error) {
	secret := &corev1.Secret{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: s.object.Namespace, Name: secretHostedKubeconfig}, secret); err != nil {
		return nil, err
	}
	c, err := s.workloads.Get(s.key, secret.Data[hubapi.KeyKubeconfig],
		workloadclient.Options{Config: s.Connector.Config, Timeout: answersWithin})
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig in Secret %s: %w", secretHostedKubeconfig, err)
	}
	return c, nil
}

// answersWithin is how long the API server of a hosted cluster may take.
const answersWithin = 10 * time.Second
