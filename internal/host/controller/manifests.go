//go:build linux

package controller

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/host/kube"
)

const (
	manifestsFile = "custom_manifests.json"
	// kubeconfigFile is the kubeconfig of an administrator that reaches the API server without ingress.
	kubeconfigFile = "kubeconfig-noingress"

	manifestsLimit = 16 << 20 // bytes
)

// manifest is what an operator needs once it is installed.
type manifest struct {
	// Name is of the operator.
	Name string
	// Content is YAML or JSON of objects, in base64.
	Content string
}

// readManifests reads the file custom_manifests.json of the service.
func readManifests(content []byte) ([]manifest, error) {
	if len(content) > manifestsLimit {
		return nil, fmt.Errorf("read %s: it has %d bytes, and %d are allowed", manifestsFile, len(content), manifestsLimit)
	}
	var all []manifest
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifestsFile, err)
	}
	return all, nil
}

// objects are those in a manifest. Lists are taken apart.
func (m *manifest) objects() ([]*kube.Object, error) {
	text, err := base64.StdEncoding.DecodeString(m.Content)
	if err != nil {
		return nil, fmt.Errorf("read a manifest of %q: %w", m.Name, err)
	}
	objects, err := kube.ReadObjects(text)
	if err != nil {
		return nil, fmt.Errorf("read a manifest of %q: %w", m.Name, err)
	}
	return objects, nil
}

// applyCustom applies the manifests of the service, those of these operators only.
func (c *Controller) applyCustom(ctx context.Context, operators []models.MonitoredOperator) error {
	content, err := c.Service.ClusterFile(ctx, c.Config.Cluster, manifestsFile)
	if err != nil {
		return err
	}
	manifests, err := readManifests(content)
	if err != nil {
		return err
	}
	admin, err := c.administrator(ctx)
	if err != nil {
		return err
	}
	return c.applyManifests(ctx, admin, operators, manifests)
}

// applyManifests applies manifests once all operators are initialized. It tries all of them, and the error has what failed.
func (c *Controller) applyManifests(ctx context.Context, admin Administrator, operators []models.MonitoredOperator, manifests []manifest,
) error {
	if err := c.lookAtVersions(ctx, operators); err != nil {
		return fmt.Errorf("not all operators are initialized: %w", err)
	}
	var errs []error
	for _, m := range manifests {
		if m.Name == "odf" && isVersion48(c.Config.Version) {
			m.Name = "ocs"
		}
		if !slices.ContainsFunc(operators, func(o models.MonitoredOperator) bool { return o.Name == m.Name }) {
			c.Log.Info("a manifest is of no operator that OLM installs", word("operator", m.Name))
			continue
		}
		objects, err := m.objects()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, object := range objects {
			c.Log.Info("applying a manifest", word("operator", m.Name), word("kind", object.GetKind()), word("name", object.GetName()))
			errs = append(errs, admin.Apply(ctx, object))
		}
	}
	return errors.Join(errs...)
}

// administrator is the cluster by the rights of its administrator. The kubeconfig stays in memory.
func (c *Controller) administrator(ctx context.Context) (Administrator, error) {
	c.admin.mu.Lock()
	defer c.admin.mu.Unlock()
	if c.admin.client != nil {
		return c.admin.client, nil
	}
	content, err := c.kubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.Administrator(content)
	if err != nil {
		return nil, err
	}
	c.admin.client = client
	return client, nil
}

// kubeconfig is that of the administrator.
func (c *Controller) kubeconfig(ctx context.Context) ([]byte, error) {
	if c.agentBased && c.bootstrap != nil {
		return c.bootstrap, nil
	}
	return c.Service.ClusterCredential(ctx, c.Config.Cluster, kubeconfigFile)
}

// operatorMetadata is what the service says of an operator in the ConfigMap of the agent-based installer.
type operatorMetadata struct {
	Namespace        string   `json:"namespace"`
	SubscriptionName string   `json:"subscriptionName"`
	Manifests        []string `json:"manifests"`
}

const metadataSuffix = ".metadata.yaml"

// readOperators reads the ConfigMap in which the agent-based installer has operators and their manifests.
func readOperators(data map[string]string) (operators []models.MonitoredOperator, manifests []manifest, err error) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		name, is := strings.CutSuffix(key, metadataSuffix)
		if !is {
			continue
		}
		var metadata operatorMetadata
		if err := yaml.Unmarshal([]byte(data[key]), &metadata); err != nil {
			return nil, nil, &lastError{fmt.Errorf("read %q: %w", key, err)}
		}
		for _, file := range metadata.Manifests {
			content, found := data[file]
			if !found {
				return nil, nil, missing("%q names the manifest %q, which is not there", key, file)
			}
			manifests = append(manifests, manifest{Name: name, Content: content})
		}
		operators = append(operators, models.MonitoredOperator{
			Name: name, Namespace: metadata.Namespace, SubscriptionName: metadata.SubscriptionName, OperatorType: models.OperatorTypeOlm,
		})
	}
	return operators, manifests, nil
}
