package rest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// observationPart is a part of an observation that is read by itself.
type observationPart int

const (
	clusterList observationPart = iota // by which a cluster is found
	clusterRecord
	hostList
	infraEnvList
	manifestList
	ignoredChecks
	allParts
)

// urgency is how urgently a part is to be read.
type urgency int

const (
	fresh   urgency = iota
	wanted          // something happened to it: read it when the budget allows
	overdue         // it was written, never read, or asked for: read it now
)

// watch is what is known of one cluster. Observations of it come one after
// the other; writes only say what they made stale.
type watch struct {
	slot   chan struct{} // the holder observes
	budget *transport.Budget
	time   *transport.ServiceClock // of the answers

	// The fields below belong to the holder of the slot.
	id          string
	run         string   // the mark of the run that asks
	exact       bool     // the cluster is known by that alone
	unproven    bool     // see model.Observed
	unmarked    string   // id of a record of an imported cluster that is not marked as ours yet
	ref         string   // name or id of a further InfraEnv, "" for none
	alone       []string // names of InfraEnvs that serve one host each
	reserved    reservations
	overridden  []model.Setting // of InfraEnvs, that the query's overrides stand in for
	asksIgnored bool            // the query asks which validations may fail
	cluster     *model.Cluster
	others      []model.ClusterRef
	infraEnvs   []model.InfraEnv
	orphans     []model.InfraEnv
	hosts       map[string]model.Host
	elsewhere   map[string][]model.Host // hosts of pools that other clusters have, by InfraEnv
	names       map[string]string       // of the service's clusters, by id
	inventory   map[string]bool         // hosts whose inventory has to be read again
	staged      map[string]bool         // hosts whose stages were asked for
	polled      bool                    // the caller has set the interval of looks
	soon        bool                    // something is about to change
	manifests   map[string]string
	ignored     model.Value // which validations may fail, "" where that is not known
	log         eventLog
	images      map[string]imageDate // when images became what they are, by InfraEnv
	at          time.Time            // of the last observation, by the answers' clock
	records     recordClock
	listed      time.Time // when clusters were last listed
	lastRead    struct{ cluster, hosts time.Time }
	changed     time.Time // when something last happened

	mu        sync.Mutex
	due       [allParts]urgency
	changes   map[string]bool     // ids of the hosts that events name
	uploads   map[string]string   // manifests that this process uploaded, and their hashes
	bound     string              // id of the observed cluster, for actions
	keptDisks map[string][]string // disks that the service does not format, by host
}

// forActions is what actions need of the observation.
func (w *watch) forActions() (id string, kept map[string][]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bound, w.keptDisks
}

func (p *Plane) newWatch() *watch {
	w := &watch{
		slot: make(chan struct{}, 1), time: transport.NewServiceClock(p.conn.Clock()),
		hosts: map[string]model.Host{}, inventory: map[string]bool{}, staged: map[string]bool{}, uploads: map[string]string{},
	}
	w.budget = transport.NewBudget(p.perMinute, p.burst, p.conn.Clock().Now())
	w.due[clusterList] = overdue
	return w
}

// watchKey is what a query finds its watch by: the name does not change over a
// run, the id becomes known in its course. Owners who are known by their marks
// share no watch: each sees its own cluster of the name.
func watchKey(query model.Query) string {
	switch {
	case query.Name == "":
		return query.ID
	case query.Exact:
		return query.Name + "." + query.BaseDomain + " " + query.Run
	}
	return query.Name + "." + query.BaseDomain
}

const forgetAfter = time.Hour

// watchOf is the watch for a query, and drops those that are no longer asked for.
func (p *Plane) watchOf(query model.Query) *watch {
	key := watchKey(query)
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.watches[key]
	if w == nil {
		for other, old := range p.watches {
			if old.idle(p.conn.Clock().Now()) {
				delete(p.watches, other)
			}
		}
		w = p.newWatch()
		p.watches[key] = w
	}
	return w
}

func (w *watch) idle(now time.Time) bool {
	select {
	case w.slot <- struct{}{}:
		defer func() { <-w.slot }()
	default:
		return false
	}
	got := w.time.LastAnswer()
	return !got.IsZero() && now.Sub(got) > forgetAfter
}

