package clusterspec

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (s *Source) configMap(ctx context.Context, namespace, name, field string) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
		return nil, fmt.Errorf("%s: read ConfigMap %s: %w", field, name, err)
	}
	return found, nil
}

// manifests are those in the ConfigMaps that are referred to.
func (s *Source) manifests(ctx context.Context, c *Cluster) ([]spec.ManifestSource, error) {
	var out []spec.ManifestSource
	for i, ref := range c.ControlPlane.Spec.Config.ManifestsConfigMapRefs {
		found, err := s.configMap(ctx, c.Namespace, ref.Name, fmt.Sprintf("spec.config.manifestsConfigMapRefs[%d]", i))
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(found.Data)) {
			out = append(out, spec.ManifestSource{Name: name, Content: found.Data[name], Folder: spec.FolderOpenShift})
		}
	}
	return out, nil
}

// Keys of the ConfigMap that spec.config.imageRegistryRef names.
const (
	keyRegistries = "registries.conf"
	keyBundle     = "ca-bundle.crt"
)

// registry are the mirrors and certificates: those of the ConfigMap that is referred to, and those that
// stand in the control plane.
func (s *Source) registry(ctx context.Context, c *Cluster, to *spec.Registry) error {
	config := &c.ControlPlane.Spec.Config
	bundle := config.AdditionalTrustBundle
	for _, m := range config.Mirrors {
		to.Mirrors = append(to.Mirrors, spec.Mirror{Source: m.Source, Mirrors: m.Mirrors, Insecure: m.Insecure})
	}
	if ref := config.ImageRegistryRef; ref != nil && ref.Name != "" {
		found, err := s.configMap(ctx, c.Namespace, ref.Name, "spec.config.imageRegistryRef")
		if err != nil {
			return err
		}
		mirrors, err := mirrorsOf(found.Data[keyRegistries])
		if err != nil {
			return fmt.Errorf("spec.config.imageRegistryRef: %s of ConfigMap %s: %w", keyRegistries, ref.Name, err)
		}
		to.Mirrors = append(mirrors, to.Mirrors...)
		if own := found.Data[keyBundle]; own != "" {
			bundle = joinLines(bundle, own)
		}
	}
	if bundle != "" {
		to.TrustBundle = &spec.PublicSource{Inline: bundle}
	}
	return nil
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	if a[len(a)-1] != '\n' {
		a += "\n"
	}
	return a + b
}

// keyCertificate is the key of the Secret that spec.config.ignitionEndpoint.caCertificateRef names.
const keyCertificate = "tls.crt"

func (s *Source) ignitionEndpoint(ctx context.Context, c *Cluster, to *spec.ClusterSpec) error {
	endpoint := c.ControlPlane.Spec.Config.IgnitionEndpoint
	if endpoint == nil {
		return nil
	}
	to.IgnitionEndpoint = &spec.IgnitionEndpoint{URL: endpoint.URL}
	if ref := endpoint.CACertificateRef; ref != nil && ref.Name != "" {
		text, err := s.secret(ctx, c.Namespace, ref.Name, keyCertificate)
		if err != nil {
			return fmt.Errorf("spec.config.ignitionEndpoint.caCertificateRef: %w", err)
		}
		to.IgnitionEndpoint.CA = &spec.PublicSource{Inline: text}
	}
	return nil
}
