package simulator_test

import (
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	desired := &model.Desired{Spec: cluster, Options: model.Options{Run: "abc123"}}
	machines, err := boot.Start(t.Context(), boot.Config{
		Service: service, Desired: desired, Listener: listener, URL: "http://" + listener.Addr().String(),
		KeyFile: filepath.Join(t.TempDir(), "media-key"), Cache: t.TempDir(), Proxy: proxy, Clock: fast,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := machines.Close(); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	result, err := install.New(service, install.Config{Machines: machines,
		Clock: fast, Files: install.Directory(t.TempDir()), Events: func(e model.Event) {
			if e.Type == model.EventAction || e.Severity != model.SeverityInfo {
				t.Logf("%s %s", e.Key, e.Message)
			}
		}}).Run(t.Context(), desired)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("installed in %s", time.Since(began))
	for _, h := range cluster.Spec.Hosts {
		if f := result.Observed.Machines[h.Name].Fetch; f.Size == 0 || f.Bytes != f.Size {
			t.Errorf("%s has read %d of %d bytes", h.Name, f.Bytes, f.Size)
		}
	}
}
