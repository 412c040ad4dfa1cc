package spoke

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Clear takes away what a cluster has left on the API server, but for its kinds, its namespaces
// and the rights of kubelets: the next cluster is set up there as on a new one.
func (s *Spoke) Clear(ctx context.Context) error {
	kinds, err := readKinds(s.cluster.MachineAPI)
	if err != nil {
		return err
	}
	var resources []schema.GroupVersionResource
	for _, k := range kinds {
		resources = append(resources, schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural})
	}
	for _, core := range []struct{ group, version, resource string }{
		{"", "v1", "nodes"}, {"certificates.k8s.io", "v1", "certificatesigningrequests"},
	} {
		resources = append(resources, schema.GroupVersionResource{Group: core.group, Version: core.version, Resource: core.resource})
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, resource := range resources {
		list, err := s.objects.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("clear %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if err := s.objects.Resource(resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), now); ignoreGone(err) != nil {
				return fmt.Errorf("clear %s %s: %w", resource.Resource, o.GetName(), err)
			}
		}
	}
	if err := s.core.CoordinationV1().Leases("kube-node-lease").DeleteCollection(ctx, now, metav1.ListOptions{}); ignoreGone(err) != nil {
		return fmt.Errorf("clear leases: %w", err)
	}
	for _, namespace := range namespaceNames {
		if err := s.clearNamespace(ctx, namespace, now); err != nil {
			return err
		}
	}
	s.logf("%s is gone", s.cluster.domain())
	return nil
}

func (s *Spoke) clearNamespace(ctx context.Context, namespace string, now metav1.DeleteOptions) error {
	all := metav1.ListOptions{}
	core := s.core.CoreV1()
	for _, remove := range []func() error{
		func() error { return core.Pods(namespace).DeleteCollection(ctx, now, all) },
		func() error { return core.Secrets(namespace).DeleteCollection(ctx, now, all) },
		func() error { return s.core.PolicyV1().PodDisruptionBudgets(namespace).DeleteCollection(ctx, now, all) },
		func() error {
			// The API server makes the ConfigMap of its own CA anew.
			return core.ConfigMaps(namespace).DeleteCollection(ctx, now, metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
		},
	} {
		if err := remove(); ignoreGone(err) != nil {
			return fmt.Errorf("clear namespace %s: %w", namespace, err)
		}
	}
	return nil
}
