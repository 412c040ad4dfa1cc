package machines

import (
	"slices"
	"strings"
)

// Pools are the InfraEnvs of a service whose hosts AgentMachines may take, by namespace. They are known by their ids: the
// names of InfraEnvs are not unique, and every user who may write configs makes InfraEnvs of any name.
type Pools map[string][]string

// Has reports whether an InfraEnv is opened to a namespace.
func (p Pools) Has(namespace, infraEnv string) bool {
	return slices.ContainsFunc(p[namespace], func(id string) bool { return strings.EqualFold(id, infraEnv) })
}
