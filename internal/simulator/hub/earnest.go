package hub

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// Earnest is the name of the AgentServiceConfig of an API server, by which somebody
// has set up the assisted-service itself there; "" where there is none.
func Earnest(ctx context.Context, config *rest.Config) (string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("make a client for the hub: %w", err)
	}
	configs := hubapi.AgentServiceConfigs()
	list, err := client.Resource(configs).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err): // the kind is not even known
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask whether it is a hub in earnest: %w", err)
	case len(list.Items) == 0:
		return "", nil
	}
	return list.Items[0].GetName(), nil
}
