package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func notOnHub(op, on, why string, next model.Advice) *model.Fault {
	return &model.Fault{Code: model.CodeUsage, Op: op, On: on, Permanent: true, Err: errors.New(why), Next: next}
}

// CancelInstall is refused: a hub has no word for it.
func (p *Plane) CancelInstall(_ context.Context, clusterID string) error {
	return notOnHub("cancel installation of", clusterID, "on a hub an installation that runs ends only with the cluster's objects",
		model.Command("delete cluster", clusterID))
}

// ResetInstall is refused: a hub has no word for it.
func (p *Plane) ResetInstall(_ context.Context, clusterID string) error {
	return notOnHub("reset cluster", clusterID, "on a hub a cluster is not taken back to before its installation, but made anew",
		model.Command("delete cluster", clusterID)+", boot its hosts from the new discovery image, and create it again")
}

// DownloadIgnition is refused: a hub hands out no files of the installation.
func (p *Plane) DownloadIgnition(_ context.Context, clusterID, file string, _ io.Writer) error {
	return notOnHub("download "+file+" of cluster", clusterID, "a hub hands out no files of the installation",
		"ask the REST service behind the hub (--backend rest --service-url URL)")
}

// HostIgnition is refused: a hub hands out no files of the installation.
func (p *Plane) HostIgnition(_ context.Context, _, hostID string) (string, error) {
	return "", notOnHub("read Ignition of host", hostID, "a hub hands out no files of the installation",
		"ask the REST service behind the hub (--backend rest --service-url URL)")
}

// DownloadManifest writes one of the extra manifests in our ConfigMaps to out.
func (p *Plane) DownloadManifest(ctx context.Context, clusterID, folder, name string, out io.Writer) error {
	at, made, err := p.manifestsAt(ctx, clusterID)
	if err != nil {
		return err
	}
	for _, ref := range made.Spec.ManifestsConfigMapRefs {
		u := at.Store(kube.ConfigMaps).Get(ref.Name)
		if u == nil || kube.FolderOf(u) != folder {
			continue
		}
		if content, there, _ := unstructured.NestedString(u.Object, "data", name); there {
			_, err := io.WriteString(out, content)
			return err
		}
	}
	return kube.NotFound("manifest", folder+"/"+name, model.Command("download manifests", clusterID))
}

// Events reads one page of the service's event log, from the offset on, through
// the URL that the object itself names.
func (p *Plane) Events(ctx context.Context, filter install.EventFilter, offset int) (install.EventPage, error) {
	address, on, err := p.eventsURL(ctx, filter)
	if err != nil {
		return install.EventPage{}, err
	}
	parsed, err := url.Parse(address)
	if address == "" || err != nil {
		return install.EventPage{}, notYet("read events of", on, "the service names no address for them yet")
	}
	query := parsed.Query()
	planeshared.SetEventQuery(query, filter, offset)
	parsed.RawQuery = query.Encode()
	ctx, cancel := kube.WithTimeout(ctx)
	defer cancel()
	response, err := p.get(ctx, "read events of", on, parsed.String(), nil)
	if err != nil {
		return install.EventPage{}, err
	}
	defer response.Body.Close()
	return readEvents(response, on)
}

func (p *Plane) eventsURL(ctx context.Context, filter install.EventFilter) (address, on string, err error) {
	switch {
	case filter.HostID != "":
		from := cmp.Or(filter.InfraEnvID, filter.ClusterID)
		if from == "" {
			if from, err = p.infraEnvOfHost(ctx, filter.HostID); err != nil {
				return "", filter.HostID, err
			}
		}
		namespace, _ := kube.SplitID(from, p.api.NamespaceOf(from))
		agent, err := p.agentOf(ctx, namespace, filter.HostID)
		if err != nil {
			return "", filter.HostID, err
		}
		return agent.Status.DebugInfo.EventsURL, filter.HostID, nil
	case filter.InfraEnvID != "":
		env, err := p.infraEnv(ctx, filter.InfraEnvID)
		if err != nil || env.Status.DebugInfo == nil {
			return "", filter.InfraEnvID, err
		}
		return env.Status.DebugInfo.EventsURL, filter.InfraEnvID, nil
	case filter.ClusterID != "":
		_, made, err := p.pair(ctx, filter.ClusterID)
		if err != nil {
			return "", filter.ClusterID, err
		}
		return kube.DebugOf(made).EventsURL, filter.ClusterID, nil
	}
	return "", "", notOnHub("read", "events", "a hub has the events of a cluster, an InfraEnv or a host, and no list of all",
		"name one of them")
}

