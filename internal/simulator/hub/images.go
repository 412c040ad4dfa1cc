package hub

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// Images gives the addresses of the discovery Ignition of the InfraEnvs of a hub, in a
// namespace or, for "", in all of them. Those that have none yet are left out.
func Images(config *rest.Config, namespace string) func(ctx context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("make a client for the hub: %w", err)
		}
		list, err := client.Resource(hubapi.InfraEnvs()).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var addresses []string
		for i := range list.Items {
			env := &list.Items[i]
			if address := objects.Nested(env, "status", "bootArtifacts", "discoveryIgnitionURL"); address != "" && env.GetDeletionTimestamp() == nil {
				addresses = append(addresses, address)
			}
		}
		return addresses, nil
	}
}
