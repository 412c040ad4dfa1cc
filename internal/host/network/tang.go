//go:build linux

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Tang checks that this machine reaches the Tang servers that will unlock its disk.
type Tang struct {
	Transport *http.Transport
	Log       *slog.Logger
}

const (
	mostTangServers = 64
	// largestAdvertisement is in bytes: of the keys of a server.
	largestAdvertisement = 1 << 20
)

// tangServer is an entry of the list that the service sends as a text.
type tangServer struct {
	URL        string `json:"url"`
	Thumbprint string `json:"thumbprint"`
}

// Execute implements Executor. All servers must answer.
func (s Tang) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	servers, err := s.servers(args)
	if err != nil {
		return s.failed(err)
	}
	responses := make([]*models.TangServerResponse, len(servers))
	errs := make([]error, len(servers))
	client := webClient(s.Transport)
	inParallel(len(servers), lookups, func(i int) { responses[i], errs[i] = ask(ctx, client, servers[i]) })
	if err := errors.Join(errs...); err != nil {
		return s.failed(err)
	}
	return answer(models.TangConnectivityResponse{IsSuccess: true, TangServerResponse: responses})
}

func (s Tang) failed(err error) (exitCode int, stdout, stderr string) {
	text := escape.Lines(err.Error())
	s.Log.Error("tang-connectivity-check failed", "error", escape.Word(text))
	_, stdout, _ = answer(models.TangConnectivityResponse{})
	return failed, stdout, text
}

func (s Tang) servers(args []string) ([]tangServer, error) {
	var request models.TangConnectivityRequest
	if err := decode(s.Log, "tang-connectivity-check", args, &request); err != nil {
		return nil, err
	}
	if request.TangServers == nil {
		return nil, fmt.Errorf("tang-connectivity-check: the list of servers: %w", errMissing)
	}
	var servers []tangServer
	if err := json.Unmarshal([]byte(*request.TangServers), &servers); err != nil {
		return nil, fmt.Errorf("tang-connectivity-check: cannot read the list of servers: %w", err)
	}
	if len(servers) > mostTangServers {
		return nil, fmt.Errorf("tang-connectivity-check: the service sent %d servers, and %d are the most", len(servers), mostTangServers)
	}
	return servers, nil
}

// thumbprintForm is base64 for URLs.
var thumbprintForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// ask asks a server for its keys, signed by the key with the thumbprint.
func ask(ctx context.Context, client *http.Client, server tangServer) (*models.TangServerResponse, error) {
	if err := checkURL(server.URL); err != nil {
		return nil, fmt.Errorf("tang server: %w", err)
	}
	if !thumbprintForm.MatchString(server.Thumbprint) {
		return nil, fmt.Errorf("tang server %q has the thumbprint %q, which is none", server.URL, server.Thumbprint)
	}
	address := server.URL + "/adv/" + server.Thumbprint
	body, status, err := get(ctx, client, address, http.Header{}, largestAdvertisement)
	switch {
	case err != nil:
		return nil, fmt.Errorf("tang server %s: %w", server.URL, err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("tang server %s answers with the status %d", server.URL, status)
	case len(body) == 0:
		return nil, fmt.Errorf("tang server %s answers with nothing", server.URL)
	}
	var response models.TangServerResponse
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, fmt.Errorf("tang server %s: its answer is no advertisement of keys: %w", server.URL, err)
	}
	response.TangURL = address
	return &response, nil
}
