package spec

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// lastContentSourcesMinor is the last version whose install-config has
// imageContentSources; then came imageDigestSources.
const lastContentSourcesMinor = 13

// InstallConfigOverrides is what the cluster wants of install-config.yaml that
// the service has no field for, as JSON: mirrors,
// FIPS, and overrides.installConfig on top of these. It is empty where there is
// nothing.
func (c *Cluster) InstallConfigOverrides() (string, error) {
	own := map[string]any{}
	if mirrors := c.mirrorSources(); len(mirrors) > 0 {
		key := "imageDigestSources"
		if c.olderThan(lastContentSourcesMinor + 1) {
			key = "imageContentSources"
		}
		own[key] = mirrors
	}
	if c.Spec.FIPS != nil {
		own["fips"] = *c.Spec.FIPS
	}
	all := values.Merge(own, c.Spec.Overrides.InstallConfig)
	if len(all) == 0 {
		return "", nil
	}
	text, err := values.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("the install-config overrides of cluster %s: %w", c.Metadata.Name, err)
	}
	return text, nil
}

func (c *Cluster) mirrorSources() []any {
	var list []any
	for _, mirror := range c.Spec.Registry.Mirrors {
		targets := make([]any, len(mirror.Mirrors))
		for i, target := range mirror.Mirrors {
			targets[i] = target
		}
		list = append(list, map[string]any{"source": mirror.Source, "mirrors": targets})
	}
	return list
}
