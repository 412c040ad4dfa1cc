// Package settings carries over the settings that several formats write alike:
// hosts and their networks, BMCs, pools of machines, proxies, mirrors,
// certificates, extra manifests.
package settings

import (
	"fmt"
	"slices"

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

// Pool is a pool of machines of install-config.yaml.
type Pool struct {
	N    *source.Node
	Role spec.Role
	Name string
	To   **int
	Must bool // whether a pool that is not there stands for three machines
}

// GiveArches gives hosts the architecture of their role.
func (r *Reader) GiveArches() {
	for _, by := range r.ArchByRole {
		for i := range r.Cluster.Spec.Hosts {
			if h := r.Host(i); h.Role == by.Role && h.Arch == "" {
				h.Arch = by.Arch
			}
		}
	}
}

// Hyperthreading carries over which roles use it. Formats say it of each pool,
// and a pool that does not say uses it.
func (r *Reader) Hyperthreading(pools []Pool) {
	const field = "spec.hyperthreading"
	said, off := false, false
	var on []string
	for _, p := range pools {
		n := p.N.Get("hyperthreading")
		word := r.Text(n)
		switch word {
		case "Enabled", "":
			on = append(on, string(p.Role))
		case "Disabled":
			off = true
		default:
			r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write Enabled or Disabled")
		}
		said = said || n != nil
		r.From(field, n)
	}
	switch {
	case !said:
		return
	case !off:
		on = []string{spec.AllRoles}
	case r.Cluster.Spec.Topology.Arbiters == nil:
		on = slices.DeleteFunc(on, func(role string) bool { return role == string(spec.Arbiter) })
	}
	if len(on) == 0 {
		on = []string{spec.NoRoles}
	}
	r.Cluster.Spec.Hyperthreading = on
}
