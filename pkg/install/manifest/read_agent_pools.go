package manifest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

func joinPath(folder, name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }

// equalJSON compares values as encoding/json would decode them.
func equalJSON(a, b any) bool { return reflect.DeepEqual(a, b) }

// defaultReplicas is how many machines the installer takes for a pool that does
// not say.
const defaultReplicas = 3

// pool is a pool of machines of install-config.yaml.
type pool struct {
	n    *node
	role spec.Role
	name string
	to   **int
	must bool // whether a pool that is not there stands for three machines
}

// pools carries the pools of machines over: how many of which role, their
// architecture, and whether they use hyperthreading.
func (r *reader) pools(n *node) {
	t := &r.cluster.Spec.Topology
	compute := r.listOf(n.get("compute"))
	pools := []pool{
		{r.mapOf(n.get("controlPlane")), spec.ControlPlane, "master", &t.ControlPlane, true},
		{nil, spec.Worker, "worker", &t.Workers, true},
		{r.mapOf(n.get("arbiter")), spec.Arbiter, "arbiter", &t.Arbiters, false},
	}
	for i, item := range compute {
		if i == 0 {
			pools[1].n = r.mapOf(item)
			continue
		}
		r.lose(item, "cluster.yaml has one kind of workers")
	}
	var arches []string
	for _, p := range pools {
		r.pool(p)
		if arch := p.n.get("architecture"); arch != nil && !slices.Contains(arches, string(archOf(arch.peek()))) {
			arches = append(arches, string(archOf(arch.peek())))
		}
	}
	r.poolArches(pools, len(arches) > 1)
	r.hyperthreading(pools)
}

func (r *reader) pool(p pool) {
	field := map[spec.Role]string{spec.ControlPlane: "spec.topology.controlPlane", spec.Worker: "spec.topology.workers", spec.Arbiter: "spec.topology.arbiters"}[p.role]
	replicas := defaultReplicas
	switch given := r.number(p.n.get("replicas")); {
	case given != nil:
		replicas = *given
		r.from(field, p.n.get("replicas"))
	case p.n == nil && !p.must:
		return
	case p.role == spec.Worker && p.n == nil:
		replicas = defaultReplicas
	}
	*p.to = &replicas
	r.from(field, p.n)
	if p.n == nil {
		return
	}
	r.meansIf(p.n.get("name"), "is the name that this pool always has", p.name)
	r.rest(p.n.get("name"), "this pool is always called "+p.name)
	r.meansEmpty(p.n.get("platform"), "is empty")
	r.rest(p.n.get("platform"), "the agent-based installer ignores it, and so does oaictl")
}

// poolArches carries the architecture of the pools over: that of the cluster, or
// multi, and each host's by its role.
func (r *reader) poolArches(pools []pool, several bool) {
	const field = "spec.openshift.arch"
	to := &r.cluster.Spec.OpenShift.Arch
	for _, p := range pools {
		n := p.n.get("architecture")
		if n == nil {
			continue
		}
		r.text(n)
		r.from(field, n)
		if several {
			*to = spec.Multi
			r.archByRole = append(r.archByRole, roleArch{p.role, archOf(n.text)})
		} else {
			*to = archOf(n.text)
		}
	}
}

// roleArch is the architecture of all machines of a role.
type roleArch struct {
	role spec.Role
	arch spec.Arch
}

// giveArches gives hosts the architecture of their role.
func (r *reader) giveArches() {
	for _, by := range r.archByRole {
		for i := range r.cluster.Spec.Hosts {
			if h := r.host(i); h.Role == by.role && h.Arch == "" {
				h.Arch = by.arch
			}
		}
	}
}

// hyperthreading carries over which roles use it. Formats say it of each pool,
// and a pool that does not say uses it.
func (r *reader) hyperthreading(pools []pool) {
	const field = "spec.hyperthreading"
	said, off := false, false
	var on []string
	for _, p := range pools {
		n := p.n.get("hyperthreading")
		word := r.text(n)
		switch word {
		case "Enabled", "":
			on = append(on, string(p.role))
		case "Disabled":
			off = true
		default:
			r.wrong(n, fmt.Sprintf("%q is not known here", word), "write Enabled or Disabled")
		}
		said = said || n != nil
		r.from(field, n)
	}
	switch {
	case !said:
		return
	case !off:
		on = []string{spec.AllRoles}
	case r.cluster.Spec.Topology.Arbiters == nil:
		on = slices.DeleteFunc(on, func(role string) bool { return role == string(spec.Arbiter) })
	}
	if len(on) == 0 {
		on = []string{spec.NoRoles}
	}
	r.cluster.Spec.Hyperthreading = on
}
