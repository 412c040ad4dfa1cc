package management

import (
	"context"
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// MakeHosts makes BareMetalHosts NAME-host-0 and so on in a namespace, each with the secret of its
// BMC and a machine of its own. Those that are there stay as they are, and so does the namespace.
func MakeHosts(ctx context.Context, kube *rest.Config, namespace, name string, count int) error {
	objects, err := dynamic.NewForConfig(kube)
	if err != nil {
		return fmt.Errorf("make hosts: %w", err)
	}
	core, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return fmt.Errorf("make hosts: %w", err)
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := core.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace %s: %w", namespace, err)
	}
	hosts := objects.Resource(schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1",
		Resource: "baremetalhosts"}).Namespace(namespace)
	for i := range count {
		host := fmt.Sprintf("%s-host-%d", name, i)
		sum := sha256.Sum256([]byte(namespace + "/" + host))
		_, err := core.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: host + "-bmc"}, StringData: map[string]string{"username": "admin", "password": "simulated"},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make host %s: %w", host, err)
		}
		_, err = hosts.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": map[string]any{"name": host},
			"spec": map[string]any{
				"online": false, "bootMACAddress": fmt.Sprintf("52:54:00:%02x:%02x:%02x", sum[0], sum[1], sum[2]),
				"bmc": map[string]any{
					"address":         fmt.Sprintf("redfish-virtualmedia://bmc.example.com/redfish/v1/Systems/%x", sum[:8]),
					"credentialsName": host + "-bmc",
				},
			},
		}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make host %s: %w", host, err)
		}
	}
	return nil
}
