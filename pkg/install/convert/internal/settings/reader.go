// Package settings carries over the settings that several formats write alike:
// hosts and their networks, BMCs, pools of machines, proxies, mirrors,
// certificates, extra manifests.
package settings

import (
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Reader carries settings over.
type Reader struct {
	*source.Account
	AgentBased  bool       // whether the input is the agent-based installer's, which has no namespaces
	BareRedfish bool       // whether a BMC's address without a scheme means Redfish
	ArchByRole  []RoleArch // architectures of machines, by their role
}

// RoleArch is the architecture of all machines of a role.
type RoleArch struct {
	Role spec.Role
	Arch spec.Arch
}
