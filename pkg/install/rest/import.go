package rest

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// Import names a cluster that was installed elsewhere, so that hosts can be
// added to it: import-cluster-params.
type Import struct {
	// Name of the record. The service takes the name and base domain that APIName
	// tells over it, where that looks like api.NAME.DOMAIN.
	Name string
	// APIName is the DNS name or address of the cluster's API.
	APIName string
	// OpenShiftID is what the cluster calls itself: ClusterVersion
	// spec.clusterID, a UUID.
	OpenShiftID string
}

// ImportCluster makes a record of a cluster that was installed elsewhere. The
// service makes another one each time: see ImportedClusters.
func (p *Plane) ImportCluster(ctx context.Context, i Import) error {
	_, err := p.register(ctx, transport.Request{
		Op: "import cluster", On: i.Name, Method: http.MethodPost, Path: "/v2/clusters/import",
		Body: map[string]any{"name": i.Name, "api_vip_dnsname": i.APIName, "openshift_cluster_id": i.OpenShiftID},
	})
	return err
}

// importCluster makes a record of the installed cluster of the file. What goes with
// it is sent once the record is there: the request takes no more.
func (p *Plane) importCluster(ctx context.Context, desired *install.Desired, action install.Action) error {
	c := desired.Spec
	if c.Spec.Import == nil || c.Spec.Import.ClusterID == "" {
		return plane.Refusal(action, errors.New("the file does not say what the installed cluster calls itself: spec.import.clusterID"))
	}
	return p.ImportCluster(ctx, Import{Name: c.Metadata.Name, APIName: "api." + fullName(c), OpenShiftID: c.Spec.Import.ClusterID})
}

// ImportedClusters are the records of the cluster that calls itself so.
func (p *Plane) ImportedClusters(ctx context.Context, openShiftID string) ([]install.Cluster, error) {
	found, err := transport.ListOf(ctx, p.conn, transport.Request{
		Op: "find imported cluster", On: openShiftID, Method: http.MethodGet, Path: "/v2/clusters",
		Query: map[string][]string{"with_hosts": {"false"}, "openshift_cluster_id": {openShiftID}},
	}, wholeCluster)
	if err != nil {
		return nil, err
	}
	var out []install.Cluster
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
