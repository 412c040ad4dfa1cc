package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/openshift/assisted-service/client/installer"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

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
		return nil, &install.Fault{
			Code: install.CodeFailure, Op: "download " + name + " of cluster", On: clusterID,
			Err: errors.New(reason), Next: "run the same command again in a while",
		}
	}
	return content, nil
}

// notCredential says what is wrong with a downloaded credential, "" if nothing
// is.
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

// DownloadInfraEnvFile writes a file of an InfraEnv to out: discovery.ign, with the
// static networks whatever the InfraEnv's own image is, ipxe-script or
// static-network-config.
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
