package hub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Observe says what the hub holds of a cluster, as its watches have brought it;
// only the first observation in a namespace waits for them. While the API server
// does not answer, the last observation comes back with Stale set.
//
// Observed shares maps and inner slices with later observations: they are not
// to be changed.
func (p *Plane) Observe(ctx context.Context, query model.Query, _ *model.Observed) (*model.Observed, error) {
	namespace, name := p.target(query)
	look := &observation{Plane: p, cluster: kube.ID(namespace, name)}
	look.signal = p.signalOf(look.cluster)
	at, err := look.watch(ctx, namespace)
	if err != nil {
		return nil, err
	}
	observed := &model.Observed{At: p.api.Now()}
	deployment := p.choose(at, query, name, observed)
	if deployment != nil {
		if err := look.observeCluster(ctx, at, deployment, query, observed); err != nil {
			return nil, err
		}
	} else {
		p.forget(kube.ID(namespace, name))
	}
	if err := p.api.Failing(at); err != nil {
		var fault *model.Fault
		if errors.As(err, &fault) && fault.Permanent {
			return nil, err
		}
		observed.Stale = err.Error()
	}
	return observed, nil
}

// observation is one observation.
type observation struct {
	*Plane
	cluster string // id
	signal  *kubewatch.Signal
}

// watch is the cluster's namespace, whose objects are all there. What changes from now on gives the signal.
func (p *observation) watch(ctx context.Context, namespace string) (*kube.Namespace, error) {
	return p.told(p.api.Watch(ctx, namespace))
}

// watchHosts is shared for a namespace that the cluster has hosts from, whose hosts are all there.
func (p *observation) watchHosts(ctx context.Context, namespace string) (*kube.Namespace, error) {
	return p.told(p.api.WatchHosts(ctx, namespace))
}

// told makes changes of a namespace give the signal.
func (p *observation) told(at *kube.Namespace, err error) (*kube.Namespace, error) {
	if err == nil {
		at.Signal(p.signal, p.cluster)
	}
	return at, err
}

// signalOf is the signal of changes that concern a cluster: the one of before, while nothing has
// changed.
func (p *Plane) signalOf(cluster string) *kubewatch.Signal {
	p.mu.Lock()
	defer p.mu.Unlock()
	signal := p.signals[cluster]
	if signal == nil || signal.IsGiven() {
		signal = kubewatch.NewSignal()
		p.signals[cluster] = signal
	}
	return signal
}

// Changed is of install.Notifier: the watches report changes. Before the first observation of a cluster all is new.
func (p *Plane) Changed(query model.Query) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if signal := p.signals[kube.ID(p.target(query))]; signal != nil {
		return signal.Given()
	}
	given := make(chan struct{})
	close(given)
	return given
}

func (p *Plane) target(query model.Query) (namespace, name string) {
	if text := cmp.Or(query.ID, query.Adopt); text != "" {
		return kube.SplitID(text, p.api.NamespaceOf(text))
	}
	return p.api.NamespaceOf(query.Name), query.Name
}

// choose takes the ClusterDeployment that is meant; others of the same name are recorded.
func (p *Plane) choose(at *kube.Namespace, query model.Query, name string, observed *model.Observed) *unstructured.Unstructured {
	var meant *unstructured.Unstructured
	for _, u := range at.Store(kube.ClusterDeployments).All() {
		called, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName")
		if u.GetName() != name && cmp.Or(called, u.GetName()) != query.Name { // most are others
			continue
		}
		ref := refOf(at, u)
		same := u.GetName() == name || ref.Name == query.Name && (query.BaseDomain == "" || ref.BaseDomain == query.BaseDomain)
		wanted := u.GetName() == name && (ref.Owned || query.ID == ref.ID || query.Adopt == ref.ID)
		switch {
		case !same:
		case wanted && meant == nil && (at.InstallOf(u) != nil || u.GetDeletionTimestamp() != nil):
			meant = u
		case ref.Owned && at.InstallOf(u) == nil:
			// half made, by an interrupted run: it is completed
		default:
			observed.Others = append(observed.Others, ref)
		}
	}
	return meant
}

