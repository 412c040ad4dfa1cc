package convert

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/agent"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/clusterinstance"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/target"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/ztp"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Loss is one thing that a format has no place for, or that a reader or a writer of
// it leaves behind: its Path, its Value (a secret as "[redacted]"), and Why.
type Loss = loss.Loss

// File is a file of a format: its Path below the folder, with slashes, its Content,
// and whether it is Secret, for its owner's eyes only.
type File = target.File

// WriteOptions say how a format is written.
type WriteOptions struct {
	// Secrets says that secrets are written; otherwise each is listed as a Loss.
	Secrets bool
}

// Write makes the files that describe a cluster in another format, and what of
// the cluster they have no place for: [FormatAgent] and [FormatZTP] for the
// agent-based installer, and [FormatClusterInstance], which is one file. The
// error is about a document in the cluster that cannot be read, about manifests
// that the format does not take, or about a format that is not written.
func Write(c *spec.Cluster, format Format, o WriteOptions) ([]File, []Loss, error) {
	switch format {
	case FormatAgent:
		return agent.Write(c, o.Secrets)
	case FormatZTP:
		return ztp.Write(c, o.Secrets)
	case FormatClusterInstance:
		return clusterinstance.Write(c, o.Secrets)
	}
	return nil, nil, fmt.Errorf("the format %s is not written", format)
}
