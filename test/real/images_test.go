//go:build e2e

package real

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/image"
)

// serveImages plays the image service of a service that has none, at the address that its links lead to, as long as the
// process lives.
func (g given) serveImages(ctx context.Context) error {
	images, err := image.New(image.Config{Clock: clock.Real(), Lookup: func(ctx context.Context, id string) (image.Source, bool) {
		config, err := g.discoveryIgnition(ctx, id)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return image.Source{}, false
		}
		return image.Source{Ignition: config, MinimalIgnition: config, NetbootIgnition: config}, true
	}})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", g.images)
	if err != nil {
		return fmt.Errorf("serve images at OAICTL_REAL_IMAGE_SERVICE: %w", err)
	}
	server := &http.Server{Handler: images.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return nil
}

// discoveryIgnition is what the service puts into the discovery image of an InfraEnv.
func (g given) discoveryIgnition(ctx context.Context, id string) ([]byte, error) {
	base := strings.TrimSuffix(strings.TrimSuffix(g.service, "/"), "/api/assisted-install")
	address := base + "/api/assisted-install/v2/infra-envs/" + url.PathEscape(id) + "/downloads/files?file_name=discovery.ign"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := g.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("get the discovery Ignition of the InfraEnv %s: %w", id, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get the discovery Ignition of the InfraEnv %s: %s", id, answer.Status)
	}
	return io.ReadAll(answer.Body)
}