func refOf(at *kube.Namespace, u *unstructured.Unstructured) model.ClusterRef {
	wire, err := kube.Read[hive.ClusterDeployment](u)
	if err != nil {
		wire = &hive.ClusterDeployment{} // what is left is named by its id
	}
	ref := model.ClusterRef{
		ID: kube.ID(u.GetNamespace(), u.GetName()), Name: cmp.Or(wire.Spec.ClusterName, u.GetName()), BaseDomain: wire.Spec.BaseDomain,
		Created: u.GetCreationTimestamp().Time, Owned: kube.Label(u, hubapi.LabelCluster) != "", Status: "ClusterDeployment",
	}
	if made := at.InstallOf(u); made != nil {
		if state, _, _ := unstructured.NestedString(made.Object, "status", "debugInfo", "state"); state != "" {
			ref.Status = state
		}
	}
	if u.GetDeletionTimestamp() != nil {
		ref.Status = string(model.ClusterDeleting)
	}
	return ref
}

func (p *observation) observeCluster(ctx context.Context, at *kube.Namespace, deployment *unstructured.Unstructured, query model.Query,
	observed *model.Observed) error {
	made := at.InstallOf(deployment)
	for _, u := range []*unstructured.Unstructured{deployment, made} {
		if u != nil && u.GetDeletionTimestamp() != nil {
			return kube.DeletingFault(u)
		}
	}
	memory := p.memoryOf(kube.ID(deployment.GetNamespace(), deployment.GetName()))
	ref := refOf(at, deployment)
	envs, pools, err := p.infraEnvsOf(ctx, at, ref, query.InfraEnv, memory)
	if err != nil {
		return err
	}
	observed.InfraEnvs = envs
	reserved, err := p.reservedAgents(ctx, at, query.Agents)
	if err != nil {
		return err
	}
	if err := hostsOf(at, pools, reserved, ref.ID, memory, observed); err != nil {
		return err
	}
	observed.Enrolled = p.withImageTrouble(ctx, at.Name, p.enrolledMachines(at, ref.Name), envs)
	ref.Hosts = len(observed.Hosts)
	ref.Empty = len(observed.Hosts) == 0 && len(envs) == 0
	cluster, err := p.clusterOf(ctx, at, deployment, made, memory, observed)
	if err != nil {
		return err
	}
	cluster.ClusterRef = ref
	observed.Cluster = cluster
	delayFailure(observed)
	if cluster.Settings[model.SettingClassifications], err = classified(at, ref.Name); err != nil {
		return err
	}
	for i := range observed.InfraEnvs {
		env := &observed.InfraEnvs[i]
		if version := cluster.Settings[model.SettingVersion]; version != "" && env.Settings[model.SettingVersion] == "" {
			env.Settings[model.SettingVersion] = version
		}
	}
	memory.update(observed)
	return nil
}

// infraEnvsOf are the InfraEnvs that are bound to a cluster, and the one that
// the file refers to or, if none is bound, the pools that carry the cluster's
// label. pools are the InfraEnvs with their namespaces.
func (p *observation) infraEnvsOf(ctx context.Context, at *kube.Namespace, ref model.ClusterRef, wanted string,
	memory *clusterMemory) ([]model.InfraEnv, []infraEnvAt, error) {
	namespaces := []*kube.Namespace{at}
	if namespace, _ := kube.SplitID(wanted, at.Name); wanted != "" && namespace != at.Name {
		other, err := p.watchHosts(ctx, namespace)
		if err != nil {
			return nil, nil, err
		}
		namespaces = append(namespaces, other)
	}
	var (
		envs  []model.InfraEnv
		pools []infraEnvAt
	)
	_, wantedName := kube.SplitID(wanted, "")
	read := memory.envs.round()
	for _, namespace := range namespaces {
		configs := namespace.Store(kube.NMStateConfigs).All()
		for _, u := range namespace.Store(kube.InfraEnvs).All() {
			if u.GetDeletionTimestamp() != nil {
				continue
			}
			cluster, owned := kube.BoundTo(u), isOwned(u, ref.Name)
			bound, meant := cluster == ref.ID, wanted != "" && u.GetName() == wantedName && cluster == ""
			own := cluster == "" && owned && wanted == ""
			if !bound && !meant && !own { // of a namespace with many clusters these are most
				continue
			}
			env, err := readInfraEnv(read, u, configs, ref.Name)
			if err != nil {
				return nil, nil, err
			}
			env.Owned = owned && !meant // by the name of the cluster, which what was read once does not know
			envs = append(envs, env)
			pools = append(pools, infraEnvAt{namespace, env})
		}
	}
	read.end()
	slices.SortFunc(envs, func(a, b model.InfraEnv) int { return strings.Compare(a.Name+"/"+a.ID, b.Name+"/"+b.ID) })
	return envs, pools, nil
}

