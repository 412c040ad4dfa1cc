package spoke

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Prepare has an API server know the kinds, namespaces and rights of clusters that are to be set
// up there, which takes it some seconds.
func Prepare(ctx context.Context, kube *rest.Config, c clock.Clock) error {
	s, err := New(Config{Kube: kube, Clock: c, Cluster: Cluster{
		Name: "none", BaseDomain: "example.com", Joining: true,
		ControlPlane: []Node{{Name: "none", Addresses: []netip.Addr{netip.IPv4Unspecified()}}},
	}})
	if err != nil {
		return err
	}
	if _, err := s.isSetUp(ctx); err != nil {
		return fmt.Errorf("prepare %s for a simulated cluster: %w", kube.Host, err)
	}
	for _, step := range []func(context.Context) error{s.setUpKinds, s.setUpNamespaces, s.setUpRights} {
		if err := s.timely(ctx, step); err != nil {
			return fmt.Errorf("prepare %s for a simulated cluster: %w", kube.Host, err)
		}
	}
	return nil
}

// Label puts labels on a node, and reports whether there is one.
func (s *Spoke) Label(ctx context.Context, node string, labels map[string]string) (bool, error) {
	if labels == nil {
		labels = map[string]string{} // null would take all that there are
	}
	patch, err := json.Marshal(fields{"metadata": fields{"labels": labels}})
	if err != nil {
		return false, err
	}
	_, err = s.core.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("label node %s: %w", node, err)
	}
	return true, nil
}
