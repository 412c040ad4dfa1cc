package manifest

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Write makes the files that describe a cluster in another format, and what of
// the cluster they have no place for: [FormatAgent] and [FormatZTP] for the
// agent-based installer, and [FormatClusterInstance], which is one file. The
// error is about a document in the cluster that cannot be read, about manifests
// that the format does not take, or about a format that is not written.
func Write(c *spec.Cluster, format Format, o WriteOptions) ([]File, []Loss, error) {
	switch format {
	case FormatAgent:
		return writeAgent(c, o.Secrets)
	case FormatZTP:
		return writeZTP(c, o.Secrets)
	case FormatClusterInstance:
		return writeClusterInstance(c, o.Secrets)
	}
	return nil, nil, fmt.Errorf("the format %s is not written", format)
}
