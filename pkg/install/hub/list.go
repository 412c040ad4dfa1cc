package hub

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
)

// ListClusters lists the clusters that the user may see, by name and age.
func (p *Plane) ListClusters(ctx context.Context) ([]install.Cluster, error) {
	namespaces, err := p.api.List(ctx, kube.ClusterDeployments(), kube.AgentClusterInstalls(), kube.Agents(), kube.ConfigMaps())
	if err != nil {
		return nil, err
	}
	var out []install.Cluster
	for _, at := range kube.Sorted(namespaces) {
		for _, u := range at.Store(kube.ClusterDeployments()).All() {
			made := at.InstallOf(u)
			going := u.GetDeletionTimestamp() != nil
			if made == nil && !going {
				continue // installed by other means, or not yet whole
			}
			ref := refOf(at, u)
			observed := &install.Observed{At: p.api.Now()}
			for _, agent := range at.Store(kube.Agents()).All() {
				host, err := hostOf(agent, observed.At)
				if err != nil {
					return nil, err
				}
				if host.ClusterID == ref.ID {
					observed.Hosts = append(observed.Hosts, host)
				}
			}
			if going {
				ref.Hosts = len(observed.Hosts)
				out = append(out, install.Cluster{
					ClusterRef: ref, State: model.ClusterDeleting, StatusInfo: strings.TrimPrefix(kube.HeldBy(u, " (of %s)"), ", "),
					StatusSince: u.GetDeletionTimestamp().Time,
				})
				continue
			}
			memory := newClusterMemory()
			if p.api.Follows() {
				memory = p.memoryOf(ref.ID) // which has been asked for certificates already
			}
			cluster, err := p.clusterOf(ctx, at, u, made, memory, observed)
			if err != nil {
				return nil, err
			}
			cluster.ClusterRef = ref
			cluster.Hosts = len(observed.Hosts)
			out = append(out, *cluster)
		}
	}
	slices.SortFunc(out, func(a, b install.Cluster) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// ListInfraEnvs lists the InfraEnvs that the user may see, or those of one
// cluster, by name and age.
func (p *Plane) ListInfraEnvs(ctx context.Context, clusterID string) ([]install.InfraEnv, error) {
	namespaces, err := p.api.List(ctx, kube.InfraEnvs(), kube.NMStateConfigs())
	if err != nil {
		return nil, err
	}
	return infraEnvsAt(namespaces, clusterID)
}

// infraEnvsAt are the InfraEnvs of namespaces, or those of one cluster, by name and age.
func infraEnvsAt(namespaces map[string]*kube.Namespace, clusterID string) ([]install.InfraEnv, error) {
	var out []install.InfraEnv
	for _, at := range kube.Sorted(namespaces) {
		configs := at.Store(kube.NMStateConfigs()).All()
		for _, u := range at.Store(kube.InfraEnvs()).All() {
			env, err := infraEnvOf(u, configs, u.GetLabels()[hubapi.LabelCluster])
			if err != nil {
				return nil, err
			}
			if clusterID == "" || env.ClusterID == clusterID {
				out = append(out, env)
			}
		}
	}
	slices.SortFunc(out, func(a, b install.InfraEnv) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// ListHosts lists the hosts of an InfraEnv, bound or not.
func (p *Plane) ListHosts(ctx context.Context, infraEnvID string) ([]install.Host, error) {
	namespace, _ := kube.SplitID(infraEnvID, p.api.NamespaceOf(infraEnvID))
	namespaces, err := p.api.ListIn(ctx, namespace, kube.Agents())
	if err != nil {
		return nil, err
	}
	var out []install.Host
	for _, at := range kube.Sorted(namespaces) {
		for _, u := range at.Store(kube.Agents()).All() {
			host, err := hostOf(u, p.api.Now())
			if err != nil {
				return nil, err
			}
			if host.InfraEnvID == infraEnvID {
				out = append(out, host)
			}
		}
	}
	slices.SortFunc(out, func(a, b install.Host) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// ClusterByNameOrID finds one cluster by its id (NAMESPACE/NAME), its name, or
// NAME.DOMAIN. None and several are faults with CodeNotFound, the latter naming
// the ids.
func (p *Plane) ClusterByNameOrID(ctx context.Context, text string) (install.ClusterRef, error) {
	namespaces, err := p.api.ListFor(ctx, text, kube.ClusterDeployments(), kube.AgentClusterInstalls())
	if err != nil {
		return install.ClusterRef{}, err
	}
	var same []install.ClusterRef
	for _, at := range kube.Sorted(namespaces) {
		for _, u := range at.Store(kube.ClusterDeployments()).All() {
			ref := refOf(at, u)
			_, name := kube.SplitID(ref.ID, "")
			switch text {
			case ref.ID:
				return ref, nil
			case name, ref.Name, ref.Name + "." + ref.BaseDomain:
				same = append(same, ref)
			}
		}
	}
	return plane.Only("cluster", text, kube.NotFound("cluster", text, "{get clusters}"), same, func(c install.ClusterRef) string {
		return fmt.Sprintf("%s (%s.%s, %s)", c.ID, c.Name, c.BaseDomain, c.Status)
	})
}

// InfraEnvByNameOrID finds one InfraEnv by its id (NAMESPACE/NAME) or name. None
// and several are faults with CodeNotFound, the latter naming the ids.
func (p *Plane) InfraEnvByNameOrID(ctx context.Context, text string) (install.InfraEnv, error) {
	namespaces, err := p.api.ListFor(ctx, text, kube.InfraEnvs(), kube.NMStateConfigs())
	if err != nil {
		return install.InfraEnv{}, err
	}
	found, err := infraEnvsAt(namespaces, "")
	if err != nil {
		return install.InfraEnv{}, err
	}
	var same []install.InfraEnv
	for _, env := range found {
		if env.ID == text {
			return env, nil
		}
		if env.Name == text {
			same = append(same, env)
		}
	}
	return plane.Only("InfraEnv", text, kube.NotFound("InfraEnv", text, "{get infraenvs}"), same, func(e install.InfraEnv) string { return e.ID })
}

// Manifests lists the extra manifests in our ConfigMaps. A hub shows none of the
// service's own.
func (p *Plane) Manifests(ctx context.Context, clusterID string, system bool) ([]install.Manifest, error) {
	if system {
		return nil, notOnHub("list the service's own manifests of", clusterID, "a hub does not show them", "leave --system out, or ask the REST service behind the hub (--backend rest --service-url URL)")
	}
	at, made, err := p.manifestsAt(ctx, clusterID)
	if err != nil {
		return nil, err
	}
	var out []install.Manifest
	for _, name := range slices.Sorted(maps.Keys(manifestsOf(at, made))) {
		folder, file, _ := strings.Cut(name, "/")
		out = append(out, install.Manifest{Folder: folder, Name: file, Source: "user"})
	}
	return out, nil
}

func (p *Plane) manifestsAt(ctx context.Context, clusterID string) (*kube.Namespace, *hive.AgentClusterInstall, error) {
	_, made, err := p.pair(ctx, clusterID)
	if err != nil {
		return nil, nil, err
	}
	at, err := p.api.Watch(ctx, made.Namespace)
	return at, made, err
}
