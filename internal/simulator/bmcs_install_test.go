package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	mediaserver "github.com/oaictl/oaictl/pkg/iso/serve"
)

// ownMedia makes and serves every host its own image: of what the service's only
// InfraEnv has, with the Ignition that it has by then.
func ownMedia(t *testing.T, service string, cluster *spec.Cluster) *machine.Images {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	server, err := mediaserver.New(mediaserver.Config{Key: []byte("0123456789abcdef"), URL: "http://" + listener.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	listener.Config.Handler = server
	listener.Start()
	t.Cleanup(listener.Close)
	images, err := machine.NewImages(machine.ImagesConfig{
		Spec: cluster, Server: server,
		Base: func(context.Context) (*iso.Base, error) {
			env, err := onlyInfraEnv(service)
			if err != nil {
				return nil, err
			}
			content := download(t, env.URL)
			return iso.OpenReader("the service's image", bytes.NewReader(content), int64(len(content)))
		},
		Ignition: func(context.Context, string) ([]byte, error) {
			env, err := onlyInfraEnv(service)
			if err != nil {
				return nil, err
			}
			return download(t, service+"/api/assisted-install/v2/infra-envs/"+env.ID+"/downloads/files?file_name=discovery.ign"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// infraEnv is the part of an InfraEnv that media are made of.
type infraEnv struct {
	ID  string `json:"id"`
	URL string `json:"download_url"`
}

func onlyInfraEnv(service string) (infraEnv, error) {
	response, err := http.Get(service + "/api/assisted-install/v2/infra-envs")
	if err != nil {
		return infraEnv{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var list []infraEnv
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return infraEnv{}, err
	}
	if len(list) != 1 {
		return infraEnv{}, errors.New("there is not one InfraEnv")
	}
	return list[0], nil
}

// TestInstallThroughOwnMedia installs hands-free: machines of three makers boot
// the images that were made for each of them, and follow the Ignition in those.
func TestInstallThroughOwnMedia(t *testing.T) {
	cluster := withBMCs(t, "compact", "idrac-virtualmedia://192.0.2.10", "ilo5-virtualmedia://192.0.2.11", "redfish-virtualmedia+http://192.0.2.12:8000")
	fast := clock.Scaled(1200)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	service, err := rest.New(rest.Config{URL: s.URL(), Clock: fast})
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := url.Parse(s.BMCProxy())
	if err != nil {
		t.Fatal(err)
	}
	media := ownMedia(t, s.URL(), cluster)
	began := time.Now()
	_, err = install.New(service, install.WithMachines(machine.New(machine.Config{Media: media, Proxy: proxy, Clock: fast})),
		install.WithClock(fast), install.WithFiles(install.NewFiles(t.TempDir())), install.WithEvents(func(e model.Event) {
			if e.Type == model.EventAction || e.Severity != model.SeverityInfo {
				t.Logf("%s %s", e.Key, e.Message)
			}
		})).Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "abc123"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("installed in %s", time.Since(began))
	for _, h := range cluster.Spec.Hosts {
		if f := media.Fetched(h.Name); f.Size == 0 || f.Bytes != f.Size {
			t.Errorf("%s has read %d of %d bytes", h.Name, f.Bytes, f.Size)
		}
	}
}
