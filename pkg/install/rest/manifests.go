package rest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/client/manifests"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Manifests lists a cluster's manifests; system adds those that the service makes.
func (p *Plane) Manifests(ctx context.Context, clusterID string, system bool) ([]install.Manifest, error) {
	params := manifests.NewV2ListClusterManifestsParams().WithClusterID(uuid(clusterID))
	if system {
		params = params.WithIncludeSystemGenerated(&system)
	}
	answer, err := p.conn.Labelled("list manifests of cluster", clusterID).Manifests().V2ListClusterManifests(ctx, params)
	if err != nil {
		return nil, err
	}
	var out []install.Manifest
	for _, m := range answer.Payload {
		if m != nil {
			out = append(out, install.Manifest{Folder: m.Folder, Name: m.FileName, Source: m.ManifestSource})
		}
	}
	return out, nil
}

// DownloadManifest writes a manifest's content to out.
func (p *Plane) DownloadManifest(ctx context.Context, clusterID, folder, name string, out io.Writer) error {
	params := manifests.NewV2DownloadClusterManifestParams().WithClusterID(uuid(clusterID)).WithFolder(&folder).WithFileName(name)
	conn, out := p.conn.Downloading("download manifest", folder+"/"+name, out, largestFile)
	_, err := conn.Manifests().V2DownloadClusterManifest(ctx, params, out)
	return err
}

// readManifests lists the user's manifests. Contents are read only if asked
// for; those that this process uploaded are known.
func (p *Plane) readManifests(ctx context.Context, w *watch, content bool) error {
	listed, err := p.Manifests(ctx, w.id, false)
	if err != nil {
		return err
	}
	w.mu.Lock()
	uploads := w.uploads
	w.uploads = map[string]string{}
	w.mu.Unlock()
	now := make(map[string]string, len(listed))
	for _, m := range listed {
		key := m.Folder + "/" + m.Name
		now[key] = w.manifests[key]
		if sum, own := uploads[key]; own {
			now[key] = sum
		}
		if !content && now[key] != "" || !content {
			continue
		}
		var data strings.Builder
		if err := p.DownloadManifest(ctx, w.id, m.Folder, m.Name, &data); err != nil {
			if transport.Gone(err) || transport.Conflict(err) {
				continue
			}
			return err
		}
		now[key] = model.Digest([]byte(data.String()))
	}
	w.manifests = now
	return nil
}

// uploadManifest sends a manifest; the service overwrites one of the same name.
func (p *Plane) uploadManifest(ctx context.Context, desired *model.Desired, action model.Action) error {
	all := desired.Spec.ManifestFiles()
	i := slices.IndexFunc(all, func(m spec.Manifest) bool { return string(m.Folder)+"/"+m.Name == action.Name })
	if i < 0 {
		return planeshared.Refusal(action, fmt.Errorf("cluster.yaml has no manifest %s", action.Name))
	}
	m := all[i]
	if err := p.UploadManifest(ctx, action.Target, string(m.Folder), m.Name, []byte(m.Content)); err != nil {
		return err
	}
	p.uploaded(desired.Query(), action.Target, action.Name, model.Digest([]byte(m.Content)))
	return nil
}

func (p *Plane) removeManifest(ctx context.Context, _ *model.Desired, action model.Action) error {
	folder, name, _ := strings.Cut(action.Name, "/")
	err := p.conn.Do(ctx, transport.Request{
		Op: "remove manifest", On: action.Name, Method: http.MethodDelete, Path: "/v2/clusters/{cluster_id}/manifests",
		In:    map[string]string{"cluster_id": action.Target},
		Query: map[string][]string{"folder": {folder}, "file_name": {name}},
	}, nil)
	if transport.Gone(err) {
		return nil
	}
	return err
}

func (p *Plane) uploaded(query model.Query, id, name, sum string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range []string{watchKey(query), id} {
		if w := p.watches[key]; w != nil {
			w.mu.Lock()
			w.uploads[name] = sum
			w.mu.Unlock()
		}
	}
}

// Import names a cluster that was installed elsewhere, so that hosts can be
// added to it: import-cluster-params.
type Import struct {
	// Name of the record. If APIName looks like api.NAME.DOMAIN, the service takes name and base domain from there
	// instead.
	Name    string
	APIName string // the DNS name or address of the cluster's API
	// OpenShiftID is what the cluster calls itself: ClusterVersion
	// spec.clusterID, a UUID.
	OpenShiftID string
}

// ImportCluster makes a record of a cluster that was installed elsewhere. The
// service makes another one each time: see ImportedClusters.
func (p *Plane) ImportCluster(ctx context.Context, i Import) error {
	_, err := p.importAs(ctx, i)
	return err
}

// importAs is ImportCluster, and the id of the record.
func (p *Plane) importAs(ctx context.Context, i Import) (string, error) {
	return p.register(ctx, transport.Request{
		Op: "import cluster", On: i.Name, Method: http.MethodPost, Path: "/v2/clusters/import",
		Body: map[string]any{"name": i.Name, "api_vip_dnsname": i.APIName, "openshift_cluster_id": i.OpenShiftID},
	})
}

// importCluster makes a record of the installed cluster of the file. Its other settings are sent once the record is
// there: the request does not take them.
func (p *Plane) importCluster(ctx context.Context, desired *model.Desired, action model.Action) error {
	c := desired.Spec
	if c.Spec.Import == nil || c.Spec.Import.ClusterID == "" {
		return planeshared.Refusal(action, errors.New("the file does not say what the installed cluster calls itself: spec.import.clusterID"))
	}
	id, err := p.importAs(ctx, Import{Name: c.Metadata.Name, APIName: "api." + fullName(c), OpenShiftID: c.Spec.Import.ClusterID})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.imported[id] = desired.Options.Run
	return nil
}

// ImportedClusters are the records of the cluster that calls itself so.
func (p *Plane) ImportedClusters(ctx context.Context, openShiftID string) ([]model.Cluster, error) {
	found, err := transport.ListOf(ctx, p.conn, transport.Request{
		Op: "find imported cluster", On: openShiftID, Method: http.MethodGet, Path: "/v2/clusters",
		Query: map[string][]string{"with_hosts": {"false"}, "openshift_cluster_id": {openShiftID}},
	}, wholeCluster)
	if err != nil {
		return nil, err
	}
	var out []model.Cluster
	for i := range found {
		if found[i].IsInstalled(openShiftID) {
			out = append(out, *p.tables.ClusterOf(&found[i], ""))
		}
	}
	return out, nil
}

// UploadManifest sends a manifest. The service overwrites one of the same name
// and folder.
func (p *Plane) UploadManifest(ctx context.Context, clusterID, folder, name string, content []byte) error {
	return p.conn.Do(ctx, transport.Request{
		Op: "upload manifest", On: folder + "/" + name, Method: http.MethodPost, Path: "/v2/clusters/{cluster_id}/manifests",
		In:   map[string]string{"cluster_id": clusterID},
		Body: map[string]any{"folder": folder, "file_name": name, "content": base64.StdEncoding.EncodeToString(content)},
	}, nil)
}
