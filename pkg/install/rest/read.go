package rest

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// find says which cluster the query means: by id, else the oldest of the name
// and base domain that oaictl made, or the one to be adopted.
func (p *Plane) find(ctx context.Context, w *watch, query model.Query) error {
	if query.ID != "" && w.id == "" {
		w.adopt(query.ID)
	}
	now := w.now()
	switch {
	case query.Name == "":
		return nil
	case w.urgencyOf(clusterList) == overdue:
	case w.id == "" && (w.polled || now.Sub(w.listed) >= hotProbe) && w.may(1, now):
	default:
		return nil
	}
	w.takeUrgency(clusterList)
	found, err := p.listClusters(ctx, "find cluster", query.Name)
	if err != nil {
		w.request(overdue, clusterList)
		return err
	}
	w.listed = w.now()
	return p.choose(ctx, w, query, found)
}

func (p *Plane) choose(ctx context.Context, w *watch, query model.Query, found []objects.Cluster) error {
	var same []model.ClusterRef
	w.names = make(map[string]string, len(found))
	for i := range found {
		ref := objects.RefOf(&found[i], query.Run)
		w.names[ref.ID] = ref.Name
		if ref.Name == query.Name && (query.BaseDomain == "" || ref.BaseDomain == query.BaseDomain) {
			same = append(same, ref)
		}
	}
	slices.SortFunc(same, func(a, b model.ClusterRef) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	meant := slices.IndexFunc(same, func(c model.ClusterRef) bool { return c.Owned && !c.IsKept() })
	if query.Exact {
		meant = proven(query, same)
	}
	if meant < 0 && query.Imported != "" {
		var err error
		if meant, err = p.unmarked(ctx, query, same, found); err != nil {
			return err
		}
	}
	if query.Adopt != "" && !query.Exact {
		meant = slices.IndexFunc(same, func(c model.ClusterRef) bool { return c.ID == query.Adopt })
	}
	w.others = nil
	w.unproven = query.Exact && meant < 0 && slices.ContainsFunc(found, func(c objects.Cluster) bool { return c.ID.String() == query.Adopt })
	for i := range same {
		if i == meant || query.Exact {
			continue
		}
		other := same[i]
		if other.Owned && other.Run != "" && other.Run == query.Run && other.Hosts == 0 {
			empty, err := p.isEmpty(ctx, other.ID)
			if err != nil && !transport.Gone(err) {
				return err
			}
			other.Empty = empty
		}
		w.others = append(w.others, other)
	}
	if meant < 0 {
		if w.id != "" {
			w.forget()
			w.takeUrgency(clusterList)
		}
		return nil
	}
	w.adopt(same[meant].ID)
	w.unmarked = ""
	if query.Imported != "" && query.Adopt == "" && !same[meant].Owned {
		w.unmarked = w.id
	}
	return nil
}

// proven is the index of the record that carries the mark of the owner who asks, -1 for none. Of several it is the one
// whose id the query names, else the oldest.
func proven(query model.Query, same []model.ClusterRef) int {
	noted := slices.IndexFunc(same, func(c model.ClusterRef) bool { return query.Proves(c) && c.ID == query.Adopt })
	if noted >= 0 {
		return noted
	}
	return slices.IndexFunc(same, query.Proves)
}

// unmarked is the index of the record of an imported cluster that has no mark and is empty, -1 for none: an import
// takes no mark with it, so that a run that was interrupted in between leaves such a record. With an exact query it has
// to be one that this process imported for the same mark: what the record says proves nothing.
func (p *Plane) unmarked(ctx context.Context, query model.Query, same []model.ClusterRef, found []objects.Cluster) (int, error) {
	for i, ref := range same {
		imported := slices.ContainsFunc(found, func(c objects.Cluster) bool {
			return c.ID.String() == ref.ID && c.Imported != nil && *c.Imported && c.Tags == "" && c.IsInstalled(query.Imported)
		})
		if !imported || query.Exact && !p.importedFor(ref.ID, query.Run) {
			continue
		}
		empty, err := p.isEmpty(ctx, ref.ID)
		if err != nil && !transport.Gone(err) {
			return -1, err
		}
		if empty {
			return i, nil
		}
	}
	return -1, nil
}

// importedFor reports whether this process imported a cluster for the mark of an owner.
func (p *Plane) importedFor(id, run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	mark, is := p.imported[id]
	return is && mark == run
}

func (p *Plane) isEmpty(ctx context.Context, id string) (bool, error) {
	envs, err := p.listInfraEnvs(ctx, id)
	if err != nil || len(envs) > 0 {
		return false, err
	}
	hosts, err := p.listHosts(ctx, id, false)
	return err == nil && len(hosts) == 0, err
}

func (p *Plane) listClusters(ctx context.Context, op, on string) ([]objects.Cluster, error) {
	return transport.ListOf(ctx, p.conn, transport.Request{
		Op: op, On: on, Method: http.MethodGet, Path: "/v2/clusters", Query: map[string][]string{"with_hosts": {"false"}},
	}, wholeCluster)
}

// wholeCluster reports whether a record in a list has what every cluster has.
func wholeCluster(wire *objects.Cluster) (objects.Cluster, bool) {
	return *wire, wire.ID != nil && wire.Status != nil
}

func (p *Plane) readCluster(ctx context.Context, w *watch) error {
	wire, err := p.getCluster(ctx, w.id)
	if err != nil {
		return err
	}
	cluster := p.tables.ClusterOf(wire, w.run)
	before := w.cluster
	w.clusterChanged(before, cluster)
	if before != nil && before.Status != cluster.Status {
		w.changed = w.now()
	}
	if back := before != nil && (before.Status != cluster.Status || !before.InstallStarted.Equal(cluster.InstallStarted)); back &&
		attempted(cluster) {
		// Whether it may be installed again depends on the hosts as they are now,
		// and on why it was not installed before.
		w.log.due = w.log.begun
		w.request(overdue, hostList)
	}
	cluster.Unmarked = w.unmarked == w.id && !cluster.Owned
	w.cluster = cluster
	w.lastRead.cluster = w.now()
	return nil
}

func (p *Plane) getCluster(ctx context.Context, id string) (*objects.Cluster, error) {
	var wire objects.Cluster
	err := p.conn.Do(ctx, transport.Request{
		Op: "read cluster", On: id, Method: http.MethodGet, Path: "/v2/clusters/{cluster_id}",
		In: map[string]string{"cluster_id": id}, Query: map[string][]string{"exclude-hosts": {"true"}},
	}, &wire)
	if err != nil {
		return nil, err
	}
	if wire.ID == nil || wire.Status == nil {
		return nil, p.conn.Incomplete("read cluster", id)
	}
	return &wire, nil
}

// readHosts reads the hosts of the cluster and of its pools: one by itself if
// only that one changed among many, otherwise all, with their inventories only
// where most of them are not known.
func (p *Plane) readHosts(ctx context.Context, w *watch) error {
	const many = 20
	changed := w.takeChanged()
	if len(changed) == 1 && len(w.hosts) > many && w.now().Sub(w.lastRead.hosts) < runningRefresh {
		if old, known := w.hosts[changed[0]]; known {
			return p.readHost(ctx, w, old.InfraEnvID, old.ID)
		}
	}
	all := len(w.hosts) == 0 || 2*len(w.inventory) > len(w.hosts)
	read, err := p.listHosts(ctx, w.id, all)
	if err != nil {
		return err
	}
	w.keepHosts(read, func(h *model.Host) bool { return h.ClusterID == w.id })
	for _, env := range w.pools() {
		pool, err := p.listPool(ctx, env.ID)
		if err != nil {
			return err
		}
		pool = w.concerned(env.ID, pool)
		w.keepElsewhere(env.ID, pool)
		pool = slices.DeleteFunc(pool, func(h model.Host) bool { return h.ClusterID != "" })
		w.keepHosts(pool, func(h *model.Host) bool { return h.InfraEnvID == env.ID && h.ClusterID == "" })
	}
	w.lastRead.hosts = w.now()
	if err := p.readInventories(ctx, w); err != nil {
		return err
	}
	return p.readStages(ctx, w)
}

// readStages reads the stages of hosts that are being installed, once the service
// knows them for each: the list of a cluster's hosts leaves them out. That of an
// InfraEnv has them, though not those of a single node.
func (p *Plane) readStages(ctx context.Context, w *watch) error {
	const few = 5
	hosts, envs := w.withoutStages()
	if len(hosts) <= few {
		for _, h := range hosts {
			if err := p.readHost(ctx, w, h.InfraEnvID, h.ID); err != nil && !transport.Gone(err) {
				return err
			}
			w.staged[h.ID] = true
		}
		return nil
	}
	for _, env := range envs {
		read, err := p.listPool(ctx, env)
		if err != nil && !transport.Gone(err) {
			return err
		}
		for i := range read {
			if h, known := w.hosts[read[i].ID]; known {
				h.Progress.Stages = read[i].Progress.Stages
				w.hosts[h.ID] = h
			}
		}
	}
	for _, h := range hosts {
		w.staged[h.ID] = true
	}
	return nil
}

// withoutStages are hosts that are being installed without known stages, and their InfraEnvs.
func (w *watch) withoutStages() (hosts []model.Host, envs []string) {
	for _, h := range w.hosts {
		switch h.State {
		case model.HostPreparing, model.HostInstalling, model.HostNeedsUser:
		default:
			continue
		}
		if len(h.Progress.Stages) > 0 || w.staged[h.ID] || h.ClusterID != w.id {
			continue
		}
		hosts = append(hosts, h)
		if !slices.Contains(envs, h.InfraEnvID) {
			envs = append(envs, h.InfraEnvID)
		}
	}
	slices.SortFunc(hosts, func(a, b model.Host) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(envs)
	return hosts, envs
}

func (w *watch) takeChanged() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Collect(maps.Keys(w.changes))
	w.changes = nil
	return out
}

// readInventories reads missing or changed inventories: a few one by one, many at once.
func (p *Plane) readInventories(ctx context.Context, w *watch) error {
	const few = 2
	var ids []string
	for id := range w.inventory {
		host := w.hosts[id]
		if settled(host.State) || host.State == model.HostUnbound {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) <= few {
		for _, id := range ids {
			if err := p.readHost(ctx, w, w.hosts[id].InfraEnvID, id); err != nil && !transport.Gone(err) {
				return err
			}
			delete(w.inventory, id)
		}
		return nil
	}
	read, err := p.listHosts(ctx, w.id, true)
	if err != nil {
		return err
	}
	w.keepHosts(read, func(h *model.Host) bool { return h.ClusterID == w.id })
	for _, id := range ids {
		delete(w.inventory, id) // a host that still has none is read again at the next change
	}
	return nil
}

func (p *Plane) readHost(ctx context.Context, w *watch, infraEnvID, id string) error {
	host, err := p.getHost(ctx, infraEnvID, id)
	if err != nil {
		return err
	}
	w.keepHost(host)
	return nil
}

func (p *Plane) getHost(ctx context.Context, infraEnvID, id string) (model.Host, error) {
	var wire objects.Host
	err := p.conn.Do(ctx, transport.Request{
		Op: "read host", On: id, Method: http.MethodGet, Path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}",
		In: map[string]string{"infra_env_id": infraEnvID, "host_id": id},
	}, &wire)
	if err != nil {
		return model.Host{}, err
	}
	if wire.ID == nil {
		return model.Host{}, p.conn.Incomplete("read host", id)
	}
	return p.tables.HostOf(&wire), nil
}

func (p *Plane) listHosts(ctx context.Context, clusterID string, inventory bool) ([]model.Host, error) {
	return p.hostsOf(ctx, transport.Request{
		Op: "list hosts of cluster", On: clusterID, Method: http.MethodGet, Path: "/v2/clusters/{cluster_id}/hosts",
		In:    map[string]string{"cluster_id": clusterID},
		Query: map[string][]string{"with-inventory": {strconv.FormatBool(inventory)}, "with-connectivity": {"false"}},
	})
}

func (p *Plane) listPool(ctx context.Context, infraEnvID string) ([]model.Host, error) {
	return p.hostsOf(ctx, transport.Request{
		Op: "list hosts of InfraEnv", On: infraEnvID, Method: http.MethodGet, Path: "/v2/infra-envs/{infra_env_id}/hosts",
		In: map[string]string{"infra_env_id": infraEnvID},
	})
}

func (p *Plane) hostsOf(ctx context.Context, r transport.Request) ([]model.Host, error) {
	return transport.ListOf(ctx, p.conn, r, func(wire *objects.Host) (model.Host, bool) {
		return p.tables.HostOf(wire), wire.ID != nil
	})
}