func (p *Plane) infraEnvOfHost(ctx context.Context, hostID string) (string, error) {
	namespaces, err := p.api.List(ctx, kube.Agents)
	if err != nil {
		return "", err
	}
	for _, at := range kube.Sorted(namespaces) {
		if u := at.Store(kube.Agents).Get(hostID); u != nil {
			return kube.InfraEnvOf(u), nil
		}
	}
	return "", kube.NotFound("host", hostID, "{get hosts}")
}

const largestPage = 32 << 20

func readEvents(response *http.Response, on string) (install.EventPage, error) {
	page := install.EventPage{Total: -1}
	if total, err := strconv.Atoi(response.Header.Get("Event-Count")); err == nil {
		page.Total = total
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, largestPage))
	var wire []struct {
		Time     time.Time `json:"event_time"`
		Name     string    `json:"name"`
		Severity string    `json:"severity"`
		Category string    `json:"category"`
		Message  string    `json:"message"`
		Cluster  string    `json:"cluster_id"`
		Host     string    `json:"host_id"`
		InfraEnv string    `json:"infra_env_id"`
		Props    string    `json:"props"`
	}
	if err == nil {
		err = json.Unmarshal(data, &wire)
	}
	if err != nil {
		return page, &model.Fault{Code: model.CodeFailure, Op: "read events of", On: on,
			Err: errors.New("the answer broke off or is not what the service sends"), Next: "run the same command again in a while"}
	}
	for _, e := range wire {
		page.Events = append(page.Events, install.ServiceEvent{
			Time: e.Time, Name: e.Name, Severity: e.Severity, Category: e.Category, Message: redact.Text(e.Message),
			ClusterID: e.Cluster, HostID: e.Host, InfraEnvID: e.InfraEnv, Props: e.Props,
		})
	}
	return page, nil
}

