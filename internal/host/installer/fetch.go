//go:build linux

package installer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// HTTPFetcher gets Ignition configs over HTTP, without a proxy: the server is in the cluster's network.
type HTTPFetcher struct{}

// fetchLimit is how long one request may take.
const fetchLimit = time.Minute

// Fetch implements Fetcher.
func (HTTPFetcher) Fetch(ctx context.Context, url string, ca []byte) ([]byte, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	if strings.HasPrefix(url, "https:") {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(ca) {
			return nil, errors.New("the CA of the machine-config-server is no certificate in PEM form")
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/vnd.coreos.ignition+json; version=3.4.0")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("get %s: %s", redact.URL(request.URL), redact.Error(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: the server answers %s", redact.URL(request.URL), response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, firstboot.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("get %s: %s", redact.URL(request.URL), redact.Error(err))
	}
	if len(content) > firstboot.MaxSize {
		return nil, fmt.Errorf("get %s: the answer has more than %d bytes", redact.URL(request.URL), firstboot.MaxSize)
	}
	return content, nil
}
