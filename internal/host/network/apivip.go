//go:build linux

package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/coreos/ignition/v2/config/v3_2"
	ignition "github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// APIVIP checks that a cluster gives this machine the Ignition configuration of a worker.
type APIVIP struct {
	// Transport makes requests to servers whose certificate the machine trusts.
	Transport *http.Transport
	Log       *slog.Logger
}

const (
	// largestIgnition is in bytes. That of a worker has some hundred thousand.
	largestIgnition = 32 << 20
	acceptIgnition  = "application/vnd.coreos.ignition+json; version=3.2.0"
	mostHeaders     = 64

	// downloadFailed is what the service's own agent writes for all failures; the answer says more.
	downloadFailed = "ignition download error"
	noURL          = "<unknown URL due to internal error>"
)

// Execute implements Executor.
func (a APIVIP) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	var request models.APIVipConnectivityRequest
	err := decode(a.Log, "api-vip-connectivity-check", args, &request)
	if err == nil && request.URL == nil {
		err = fmt.Errorf("the URL: %w", errMissing)
	}
	if err != nil {
		_, stdout, _ := a.failed(noURL, fmt.Errorf("internal error - %w", err))
		return failed, stdout, downloadFailed
	}
	document, err := a.download(ctx, &request)
	if err != nil {
		return a.failed(*request.URL, fmt.Errorf("ignition file download failed: %w", err))
	}
	config, _, err := v3_2.ParseCompatibleVersion(document)
	if err != nil {
		return a.failed(*request.URL, fmt.Errorf("response is not a valid ignition file, it begins with:\n%s\nparse error is: %w",
			beginning(document), err))
	}
	wanted, err := json.Marshal(ofInterest(config))
	if err != nil {
		return a.failed(*request.URL, fmt.Errorf("internal error - cannot write the ignition configuration: %w", err))
	}
	return answer(models.APIVipConnectivityResponse{IsSuccess: true, URL: *request.URL, Ignition: string(wanted)})
}

// failed is an answer that says why there is no configuration.
func (a APIVIP) failed(url string, cause error) (exitCode int, stdout, stderr string) {
	text := escape.Lines(cause.Error())
	a.Log.Error("api-vip-connectivity-check failed", "url", escape.Word(redact.Text(url)), "error", escape.Word(redact.Text(text)))
	exitCode, stdout, stderr = answer(models.APIVipConnectivityResponse{URL: url, DownloadError: text})
	if exitCode == done {
		stderr = downloadFailed
	}
	return exitCode, stdout, stderr
}

func (a APIVIP) download(ctx context.Context, request *models.APIVipConnectivityRequest) ([]byte, error) {
	transport, err := a.transport(request.CaCertificate)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Accept": []string{acceptIgnition}}
	if request.IgnitionEndpointToken != nil {
		header.Set("Authorization", "Bearer "+*request.IgnitionEndpointToken)
	}
	if len(request.RequestHeaders) > mostHeaders {
		return nil, fmt.Errorf("the service sent %d headers, and %d are the most", len(request.RequestHeaders), mostHeaders)
	}
	for _, one := range request.RequestHeaders {
		if one != nil {
			header.Set(one.Key, one.Value)
		}
	}
	defer transport.CloseIdleConnections()
	body, status, err := get(ctx, webClient(transport), *request.URL, header, largestIgnition)
	switch {
	case err != nil:
		return nil, fmt.Errorf("request failed: %w", err)
	case !success(status):
		return nil, fmt.Errorf("bad status code: %d. server response: %s", status, beginning(body))
	case len(body) == 0:
		return nil, fmt.Errorf("server responded with status code %d but the response was empty", status)
	}
	return body, nil
}

// transport trusts only the certificates that the service sent, if it sent some; it uses no proxy then.
func (a APIVIP) transport(encoded *string) (*http.Transport, error) {
	transport := a.Transport.Clone()
	if encoded == nil {
		return transport, nil
	}
	certificates, err := base64.StdEncoding.DecodeString(*encoded)
	if err != nil {
		return nil, fmt.Errorf("ignition endpoint CA certificate is not valid base64: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, errors.New("the CA certificate of the ignition endpoint is no PEM certificate")
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	transport.Proxy = nil
	return transport, nil
}

// ofInterest leaves out files and units that the service does not look at. The whole can be large. The manifests of coredns
// and keepalived show that the cluster manages its network, and the kubeconfig has the address of the cluster.
func ofInterest(config ignition.Config) ignition.Config {
	var files []ignition.File
	for _, path := range []string{
		"/etc/kubernetes/manifests/coredns.yaml", "/etc/kubernetes/manifests/keepalived.yaml", "/etc/kubernetes/kubeconfig",
	} {
		for _, file := range config.Storage.Files {
			if file.Path == path {
				files = append(files, file)
				break
			}
		}
	}
	config.Storage.Files = files
	config.Systemd.Units = nil
	return config
}
