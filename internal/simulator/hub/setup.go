package hub

import (
	"context"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func dial(config *rest.Config) (dynamic.Interface, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the hub: %w", err)
	}
	return client, nil
}

// Missing names the resources that Run waits for and an API server does not serve.
func Missing(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := dial(config)
	if err != nil {
		return nil, err
	}
	_, missing, err := kindsOf(ctx, client, "", true)
	var names []string
	for _, k := range missing {
		names = append(names, k.Resource().GroupResource().String())
	}
	return names, err
}

// AddImageSets makes a ClusterImageSet for the newest release of each minor version
// that the simulated service knows, for x86_64 and for all architectures, as the
// multicluster engine has them: img4.20.33-x86-64-appsub. Those that are there stay
// as they are. It gives the names of those that it made.
func AddImageSets(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := dial(config)
	if err != nil {
		return nil, err
	}
	var made []string
	for version := range versions.OpenshiftVersions("", true) {
		release, err := versions.Resolve(version, "")
		if err != nil {
			return made, fmt.Errorf("find the release image of %s: %w", version, err)
		}
		set := imageSetOf(release)
		_, err = client.Resource(hubapi.Resource(hubapi.KindClusterImageSet)).Create(ctx, set, metav1.CreateOptions{FieldManager: manager})
		switch {
		case apierrors.IsAlreadyExists(err):
		case err != nil:
			return made, fmt.Errorf("make ClusterImageSet %s: %w", set.GetName(), err)
		default:
			made = append(made, set.GetName())
		}
	}
	return made, nil
}

func imageSetOf(r versions.Release) *apiobject.Object {
	name := "img" + strings.TrimSuffix(r.Version, "-multi") + "-" + strings.ReplaceAll(r.CPUArchitecture, "_", "-") + "-appsub"
	return &apiobject.Object{Object: map[string]any{
		"apiVersion": hubapi.GroupHive + "/" + hubapi.VersionHive, "kind": hubapi.KindClusterImageSet,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"visible": "true"}},
		"spec":     map[string]any{"releaseImage": r.URL},
	}}
}

// AgentServiceConfig names the one by which the real assisted-service was set up there; "" without one.
func AgentServiceConfig(ctx context.Context, config *rest.Config) (string, error) {
	client, err := dial(config)
	if err != nil {
		return "", err
	}
	configs := hubapi.Resource(hubapi.KindAgentServiceConfig)
	list, err := client.Resource(configs).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err): // the kind is not even known
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask whether it is a real hub: %w", err)
	case len(list.Items) == 0:
		return "", nil
	}
	return list.Items[0].GetName(), nil
}

// Images gives the addresses of the InfraEnvs' discovery Ignition, in a namespace or, for "", in all.
func Images(config *rest.Config, namespace string) func(ctx context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		client, err := dial(config)
		if err != nil {
			return nil, err
		}
		list, err := client.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var addresses []string
		for i := range list.Items {
			env := &list.Items[i]
			if address := apiobject.Text(env, "status", "bootArtifacts", "discoveryIgnitionURL"); address != "" &&
				env.GetDeletionTimestamp() == nil {
				addresses = append(addresses, address)
			}
		}
		return addresses, nil
	}
}