// ListClusters lists the clusters that the user may see, by name and age.
func (p *Plane) ListClusters(ctx context.Context) ([]model.Cluster, error) {
	namespaces, err := p.api.List(ctx, kube.ClusterDeployments, kube.AgentClusterInstalls, kube.Agents, kube.ConfigMaps)
	if err != nil {
		return nil, err
	}
	var out []model.Cluster
	for _, at := range kube.Sorted(namespaces) {
		for _, u := range at.Store(kube.ClusterDeployments).All() {
			made := at.InstallOf(u)
			going := u.GetDeletionTimestamp() != nil
			if made == nil && !going {
				continue // installed by other means, or not yet whole
			}
			ref := refOf(at, u)
			observed := &model.Observed{At: p.api.Now()}
			for _, agent := range at.Store(kube.Agents).All() {
				host, err := ReadAgent(agent, observed.At)
				if err != nil {
					return nil, err
				}
				if host.ClusterID == ref.ID {
					observed.Hosts = append(observed.Hosts, host)
				}
			}
			if going {
				ref.Hosts = len(observed.Hosts)
				out = append(out, model.Cluster{
					ClusterRef: ref, State: model.ClusterDeleting, StatusInfo: strings.TrimPrefix(kube.HeldBy(u, " (of %s)"), ", "),
					StatusSince: u.GetDeletionTimestamp().Time,
				})
				continue
			}
			memory := newClusterMemory(&p.api.Texts)
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
	slices.SortFunc(out, func(a, b model.Cluster) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// ListInfraEnvs lists the InfraEnvs that the user may see, or those of one
// cluster, by name and age.
func (p *Plane) ListInfraEnvs(ctx context.Context, clusterID string) ([]model.InfraEnv, error) {
	namespaces, err := p.api.List(ctx, kube.InfraEnvs, kube.NMStateConfigs)
	if err != nil {
		return nil, err
	}
	return infraEnvsAt(namespaces, clusterID)
}

func infraEnvsAt(namespaces map[string]*kube.Namespace, clusterID string) ([]model.InfraEnv, error) {
	var out []model.InfraEnv
	for _, at := range kube.Sorted(namespaces) {
		configs := at.Store(kube.NMStateConfigs).All()
		for _, u := range at.Store(kube.InfraEnvs).All() {
			env, err := infraEnvOf(u, selectedBy(u, configs), u.GetLabels()[hubapi.LabelCluster])
			if err != nil {
				return nil, err
			}
			if clusterID == "" || env.ClusterID == clusterID {
				out = append(out, env)
			}
		}
	}
	slices.SortFunc(out, func(a, b model.InfraEnv) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// ListHosts lists the hosts of an InfraEnv, bound or not.
func (p *Plane) ListHosts(ctx context.Context, infraEnvID string) ([]model.Host, error) {
	namespace, _ := kube.SplitID(infraEnvID, p.api.NamespaceOf(infraEnvID))
	namespaces, err := p.api.ListIn(ctx, namespace, kube.Agents)
	if err != nil {
		return nil, err
	}
	var out []model.Host
	for _, at := range kube.Sorted(namespaces) {
		for _, u := range at.Store(kube.Agents).All() {
			host, err := ReadAgent(u, p.api.Now())
			if err != nil {
				return nil, err
			}
			if host.InfraEnvID == infraEnvID {
				out = append(out, host)
			}
		}
	}
	slices.SortFunc(out, func(a, b model.Host) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// ClusterByNameOrID finds one cluster by its id (NAMESPACE/NAME), its name, or
// NAME.DOMAIN. None and several are faults with CodeNotFound, the latter naming
// the ids.
func (p *Plane) ClusterByNameOrID(ctx context.Context, text string) (model.ClusterRef, error) {
	namespaces, err := p.api.ListFor(ctx, text, kube.ClusterDeployments, kube.AgentClusterInstalls)
	if err != nil {
		return model.ClusterRef{}, err
	}
	var same []model.ClusterRef
	for _, at := range kube.Sorted(namespaces) {
		for _, u := range at.Store(kube.ClusterDeployments).All() {
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
	return planeshared.Only("cluster", text, kube.NotFound("cluster", text, "{get clusters}"), same, func(c model.ClusterRef) string {
		return fmt.Sprintf("%s (%s.%s, %s)", c.ID, c.Name, c.BaseDomain, c.Status)
	})
}

// InfraEnvByNameOrID finds one InfraEnv by its id (NAMESPACE/NAME) or name. None
// and several are faults with CodeNotFound, the latter naming the ids.
func (p *Plane) InfraEnvByNameOrID(ctx context.Context, text string) (model.InfraEnv, error) {
	namespaces, err := p.api.ListFor(ctx, text, kube.InfraEnvs, kube.NMStateConfigs)
	if err != nil {
		return model.InfraEnv{}, err
	}
	found, err := infraEnvsAt(namespaces, "")
	if err != nil {
		return model.InfraEnv{}, err
	}
	var same []model.InfraEnv
	for _, env := range found {
		if env.ID == text {
			return env, nil
		}
		if env.Name == text {
			same = append(same, env)
		}
	}
	return planeshared.Only("InfraEnv", text, kube.NotFound("InfraEnv", text, "{get infraenvs}"), same,
		func(e model.InfraEnv) string { return e.ID })
}

// Manifests lists the manifests in our ConfigMaps. A hub does not show the service's own manifests.
func (p *Plane) Manifests(ctx context.Context, clusterID string, system bool) ([]install.Manifest, error) {
	if system {
		return nil, notOnHub("list the service's own manifests of", clusterID, "a hub does not show them",
			"leave --system out, or ask the REST service behind the hub (--backend rest --service-url URL)")
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