type infraEnvAt struct {
	at  *kube.Namespace
	env model.InfraEnv
}

// reservedAgent is an Agent that is reserved for a host of the file, in any pool.
type reservedAgent struct {
	at   *kube.Namespace
	name string
	text string // as the query names it
}

// reservedAgents are the Agents that a query names, with their namespaces.
func (p *observation) reservedAgents(ctx context.Context, at *kube.Namespace, named []string) ([]reservedAgent, error) {
	var all []reservedAgent
	for _, text := range named {
		namespace, name := kube.SplitID(text, at.Name)
		of, err := p.watchHosts(ctx, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, reservedAgent{at: of, name: name, text: text})
	}
	return all, nil
}

// hostsOf reads the Agents of some InfraEnvs, and those that are reserved. Agents that are bound to the cluster or to
// none are its hosts; the rest is recorded as elsewhere. Agents that are bound to the cluster in its own namespace are
// its hosts, no matter which pool they came from.
func hostsOf(at *kube.Namespace, pools []infraEnvAt, reserved []reservedAgent, clusterID string, memory *clusterMemory,
	observed *model.Observed) error {
	seen, read := map[string]bool{}, memory.hosts.round()
	add := func(at *kube.Namespace, u *unstructured.Unstructured, text string) error {
		if u == nil || u.GetDeletionTimestamp() != nil || seen[u.GetName()] {
			return nil
		}
		seen[u.GetName()] = true
		host, err := readHost(read, memory.texts, u, observed.At)
		if err != nil {
			return err
		}
		host.Reserved = text
		if host.Returns == model.ReturnByHub && enrolledIn(at, u) == nil {
			host.Returns = model.ReturnByPerson
		}
		if host.ClusterID == clusterID || host.ClusterID == "" {
			observed.Hosts = append(observed.Hosts, host)
			return nil
		}
		_, name := kube.SplitID(host.ClusterID, "")
		observed.Elsewhere = append(observed.Elsewhere, model.HostElsewhere{Host: host, ClusterName: name})
		return nil
	}
	for _, one := range reserved {
		if err := add(one.at, one.at.Store(kube.Agents).Get(one.name), one.text); err != nil {
			return err
		}
	}
	spaces, ofPools := []*kube.Namespace{at}, map[string]bool{}
	for _, pool := range pools {
		ofPools[pool.env.ID] = true
		if !slices.Contains(spaces, pool.at) {
			spaces = append(spaces, pool.at)
		}
	}
	for _, space := range spaces {
		for _, u := range space.Store(kube.Agents).All() {
			if !ofPools[kube.InfraEnvOf(u)] && kube.ClusterOf(u) != clusterID && leftBy(u) != clusterID {
				continue
			}
			if err := add(space, u, ""); err != nil {
				return err
			}
		}
	}
	read.end()
	slices.SortFunc(observed.Hosts, func(a, b model.Host) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(observed.Elsewhere, func(a, b model.HostElsewhere) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

// leftBy is the id of the cluster that an Agent is leaving, while its node is still to be removed; "" for none.
func leftBy(agent *unstructured.Unstructured) string {
	info, _, _ := unstructured.NestedStringMap(agent.Object, "status", "deprovision_info")
	if len(info) == 0 || info["cluster_name"] == "" {
		return ""
	}
	return kube.ID(info["cluster_namespace"], info["cluster_name"])
}

// hostReportDelay is how much later than its cluster a host may be reported to have
// failed: the service writes each object by itself.
const hostReportDelay = 30 * time.Second

// delayFailure puts the failure of an installation off for as long as its hosts may
// still be about to say which of them it was, and why.
func delayFailure(observed *model.Observed) {
	cluster := observed.Cluster
	if cluster.State != model.ClusterFailed || observed.At.Sub(cluster.InstallCompleted) >= hostReportDelay {
		return
	}
	for i := range observed.Hosts {
		if host := &observed.Hosts[i]; host.State == model.HostInstalling && host.ClusterID == cluster.ID {
			cluster.State, cluster.InstallCompleted = model.ClusterInstalling, time.Time{}
			return
		}
	}
}
