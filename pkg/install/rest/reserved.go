package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// reservations are hosts of pools that are reserved for the cluster.
type reservations struct {
	texts []string // as the query names them: the name or id of an InfraEnv, and the id of a host
	found bool     // envs are those of the texts, as far as the service has them
	envs  []model.InfraEnv
}

// of is the text that names a host, "" for one that is not reserved.
func (r *reservations) of(h *model.Host) string {
	for _, text := range r.texts {
		pool, id, _ := strings.Cut(text, "/")
		if strings.EqualFold(id, h.ID) && slices.ContainsFunc(r.envs,
			func(e model.InfraEnv) bool { return e.ID == h.InfraEnvID && isCalled(&e, pool) }) {
			return text
		}
	}
	return ""
}

func isCalled(env *model.InfraEnv, text string) bool { return env.Name == text || env.ID == text }

// reserve takes which hosts are reserved now. Those that are not any more are forgotten, unless they
// are the cluster's.
func (w *watch) reserve(texts []string) {
	if slices.Equal(texts, w.reserved.texts) {
		return
	}
	w.reserved = reservations{texts: slices.Clone(texts)}
	for id, h := range w.hosts {
		if h.ClusterID == "" {
			delete(w.hosts, id)
			delete(w.inventory, id)
		}
	}
	w.request(overdue, infraEnvList, hostList)
}

// findReserved finds the InfraEnvs of the hosts that are reserved.
func (p *Plane) findReserved(ctx context.Context, w *watch) error {
	if w.reserved.found || len(w.reserved.texts) == 0 {
		return nil
	}
	all, err := p.listInfraEnvs(ctx, "")
	if err != nil {
		return err
	}
	w.reserved.envs = slices.DeleteFunc(all, func(e model.InfraEnv) bool {
		return !slices.ContainsFunc(w.reserved.texts, func(text string) bool {
			pool, _, _ := strings.Cut(text, "/")
			return isCalled(&e, pool)
		})
	})
	w.reserved.found = true
	return nil
}

// pools are the InfraEnvs from which hosts may come that are not the cluster's yet: those that are
// bound to no cluster, and those of hosts that are reserved and not bound.
func (w *watch) pools() []model.InfraEnv {
	pools := slices.DeleteFunc(slices.Clone(w.infraEnvs), func(e model.InfraEnv) bool { return e.ClusterID != "" })
	for _, env := range w.reserved.envs {
		open := slices.ContainsFunc(w.reserved.texts, func(text string) bool {
			pool, id, _ := strings.Cut(text, "/")
			return isCalled(&env, pool) && w.hosts[strings.ToLower(id)].ClusterID != w.id
		})
		known := slices.ContainsFunc(w.infraEnvs, func(e model.InfraEnv) bool { return e.ID == env.ID })
		if open && !known {
			pools = append(pools, env)
		}
	}
	return pools
}

// concerned are those of an InfraEnv's hosts that may become the cluster's: all of a pool that the
// file uses, and those of another that are reserved.
func (w *watch) concerned(infraEnvID string, hosts []model.Host) []model.Host {
	if slices.ContainsFunc(w.infraEnvs, func(e model.InfraEnv) bool { return e.ID == infraEnvID }) {
		return hosts
	}
	return slices.DeleteFunc(hosts, func(h model.Host) bool { return w.reserved.of(&h) == "" })
}
