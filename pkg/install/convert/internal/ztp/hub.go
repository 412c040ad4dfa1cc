// Package ztp reads and writes the objects of a hub: as they are applied to one, or
// as the agent-based installer has them in a folder.
package ztp

import (
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
)

// Hub carries a hub's objects over. Those of SiteConfig and of Cluster API stand
// beside them and refer to them.
type Hub struct {
	*settings.Reader
	Envs         []BootEnv      // what the InfraEnvs say of their machines
	hubNamespace string         // of the ClusterDeployment
	laterFencing []*source.Node // fencing credentials, for hosts that are read later
}
