package agent

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// defaultReplicas is how many machines the installer takes for a pool that does
// not say.
const defaultReplicas = 3

// pools carries the pools of machines over: how many of which role, their
// architecture, and whether they use hyperthreading.
func (r *reader) pools(n *source.Node) {
	t := &r.Cluster.Spec.Topology
	compute := r.ListOf(n.Get("compute"))
	pools := []settings.Pool{
		{N: r.MapOf(n.Get("controlPlane")), Role: spec.ControlPlane, Name: "master", To: &t.ControlPlane, Must: true},
		{Role: spec.Worker, Name: "worker", To: &t.Workers, Must: true},
		{N: r.MapOf(n.Get("arbiter")), Role: spec.Arbiter, Name: "arbiter", To: &t.Arbiters},
	}
	for i, item := range compute {
		if i == 0 {
			pools[1].N = r.MapOf(item)
			continue
		}
		r.Lose(item, "cluster.yaml has one kind of workers")
	}
	var arches []string
	for _, p := range pools {
		r.pool(p)
		if arch := p.N.Get("architecture"); arch != nil && !slices.Contains(arches, string(settings.ArchOf(arch.Peek()))) {
			arches = append(arches, string(settings.ArchOf(arch.Peek())))
		}
	}
	r.poolArches(pools, len(arches) > 1)
	r.Hyperthreading(pools)
}

func (r *reader) pool(p settings.Pool) {
	field := map[spec.Role]string{spec.ControlPlane: "spec.topology.controlPlane", spec.Worker: "spec.topology.workers", spec.Arbiter: "spec.topology.arbiters"}[p.Role]
	replicas := defaultReplicas
	switch given := r.Number(p.N.Get("replicas")); {
	case given != nil:
		replicas = *given
		r.From(field, p.N.Get("replicas"))
	case p.N == nil && !p.Must:
		return
	case p.Role == spec.Worker && p.N == nil:
		replicas = defaultReplicas
	}
	*p.To = &replicas
	r.From(field, p.N)
	if p.N == nil {
		return
	}
	r.MeansIf(p.N.Get("name"), "is the name that this pool always has", p.Name)
	r.Rest(p.N.Get("name"), "this pool is always called "+p.Name)
	r.MeansEmpty(p.N.Get("platform"), "is empty")
	r.Rest(p.N.Get("platform"), "the agent-based installer ignores it, and so does oaictl")
}

// poolArches carries the architecture of the pools over: that of the cluster, or
// multi, and each host's by its role.
func (r *reader) poolArches(pools []settings.Pool, several bool) {
	const field = "spec.openshift.arch"
	to := &r.Cluster.Spec.OpenShift.Arch
	for _, p := range pools {
		n := p.N.Get("architecture")
		if n == nil {
			continue
		}
		r.Text(n)
		r.From(field, n)
		if several {
			*to = spec.Multi
			r.ArchByRole = append(r.ArchByRole, settings.RoleArch{Role: p.Role, Arch: settings.ArchOf(n.Text)})
		} else {
			*to = settings.ArchOf(n.Text)
		}
	}
}
