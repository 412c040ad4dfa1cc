package base

import (
	"context"
	"io"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// Remote is what the verbs ask of a backend.
type Remote interface {
	install.Service
	install.LogSource
	lister
	changer
	downloader
}

// lister finds things by what a person calls them.
type lister interface {
	ListClusters(ctx context.Context) ([]install.Cluster, error)
	ListInfraEnvs(ctx context.Context, clusterID string) ([]install.InfraEnv, error)
	ListHosts(ctx context.Context, infraEnvID string) ([]install.Host, error)
	ClusterByNameOrID(ctx context.Context, text string) (install.ClusterRef, error)
	InfraEnvByNameOrID(ctx context.Context, text string) (install.InfraEnv, error)
	Events(ctx context.Context, filter rest.EventFilter, offset int) (rest.EventPage, error)
}

// changer undoes things.
type changer interface {
	CancelInstall(ctx context.Context, clusterID string) error
	ResetInstall(ctx context.Context, clusterID string) error
	DeleteCluster(ctx context.Context, clusterID string) error
	DeleteInfraEnv(ctx context.Context, infraEnvID string) error
	DeleteHost(ctx context.Context, infraEnvID, hostID string) error
}

// downloader reads files.
type downloader interface {
	DownloadIgnition(ctx context.Context, clusterID, file string, out io.Writer) error
	DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error
	DownloadISOURL(ctx context.Context, infraEnvID string) (url string, expires time.Time, err error)
	OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error)
	HostIgnition(ctx context.Context, infraEnvID, hostID string) (string, error)
	Manifests(ctx context.Context, clusterID string, system bool) ([]rest.Manifest, error)
	DownloadManifest(ctx context.Context, clusterID, folder, name string, out io.Writer) error
}

var _ Remote = (*rest.Plane)(nil)