// stale has the watches of a cluster, by query or id, read what a write touched.
func (p *Plane) stale(query model.Query, id string, parts ...observationPart) {
	p.mu.Lock()
	var found []*watch
	for _, key := range []string{watchKey(query), id} {
		if w := p.watches[key]; w != nil && !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	p.mu.Unlock()
	for _, w := range found {
		w.request(overdue, parts...)
	}
}

// hold waits for the watch's slot.
func (w *watch) hold(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	select {
	case w.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *watch) release() { <-w.slot }

// request makes parts at least so urgent.
func (w *watch) request(at urgency, parts ...observationPart) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, part := range parts {
		w.due[part] = max(w.due[part], at)
	}
}

// takeUrgency is how urgent a part is, which counts as read from now on.
func (w *watch) takeUrgency(part observationPart) urgency {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.due[part]
	w.due[part] = fresh
	return is
}

func (w *watch) urgencyOf(part observationPart) urgency {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.due[part]
}

// restart has just these parts read.
func (w *watch) restart(parts ...observationPart) {
	w.mu.Lock()
	w.due, w.changes = [allParts]urgency{}, nil
	w.mu.Unlock()
	w.request(overdue, parts...)
}

func (w *watch) forget() {
	w.id, w.cluster, w.infraEnvs, w.orphans, w.manifests, w.ignored = "", nil, nil, nil, nil, ""
	w.hosts, w.inventory, w.staged = map[string]model.Host{}, map[string]bool{}, map[string]bool{}
	w.log, w.images, w.elsewhere = eventLog{}, nil, nil
	w.restart(clusterList)
}

func (w *watch) adopt(id string) {
	if w.id == id {
		return
	}
	w.forget()
	w.id = id
	w.restart(clusterRecord, hostList, infraEnvList, manifestList, ignoredChecks)
}

// now is by the clock of the service's answers, which measures how much time passes and
// does not go back. What is compared with the dates of records is [model.Observed.At].
func (w *watch) now() time.Time {
	now := w.time.Now()
	if now.Before(w.at) {
		return w.at
	}
	return now
}

// observation is what is known, for the caller to keep.
func (w *watch) observation() *model.Observed {
	w.at = w.now()
	out := &model.Observed{At: w.at.Add(w.records.ahead), Skew: w.records.ahead, Others: slices.Clone(w.others)}
	if w.cluster == nil {
		out.Unproven = w.unproven
		return out
	}
	out.InfraEnvs = w.datedInfraEnvs()
	for i := range out.InfraEnvs {
		out.InfraEnvs[i].Overridden = w.overridden
	}
	out.Hosts = slices.SortedFunc(maps.Values(w.hosts), func(a, b model.Host) int { return strings.Compare(a.ID, b.ID) })
	for i := range out.Hosts {
		out.Hosts[i].Reserved = w.reserved.of(&out.Hosts[i])
	}
	out.Orphans = slices.Clone(w.orphans)
	out.Elsewhere = w.boundElsewhere()
	cluster := *w.cluster
	cluster.Hosts = len(out.Hosts)
	cluster.State = planeshared.Refined(cluster.State, cluster.Validations, out.Hosts)
	cluster.Manifests = maps.Clone(w.manifests)
	if w.ignored != "" {
		cluster.Settings = maps.Clone(cluster.Settings)
		cluster.Settings[model.SettingIgnoredValidations] = w.ignored
	}
	w.recordPreparations(&cluster)
	out.Cluster = &cluster
	return out
}

// publishForActions lets actions see what they need of the observation.
func (w *watch) publishForActions() {
	kept := map[string][]string{}
	for id := range w.hosts {
		v := w.hosts[id].Settings[model.SettingKeepDisks]
		if v == "" || v == "[]" {
			continue
		}
		var disks []string
		if v.Decode(&disks) == nil {
			kept[id] = disks
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bound, w.keptDisks = w.id, kept
}

// keepHosts puts what was read of hosts in the place of what is known, where
// among says which hosts the answer was about.
func (w *watch) keepHosts(read []model.Host, among func(*model.Host) bool) {
	seen := make(map[string]bool, len(read))
	for i := range read {
		seen[read[i].ID] = true
		w.keepHost(read[i])
	}
	for id := range w.hosts {
		old := w.hosts[id]
		if !seen[id] && among(&old) {
			delete(w.hosts, id)
			delete(w.inventory, id)
		}
	}
}

// keepHost merges one host: an answer without inventory does not remove the known one.
func (w *watch) keepHost(read model.Host) {
	old, known := w.hosts[read.ID]
	if known {
		w.hostChanged(&old, &read)
	} else {
		w.hostChanged(nil, &read)
	}
	switch {
	case read.Inventory.Known:
		delete(w.inventory, read.ID)
	default:
		// The old record still identifies the machine. A host that registers again has no inventory with the service,
		// though, and a setting that depends on the old one would be refused.
		if known {
			read.Inventory = old.Inventory
			read.Inventory.Known = old.Inventory.Known && read.State != model.HostDiscovering
			read.Hostname = cmp.Or(read.Hostname, old.Inventory.Hostname)
		}
		if settled(read.State) && (!read.Inventory.Known || !settled(old.State)) {
			w.inventory[read.ID] = true // it may have come back as another machine
		}
	}
	switch same := known && read.Role == old.Role && read.Bootstrap == old.Bootstrap; {
	case !same:
		delete(w.staged, read.ID)
	case len(read.Progress.Stages) == 0:
		read.Progress.Stages = old.Progress.Stages
	}
	w.hosts[read.ID] = nameByMachine(read)
}

// nameByMachine gives a host without a name the one that its machine reports: the service uses it, and shows it in
// every answer but the list of a cluster's hosts.
func nameByMachine(h model.Host) model.Host {
	if _, named := h.Settings[model.SettingHostname]; !named && h.Inventory.Hostname != "" {
		h.Settings[model.SettingHostname] = model.ValueOf(h.Inventory.Hostname)
	}
	return h
}

func (w *watch) keepElsewhere(infraEnvID string, pool []model.Host) {
	if w.elsewhere == nil {
		w.elsewhere = map[string][]model.Host{}
	}
	w.elsewhere[infraEnvID] = nil
	for i := range pool {
		if id := pool[i].ClusterID; id != "" && id != w.id {
			w.elsewhere[infraEnvID] = append(w.elsewhere[infraEnvID], pool[i])
		}
	}
}

// boundElsewhere are those hosts, sorted by id, with the names of the clusters.
func (w *watch) boundElsewhere() []model.HostElsewhere {
	var out []model.HostElsewhere
	for _, env := range slices.Concat(w.infraEnvs, w.reserved.envs) {
		for _, host := range w.elsewhere[env.ID] {
			host.Reserved = w.reserved.of(&host)
			out = append(out, model.HostElsewhere{Host: host, ClusterName: w.names[host.ClusterID]})
		}
	}
	slices.SortFunc(out, func(a, b model.HostElsewhere) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// settled reports whether a host in this state has sent its inventory.
func settled(state model.HostState) bool {
	switch state {
	case model.HostDiscovering, model.HostDisconnected, model.HostBinding, model.HostReleasing, model.HostResetting, model.HostUnbound:
		return false
	}
	return true
}
