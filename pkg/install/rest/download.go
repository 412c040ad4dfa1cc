package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/openshift/assisted-service/client/installer"

	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
)

// What a kubeconfig or password may have, and what another file may that is made of the
// settings, in bytes.
const (
	largestCredential = 4 << 20
	largestFile       = 16 << 20
)

// counted counts what is passed on, so that a download that has begun is not
// begun again behind what is already there.
type counted struct {
	to io.Writer
	n  *atomic.Int64
}

func (c counted) Write(data []byte) (int, error) {
	n, err := c.to.Write(data)
	c.n.Add(int64(n))
	return n, err
}

// downloading is the plane and the writer for a download.
func (p *Plane) downloading(out io.Writer, l label) (*Plane, io.Writer) {
	call := p.call
	call.label, call.wrote = l, new(atomic.Int64)
	return p.with(call), counted{to: out, n: call.wrote}
}

// Credential reads kubeconfig, kubeconfig-noingress or kubeadmin-password. A
// credential that does not exist yet is a fault with status 404 or 409.
func (p *Plane) Credential(ctx context.Context, clusterID, name string) ([]byte, error) {
	var data bytes.Buffer
	p, out := p.downloading(limited(&data, largestCredential), label{"download " + name + " of cluster", clusterID})
	params := installer.NewV2DownloadClusterCredentialsParams().WithClusterID(uuid(clusterID)).WithFileName(name)
	if _, err := p.installer().V2DownloadClusterCredentials(ctx, params, out); err != nil {
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
		return "the answer is a web page: " + title(trimmed)
	}
	return ""
}

// limited refuses what is larger than a file can be.
func limited(out io.Writer, most int) io.Writer {
	return &limitedWriter{to: out, left: most, most: most}
}

type limitedWriter struct {
	to         io.Writer
	left, most int
}

func (l *limitedWriter) Write(data []byte) (int, error) {
	if len(data) > l.left {
		return 0, fmt.Errorf("the answer is larger than %d MiB", l.most>>20)
	}
	l.left -= len(data)
	return l.to.Write(data)
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
	p, out = p.downloading(out, label{"download logs of cluster", clusterID})
	_, err := p.installer().V2DownloadClusterLogs(ctx, params.WithLogsType(&kind), out)
	return err
}

// DownloadIgnition writes a file of the cluster to out: bootstrap.ign,
// master.ign, worker.ign, arbiter.ign, metadata.json or install-config.yaml.
// They exist once the install is prepared.
func (p *Plane) DownloadIgnition(ctx context.Context, clusterID, file string, out io.Writer) error {
	p, out = p.downloading(limited(out, largestFile), label{"download " + file + " of cluster", clusterID})
	params := installer.NewV2DownloadClusterFilesParams().WithClusterID(uuid(clusterID)).WithFileName(file)
	_, err := p.installer().V2DownloadClusterFiles(ctx, params, out)
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
	p, out = p.downloading(limited(out, largestFile), label{"download " + file + " of InfraEnv", infraEnvID})
	params := installer.NewV2DownloadInfraEnvFilesParams().WithInfraEnvID(uuid(infraEnvID)).WithFileName(file)
	if file == "discovery.ign" {
		whole := fullISO
		params = params.WithDiscoveryIsoType(&whole)
	}
	_, err := p.installer().V2DownloadInfraEnvFiles(ctx, params, out)
	return err
}

// DownloadISOURL is a fresh URL of an InfraEnv's discovery image, and when it
// ends (zero: never). It may carry a token: it is not to be logged.
func (p *Plane) DownloadISOURL(ctx context.Context, infraEnvID string) (url string, expires time.Time, err error) {
	answer, err := p.labelled("get image URL of InfraEnv", infraEnvID).installer().GetInfraEnvDownloadURL(ctx,
		installer.NewGetInfraEnvDownloadURLParams().WithInfraEnvID(uuid(infraEnvID)))
	if err != nil {
		return "", time.Time{}, err
	}
	if answer.Payload == nil || answer.Payload.URL == nil || *answer.Payload.URL == "" {
		return "", time.Time{}, p.incomplete("get image URL of InfraEnv", infraEnvID)
	}
	return *answer.Payload.URL, objects.Time(answer.Payload.ExpiresAt), nil
}

// OpenISO opens a discovery image by its URL, from DownloadISOURL, at an
// offset. The caller closes the body. size is that of the whole image, -1 if
// unknown. No token of the service is sent along: the URL has its own.
func (p *Plane) OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error) {
	fail := func(status int, err error) (io.ReadCloser, int64, error) {
		return nil, 0, &install.Fault{
			Code: install.CodeFailure, Op: "download image from", On: hostOf(address), Status: status, Err: err,
			Permanent: status >= 400 && !passing(status), Next: "run the same command again, which gets a fresh URL",
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(0, errors.New("its URL cannot be used"))
	}
	if p.agent != "" {
		req.Header.Set("User-Agent", p.agent)
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := p.images.Do(req)
	if err != nil {
		return fail(0, errors.New(short(redact.Error(err))))
	}
	switch {
	case resp.StatusCode == http.StatusPartialContent && offset > 0:
		return resp.Body, totalOf(resp, offset), nil
	case resp.StatusCode == http.StatusOK && offset == 0:
		return resp.Body, resp.ContentLength, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // what was read of an error is enough
	_, reason := errorShape(text)
	return fail(resp.StatusCode, fmt.Errorf("%s (%d)", short(redact.Text(reason)), resp.StatusCode))
}

// totalOf is the size of the whole of a partial answer.
func totalOf(resp *http.Response, offset int64) int64 {
	if resp.ContentLength < 0 {
		return -1
	}
	return offset + resp.ContentLength
}
