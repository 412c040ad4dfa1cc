package rest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/client/installer"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ListClusters lists the clusters that the user may see, by name and age,
// without their hosts and manifests.
func (p *Plane) ListClusters(ctx context.Context) ([]model.Cluster, error) {
	found, err := p.listClusters(ctx, "list", "clusters")
	if err != nil {
		return nil, err
	}
	out := make([]model.Cluster, 0, len(found))
	for i := range found {
		out = append(out, *p.tables.ClusterOf(&found[i], ""))
	}
	slices.SortFunc(out, func(a, b model.Cluster) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// ListInfraEnvs lists the InfraEnvs that the user may see, or those of one
// cluster, by name and age.
func (p *Plane) ListInfraEnvs(ctx context.Context, clusterID string) ([]model.InfraEnv, error) {
	out, err := p.listInfraEnvs(ctx, clusterID)
	slices.SortFunc(out, func(a, b model.InfraEnv) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return out, err
}

// ListHosts lists the hosts of an InfraEnv, bound or not.
func (p *Plane) ListHosts(ctx context.Context, infraEnvID string) ([]model.Host, error) {
	out, err := p.listPool(ctx, infraEnvID)
	slices.SortFunc(out, func(a, b model.Host) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

// ClusterByNameOrID finds one cluster by its id, its name, or NAME.DOMAIN. None
// and several are faults with CodeNotFound, the latter naming the ids.
func (p *Plane) ClusterByNameOrID(ctx context.Context, text string) (model.ClusterRef, error) {
	found, err := p.listClusters(ctx, "find cluster", text)
	if err != nil {
		return model.ClusterRef{}, err
	}
	var same []model.ClusterRef
	for i := range found {
		ref := objects.RefOf(&found[i], "")
		if strings.EqualFold(ref.ID, text) {
			return ref, nil
		}
		if ref.Name == text || ref.Name+"."+ref.BaseDomain == text {
			same = append(same, ref)
		}
	}
	return planeshared.Only("cluster", text, notFound("cluster", text, "{get clusters}"), same, func(c model.ClusterRef) string {
		return fmt.Sprintf("%s (%s.%s, %s)", c.ID, c.Name, c.BaseDomain, c.Status)
	})
}

// InfraEnvByNameOrID finds one InfraEnv by its id or name. None and several are
// faults with CodeNotFound, the latter naming the ids.
func (p *Plane) InfraEnvByNameOrID(ctx context.Context, text string) (model.InfraEnv, error) {
	found, err := p.listInfraEnvs(ctx, "")
	if err != nil {
		return model.InfraEnv{}, err
	}
	var same []model.InfraEnv
	for _, env := range found {
		if strings.EqualFold(env.ID, text) {
			return env, nil
		}
		if env.Name == text {
			same = append(same, env)
		}
	}
	return planeshared.Only("InfraEnv", text, notFound("InfraEnv", text, "{get infraenvs}"), same,
		func(e model.InfraEnv) string { return e.ID })
}

func notFound(kind, on string, next model.Advice) *model.Fault {
	return &model.Fault{
		Code: model.CodeNotFound, Op: "find " + kind, On: on, Permanent: true, Err: errors.New("the service has none of that name or id"),
		Next: next,
	}
}

// CancelInstall stops an install. It can be reset and started again.
func (p *Plane) CancelInstall(ctx context.Context, clusterID string) error {
	return p.clusterVerb(ctx, "cancel", clusterID)
}

// ResetInstall takes a cluster back to before its install; its hosts have to
// boot the discovery image again.
func (p *Plane) ResetInstall(ctx context.Context, clusterID string) error {
	return p.clusterVerb(ctx, "reset", clusterID)
}

// DeleteCluster deletes a cluster's record, and those of its hosts. One that is
// gone already is a success.
func (p *Plane) DeleteCluster(ctx context.Context, clusterID string, options install.DeleteOptions) error {
	if options.ReturnToPool {
		return notHere("return the machines of cluster", clusterID, "a REST service leaves machines as they are")
	}
	return p.conn.Delete(ctx, "delete cluster", clusterID, "/v2/clusters/{cluster_id}", map[string]string{"cluster_id": clusterID})
}

// DeleteInfraEnv deletes an InfraEnv; the service refuses while hosts belong to it.
func (p *Plane) DeleteInfraEnv(ctx context.Context, infraEnvID string, _ install.DeleteOptions) error {
	return p.conn.Delete(ctx, "delete InfraEnv", infraEnvID, "/v2/infra-envs/{infra_env_id}", map[string]string{"infra_env_id": infraEnvID})
}

// DeleteHost deletes a host's record. A machine whose agent runs registers again.
func (p *Plane) DeleteHost(ctx context.Context, infraEnvID, hostID string, options install.DeleteOptions) error {
	if options.RemoveNode {
		return notHere("remove the node of host", hostID, "a REST service does not speak to clusters")
	}
	return p.conn.Delete(ctx, "delete host", hostID, hostPath, map[string]string{"infra_env_id": infraEnvID, "host_id": hostID})
}

// ReleaseCluster is refused: a service keeps a cluster, or forgets it.
func (p *Plane) ReleaseCluster(_ context.Context, clusterID string) error {
	return notHere("let go of cluster", clusterID, "a REST service keeps a cluster, or forgets it")
}

func notHere(op, on, why string) error {
	return &model.Fault{Code: model.CodeUsage, Op: op, On: on, Permanent: true, Err: errors.New(why),
		Next: "give --backend hub, for a cluster of a hub"}
}

// MayDelete refuses none: the service deletes every cluster that the user may change.
func (p *Plane) MayDelete(model.ClusterRef) error { return nil }

// ClusterLeft finds nothing: a service deletes a cluster at once, or not.
func (p *Plane) ClusterLeft(_ context.Context, text string) (model.ClusterRef, error) {
	return model.ClusterRef{}, notFound("cluster", text, "{get clusters}")
}

// CheckRelease leaves it to the service, which says so when it registers the cluster.
func (p *Plane) CheckRelease(context.Context, *spec.Cluster) error { return nil }

// Follow changes nothing: the service has no watches.
func (p *Plane) Follow() {}

// Close has nothing to end.
func (p *Plane) Close() {}

// BindHost gives a host of an InfraEnv that is bound to no cluster to one. The
// service takes hosts that are known-unbound; their agents start anew.
func (p *Plane) BindHost(ctx context.Context, infraEnvID, hostID, clusterID string) error {
	defer p.stale(model.Query{}, clusterID, hostList) // once more: an observation may have run meanwhile
	p.stale(model.Query{}, clusterID, hostList)
	return p.conn.Do(ctx, transport.Request{
		Op: "bind host", On: hostID, Method: http.MethodPost, Path: hostPath + "/actions/bind",
		In: map[string]string{"infra_env_id": infraEnvID, "host_id": hostID}, Body: map[string]any{"cluster_id": clusterID},
	}, nil)
}

// HostIgnition writes the Ignition that a host boots with to out; it exists
// once the install runs.
func (p *Plane) HostIgnition(ctx context.Context, infraEnvID, hostID string) (string, error) {
	answer, err := p.conn.Labelled("read Ignition of host", hostID).Installer().V2GetHostIgnition(ctx,
		installer.NewV2GetHostIgnitionParams().WithInfraEnvID(uuid(infraEnvID)).WithHostID(uuid(hostID)))
	if err != nil {
		return "", err
	}
	if answer.Payload == nil {
		return "", p.conn.Incomplete("read Ignition of host", hostID)
	}
	return answer.Payload.Config, nil
}

// What a kubeconfig or password may have, and what another file may that is made of the
// settings, in bytes.
const (
	largestCredential = 4 << 20
	largestFile       = 16 << 20
)

// Credential reads kubeconfig, kubeconfig-noingress or kubeadmin-password. A
// credential that does not exist yet is a fault with status 404 or 409.
func (p *Plane) Credential(ctx context.Context, clusterID, name string) ([]byte, error) {
	var data bytes.Buffer
	conn, out := p.conn.Downloading("download "+name+" of cluster", clusterID, &data, largestCredential)
	params := installer.NewV2DownloadClusterCredentialsParams().WithClusterID(uuid(clusterID)).WithFileName(name)
	if _, err := conn.Installer().V2DownloadClusterCredentials(ctx, params, out); err != nil {
		return nil, err
	}
	content := data.Bytes()
	if reason := notCredential(content); reason != "" {
		return nil, &model.Fault{
			Code: model.CodeFailure, Op: "download " + name + " of cluster", On: clusterID,
			Err: errors.New(reason), Next: "run the same command again in a while",
		}
	}
	return content, nil
}

func notCredential(content []byte) string {
	trimmed := bytes.TrimSpace(content)
	switch {
	case len(trimmed) == 0:
		return "the answer is empty"
	case trimmed[0] == '<':
		return "the answer is a web page: " + transport.Title(trimmed)
	}
	return ""
}

// Logs writes the logs of a cluster, or of one of its hosts, to out: a tar of
// compressed archives.
func (p *Plane) Logs(ctx context.Context, clusterID, hostID string, out io.Writer) error {
	kind := "all"
	params := installer.NewV2DownloadClusterLogsParams().WithClusterID(uuid(clusterID))
	if hostID != "" {
		kind = "host"
		id := uuid(hostID)
		params = params.WithHostID(&id)
	}
	conn, out := p.conn.Downloading("download logs of cluster", clusterID, out, 0)
	_, err := conn.Installer().V2DownloadClusterLogs(ctx, params.WithLogsType(&kind), out)
	return err
}

// DownloadIgnition writes a file of the cluster to out: bootstrap.ign,
// master.ign, worker.ign, arbiter.ign, metadata.json or install-config.yaml.
// They exist once the install is prepared.
func (p *Plane) DownloadIgnition(ctx context.Context, clusterID, file string, out io.Writer) error {
	conn, out := p.conn.Downloading("download "+file+" of cluster", clusterID, out, largestFile)
	params := installer.NewV2DownloadClusterFilesParams().WithClusterID(uuid(clusterID)).WithFileName(file)
	_, err := conn.Installer().V2DownloadClusterFiles(ctx, params, out)
	return err
}

// fullISO is the type of image whose discovery Ignition has everything in it. For a
// minimal one the service leaves the static networks out, since it puts them into the
// initrd of the image that it makes itself.
const fullISO = "full-iso"

// DownloadInfraEnvFile writes a file of an InfraEnv to out: discovery.ign, always with the static networks, even if the
// InfraEnv's own image is the minimal one, ipxe-script or static-network-config.
func (p *Plane) DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error {
	conn, out := p.conn.Downloading("download "+file+" of InfraEnv", infraEnvID, out, largestFile)
	params := installer.NewV2DownloadInfraEnvFilesParams().WithInfraEnvID(uuid(infraEnvID)).WithFileName(file)
	if file == "discovery.ign" {
		whole := fullISO
		params = params.WithDiscoveryIsoType(&whole)
	}
	_, err := conn.Installer().V2DownloadInfraEnvFiles(ctx, params, out)
	return err
}

// DownloadISOURL is a fresh URL of an InfraEnv's discovery image, and when it
// ends (zero: never). It may carry a token: it is not to be logged.
func (p *Plane) DownloadISOURL(ctx context.Context, infraEnvID string) (url string, expires time.Time, err error) {
	answer, err := p.conn.Labelled("get image URL of InfraEnv", infraEnvID).Installer().GetInfraEnvDownloadURL(ctx,
		installer.NewGetInfraEnvDownloadURLParams().WithInfraEnvID(uuid(infraEnvID)))
	if err != nil {
		return "", time.Time{}, err
	}
	if answer.Payload == nil || answer.Payload.URL == nil || *answer.Payload.URL == "" {
		return "", time.Time{}, p.conn.Incomplete("get image URL of InfraEnv", infraEnvID)
	}
	return *answer.Payload.URL, objects.Time(answer.Payload.ExpiresAt), nil
}

// OpenISO opens a discovery image by its URL, from DownloadISOURL, at an
// offset. The caller closes the body. size is that of the whole image, -1 if
// unknown. No token of the service is sent along: the URL has its own.
func (p *Plane) OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error) {
	return p.conn.OpenImage(ctx, address, offset)
}
